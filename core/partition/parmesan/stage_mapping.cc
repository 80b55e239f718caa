#include "core/partition/parmesan/stage_mapping.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "core/base/index.h"
#include "core/cost/pipeline_fill.h"
#include "core/cost/terms/memory_form.h"
#include "core/cost/terms/transfer.h"
#include "core/graph/operator_unions.h"
#include "core/mapping/problem/mapping_instance.h"
#include "core/model/colocation.h"

namespace planwright {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Where all pairs are connected alike, a transfer is as many bytes as it takes picoseconds at this speed, so that given
// times count as well.
constexpr double kBytePerPicosecond = 1e12;

// Whether the devices of some classes count and those of others do not.
bool LimitsSomeClasses(const SearchRequest& request) {
  return std::any_of(request.device_limits.begin(), request.device_limits.end(),
                     [&](const DeviceLimit& limit) { return limit.devices.size() < request.cluster.devices.size(); });
}

class InstanceBuilder {
 public:
  InstanceBuilder(const SearchRequest& request, const StagePartition& partition, StageReplicas replicas)
      : request_(request),
        partition_(partition),
        replicas_(std::move(replicas)),
        limits_some_classes_(LimitsSomeClasses(request)),
        is_uniform_(std::holds_alternative<UniformInterconnect>(request.cluster.interconnect)),
        stage_of_(GroupOfEach(partition.stages, request.graph.operators.size())) {}

  MappingInstance Build() {
    MappingInstance instance{
        .replicas = replicas_,
        .overlap = request_.problem.overlap,
        .free_ring_order = request_.problem.allreduce.ring == AllReduce::Ring::kFree,
        .network =
            is_uniform_ ? Network(UniformInterconnect{kBytePerPicosecond, Picoseconds(0)}) : request_.costs.network(),
    };
    AddTraffic(instance);
    CountInFlight(instance);
    AddKinds(instance);
    AddCompute(instance);
    AddAllReduces(instance);
    SetObjective(instance);
    if (!replicas_.are_equal()) CountPerMicroBatch(instance);
    return instance;
  }

 private:
  const ResolvedProblem& problem() const { return request_.problem; }

  double BytesOf(const Tensor& tensor) const {
    if (!is_uniform_) return static_cast<double>(tensor.size_bytes);
    return static_cast<double>(request_.costs.network().TransferTime(tensor, 0).count());
  }

  // Adds one transfer for each tensor and stage that consumes it, and its gradient back.
  void AddTraffic(MappingInstance& instance) {
    boundary_bytes_.assign(partition_.stages.size(), 0);
    const bool gradients_follow = GradientsFollowTensors(request_.graph, problem().workload);
    std::map<std::pair<int32_t, int32_t>, StageTraffic> between;
    for (const Tensor& tensor : request_.graph.tensors) {
      const int32_t producer = stage_of_[tensor.producer.index()];
      const std::vector<int32_t> readers = OtherReaders(tensor, stage_of_);
      if (producer == kDropped || readers.empty()) continue;
      boundary_bytes_[Index(producer)] += tensor.size_bytes;
      for (const int32_t reader : readers) {
        boundary_bytes_[Index(reader)] += tensor.size_bytes;
        const auto [low, high] = std::minmax(producer, reader);
        StageTraffic& traffic = between[{low, high}];
        AddTransfer(BytesOf(tensor), producer < reader, traffic);
        if (gradients_follow) AddTransfer(BytesOf(tensor), producer > reader, traffic);
      }
    }
    for (auto& [stages, traffic] : between) {
      traffic.from = stages.first;
      traffic.to = stages.second;
      instance.traffic.push_back(traffic);
    }
  }

  void AddTransfer(double bytes, bool is_forward, StageTraffic& traffic) const {
    (is_forward ? traffic.forward_bytes : traffic.backward_bytes) += bytes;
    // On a uniform interconnect the latency is part of the bytes.
    (is_forward ? traffic.forward_transfers : traffic.backward_transfers) += is_uniform_ ? 0 : 1;
  }

  // Kinds in the order of their first device; representatives_ has that device.
  void AddKinds(MappingInstance& instance) {
    std::set<DeviceId> named;
    for (const OperatorDevice& pin : problem().pinned) named.insert(pin.device);
    for (const OperatorDevice& ban : problem().forbidden) named.insert(ban.device);
    using Key = std::tuple<DeviceClassId, std::optional<int64_t>, std::optional<DeviceId>>;
    std::map<Key, int32_t> kinds;
    for (std::size_t i = 0; i < request_.cluster.devices.size(); ++i) {
      const DeviceId device(i);
      const Key key{request_.cluster.devices[i].device_class, UsableMemoryBytes(request_.cluster, device),
                    named.contains(device) ? std::optional(device) : std::nullopt};
      const auto [entry, is_new] = kinds.try_emplace(key, static_cast<int32_t>(representatives_.size()));
      if (is_new) representatives_.push_back(device);
      instance.device_kind.push_back(entry->second);
    }
    instance.num_kinds = static_cast<int32_t>(representatives_.size());
  }

  void AddCompute(MappingInstance& instance) const {
    for (std::size_t stage = 0; stage < partition_.stages.size(); ++stage) {
      for (const DeviceId device : representatives_) {
        instance.compute_ms.push_back(MayRun(stage, device) ? ComputeMs(stage, device) : kNever);
      }
    }
  }

  // kNever: its class cannot run an operator of the stage.
  double ComputeMs(std::size_t stage, DeviceId device) const {
    const DeviceClassId device_class = request_.cluster.devices[device.index()].device_class;
    Picoseconds compute{0};
    for (const OperatorId op : partition_.stages[stage]) {
      const OperatorTime& time = request_.costs.time(op, device_class);
      if (!time.supported) return kNever;
      compute += time.total();
    }
    return ToMilliseconds(compute);
  }

  bool MayRun(std::size_t stage, DeviceId device) const {
    const DeviceClassId device_class = request_.cluster.devices[device.index()].device_class;
    const bool keeps_class = replicas_.Of(static_cast<int32_t>(stage)) > 1 || limits_some_classes_;
    if (keeps_class && device_class != partition_.classes[stage]) return false;
    const auto is_here = [&](const OperatorDevice& rule) {
      return stage_of_[rule.op.index()] == static_cast<int32_t>(stage);
    };
    const auto& pins = problem().pinned;
    const auto& bans = problem().forbidden;
    if (std::any_of(pins.begin(), pins.end(), [&](const auto& pin) { return is_here(pin) && pin.device != device; }) ||
        std::any_of(bans.begin(), bans.end(), [&](const auto& ban) { return is_here(ban) && ban.device == device; })) {
      return false;
    }
    const std::optional<int64_t> memory = UsableMemoryBytes(request_.cluster, device);
    return !memory.has_value() || MemoryBytes(stage) <= *memory;
  }

  int64_t MemoryBytes(std::size_t stage) const {
    return StageMemoryBytes(request_.graph, problem(), partition_.stages[stage], boundary_bytes_[stage],
                            in_flight_[stage]);
  }

  void AddAllReduces(MappingInstance& instance) const {
    for (std::size_t stage = 0; stage < partition_.stages.size(); ++stage) {
      const int32_t replicas = replicas_.Of(static_cast<int32_t>(stage));
      const bool reduces = replicas > 1 && ReducesGradients(problem());
      instance.allreduce_bytes.push_back(reduces ? RingBytes(stage, replicas) : 0);
      instance.allreduce_hops.push_back(reduces && !is_uniform_ ? 2 * (replicas - 1) : 0);
    }
  }

  // What crosses each edge of the ring.
  double RingBytes(std::size_t stage, int32_t replicas) const {
    const int64_t bytes = ParameterBytes(request_.graph, partition_.stages[stage]);
    const AllReduce::Factor rule = problem().allreduce.factor;
    if (is_uniform_) {
      return static_cast<double>(AllReduceTime(bytes, replicas, request_.costs.network().speed(0), rule).count());
    }
    const double edge_share = static_cast<double>(replicas - 1) / replicas;
    return (rule == AllReduce::Factor::kRing ? 2 * edge_share : edge_share) * static_cast<double>(bytes);
  }

  // By stage: whether an earlier one sends to it, beside what devices do.
  std::vector<bool> ReceivesBeside(const MappingInstance& instance) const {
    std::vector<bool> receives(partition_.stages.size());
    if (problem().overlap == Overlap::kSerial) return receives;
    for (const StageTraffic& traffic : instance.traffic) {
      if (traffic.forward_bytes > 0) receives[Index(std::max(traffic.from, traffic.to))] = true;
    }
    return receives;
  }

  // Counts with the most slots that the transfers of a stage may take, wherever it will be.
  void CountInFlight(const MappingInstance& instance) {
    const std::vector<bool> receives = ReceivesBeside(instance);
    FillFromEnd fill(TransferTurns::Of(problem(), /*through_host=*/false));
    in_flight_.resize(receives.size());
    for (std::size_t stage = receives.size(); stage-- > 0;) {
      const int32_t replicas = replicas_.Of(static_cast<int32_t>(stage));
      in_flight_[stage] = InFlightMicroBatches(problem(), fill.HeldBy(replicas), replicas);
      fill.Add({replicas, receives[stage] ? MostSlots(problem().overlap) : 0});
    }
  }

  void SetObjective(MappingInstance& instance) const {
    // Each transfer takes one turn at least.
    const std::vector<bool> receives = ReceivesBeside(instance);
    const auto turns = static_cast<double>(std::ssize(receives) + std::ranges::count(receives, true));
    // Micro-batches of a round, each on a replica of its own; different numbers are counted stage by stage.
    const int32_t round = replicas_.are_equal() ? replicas_.Of(0) : 1;
    instance.load_weight = 1.0 / round;
    if (problem().allreduce.charge == AllReduce::Charge::kPerRound) instance.allreduce_weight = 1.0 / round;
    if (const auto& asked = problem().micro_batches; asked.has_value()) {
      const double micro_batches = *asked;
      instance.load_weight = (micro_batches + turns - 1) / (micro_batches * round);
      instance.allreduce_weight = 1 / (micro_batches * round);
    }
    if (!instance.HasRings() || !ReducesGradients(problem())) return;
    if (request_.algorithm == Algorithm::kParmesanPaper && problem().overlap == Overlap::kSerial) {
      instance.objective = ChooseObjective(instance);
    } else if (problem().micro_batches.has_value()) {
      instance.objective = MappingObjective::kLoadPlusLargestAllReduce;
    } else if (problem().overlap == Overlap::kSerial) {
      instance.objective = MappingObjective::kLoadAndAllReduce;
    } else {
      instance.objective = MappingObjective::kLargerOfBoth;
    }
  }

  // A replica of one out of R has every R-th micro-batch, and two that meet have one out of lcm(R, Q) in common.
  void CountPerMicroBatch(MappingInstance& instance) const {
    for (int32_t stage = 0; stage < replicas_.num_stages(); ++stage) {
      const double replicas = replicas_.Of(stage);
      for (int32_t kind = 0; kind < instance.num_kinds; ++kind) {
        instance.compute_ms[Index(stage) * Index(instance.num_kinds) + Index(kind)] /= replicas;
      }
      if (problem().allreduce.charge != AllReduce::Charge::kPerRound) continue;
      instance.allreduce_bytes[Index(stage)] /= replicas;
      instance.allreduce_hops[Index(stage)] /= replicas;
    }
    for (StageTraffic& traffic : instance.traffic) {
      const double period = std::lcm(replicas_.Of(traffic.from), replicas_.Of(traffic.to));
      for (double* each :
           {&traffic.forward_bytes, &traffic.backward_bytes, &traffic.forward_transfers, &traffic.backward_transfers}) {
        *each /= period;
      }
    }
  }

  const SearchRequest& request_;
  const StagePartition& partition_;
  const StageReplicas replicas_;
  const bool limits_some_classes_;
  const bool is_uniform_;
  const std::vector<int32_t> stage_of_;
  std::vector<int64_t> boundary_bytes_;
  // By stage.
  std::vector<int32_t> in_flight_;
  std::vector<DeviceId> representatives_;
};

}  // namespace

MappingInstance MappingInstanceOf(const SearchRequest& request, const StagePartition& partition,
                                  StageReplicas replicas) {
  return InstanceBuilder(request, partition, std::move(replicas)).Build();
}

Placement PlacementOf(const StagePartition& partition, const StageReplicas& replicas, const Mapping& mapping) {
  Placement placement;
  for (int32_t stage = 0; stage < replicas.num_stages(); ++stage) {
    Placement::Stage& placed = placement.stages.emplace_back();
    placed.operators = partition.stages[Index(stage)];
    for (int32_t replica = 0; replica < replicas.Of(stage); ++replica) {
      placed.devices.push_back(mapping.devices[replicas.VertexOf(stage, replica)]);
    }
    if (replicas.Of(stage) == 1) continue;
    for (const int32_t replica : mapping.rings[Index(stage)]) placed.ring.push_back(placed.devices[Index(replica)]);
  }
  return placement;
}

}  // namespace planwright
