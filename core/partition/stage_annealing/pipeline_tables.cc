#include "core/partition/stage_annealing/pipeline_tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/index.h"
#include "core/cost/device_load.h"
#include "core/cost/terms/transfer.h"
#include "core/graph/operator_unions.h"
#include "core/partition/search/allowed_devices.h"
#include "core/partition/search/block_instance.h"

namespace planwright {
namespace {

// Beyond these, times and classes are worked out when they are asked for.
constexpr std::size_t kMaxNetTimes = std::size_t{1} << 22U;
constexpr std::size_t kMaxPairedDevices = 2048;

std::vector<DeviceId> DeviceIds(const std::vector<int32_t>& devices) {
  return Mapped(devices, [&](const int32_t device) { return DeviceId(Index(device)); });
}

std::vector<int32_t> DeviceNumbers(const std::vector<DeviceId>& ids) {
  return Mapped(ids, [&](const DeviceId id) { return static_cast<int32_t>(id.index()); });
}

// The greatest of several times and, more softly, their norm of order 8.
class Greatest {
 public:
  void Add(Picoseconds time) {
    greatest_ = std::max(greatest_, time);
    const auto value = static_cast<double>(time.count());
    const double square = value * value;
    const double fourth = square * square;
    sum_ += fourth * fourth;
  }
  Picoseconds exact() const { return greatest_; }
  double smooth() const { return std::sqrt(std::sqrt(std::sqrt(sum_))); }

 private:
  Picoseconds greatest_{0};
  double sum_ = 0;
};

double OverflowOf(const PipelineStageCosts& stage, int32_t in_flight) {
  const int64_t bytes = SaturatingAdd(stage.fixed_bytes, SaturatingMultiply(stage.kept_bytes, in_flight));
  if (bytes <= stage.limit_bytes) return 0;
  return static_cast<double>(bytes - stage.limit_bytes) / static_cast<double>(std::max<int64_t>(1, stage.limit_bytes));
}

}  // namespace

PipelineTables::PipelineTables(const SearchRequest& request)
    : graph_(request.graph),
      problem_(request.problem),
      network_(request.costs.network()),
      pays_once_(RulesOf(request.cluster.interconnect).pay_once),
      gradients_follow_(GradientsFollowTensors(request.graph, request.problem.workload)),
      memory_form_(request.problem) {
  AddBlocks(request);
  AddNets(request);
  AddDevices(request);
}

void PipelineTables::AddBlocks(const SearchRequest& request) {
  BlockInstance blocks = BuildBlockInstance({graph_, request.cluster, problem_, request.costs}, MergeRule::kNever);
  operators_ = std::move(blocks.operators);
  precedence_ = std::move(blocks.precedence);
  allowed_ = AllowedDevices(problem_, request.cluster.devices.size(), graph_.operators.size(), operators_);
  block_of_.assign(graph_.operators.size(), kDropped);
  num_classes_ = static_cast<int32_t>(request.cluster.device_classes.size());
  for (std::size_t block = 0; block < operators_.size(); ++block) {
    for (const OperatorId id : operators_[block]) block_of_[id.index()] = static_cast<int32_t>(block);
    memory_.push_back(memory_form_.PartsOf(graph_, operators_[block]));
    parameter_bytes_.push_back(ParameterBytes(graph_, operators_[block]));
    for (std::size_t device_class = 0; device_class < Index(num_classes_); ++device_class) {
      Times& times = times_.emplace_back();
      for (const OperatorId id : operators_[block]) {
        const OperatorTime& time = request.costs.time(id, DeviceClassId(device_class));
        times.forward += time.forward;
        times.backward += time.backward;
        times.supported = times.supported && time.supported;
      }
    }
  }
}

void PipelineTables::AddNets(const SearchRequest& request) {
  std::map<std::tuple<int32_t, Pass, std::vector<int32_t>>, std::size_t> known;
  for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
    const Tensor& tensor = graph_.tensors[i];
    const int32_t producer = block_of_[tensor.producer.index()];
    if (producer == kDropped) continue;
    std::vector<int32_t> consumers = OtherReaders(tensor, block_of_);
    if (consumers.empty()) continue;
    const Pass pass = graph_.operators[tensor.producer.index()].pass;
    const auto [entry, is_new] = known.try_emplace({producer, pass, consumers}, nets_.size());
    if (is_new) nets_.push_back({.producer = producer, .consumers = std::move(consumers), .pass = pass, .tensors = {}});
    nets_[entry->second].bytes += tensor.size_bytes;
    nets_[entry->second].tensors.emplace_back(i);
  }
  produced_.resize(operators_.size());
  consumed_.resize(operators_.size());
  for (std::size_t net = 0; net < nets_.size(); ++net) {
    produced_[Index(nets_[net].producer)].push_back(static_cast<int32_t>(net));
    for (const int32_t block : nets_[net].consumers) consumed_[Index(block)].push_back(static_cast<int32_t>(net));
  }
  const std::size_t link_classes = request.costs.network().num_link_classes();
  if (nets_.size() * link_classes > kMaxNetTimes) return;
  std::vector<Picoseconds> times;
  for (int32_t net = 0; net < num_nets(); ++net) {
    for (std::size_t link_class = 0; link_class < link_classes; ++link_class) {
      times.push_back(TransferTime(net, link_class));
    }
  }
  net_times_ = std::move(times);
}

void PipelineTables::AddDevices(const SearchRequest& request) {
  const Cluster& cluster = request.cluster;
  for (const DeviceClass& device_class : cluster.device_classes) {
    is_cpu_.push_back(device_class.kind == DeviceKind::kCpu);
  }
  for (std::size_t device = 0; device < cluster.devices.size(); ++device) {
    class_of_.push_back(static_cast<int32_t>(cluster.devices[device].device_class.index()));
    memory_limit_.push_back(UsableMemoryBytes(cluster, DeviceId(device)).value_or(std::numeric_limits<int64_t>::max()));
  }
  const bool is_limited = std::any_of(memory_limit_.begin(), memory_limit_.end(),
                                      [](int64_t limit) { return limit != std::numeric_limits<int64_t>::max(); });
  const bool stores =
      std::any_of(memory_.begin(), memory_.end(), [](const MemoryParts& parts) { return parts.stored > 0; });
  memory_varies_ = stores && is_limited;
  for (const DeviceLimit& limit : request.device_limits) {
    ClassLimit& of_classes = class_limits_.emplace_back();
    of_classes.counts.assign(Index(num_classes_), false);
    of_classes.most = limit.most;
    for (const DeviceId device : limit.devices) of_classes.counts[Index(class_of_[device.index()])] = true;
  }
  const std::size_t count = cluster.devices.size();
  if (links_are_alike() || count > kMaxPairedDevices) return;
  link_classes_.assign(count * count, 0);
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const auto link_class = static_cast<uint32_t>(network_.LinkClassOf(DeviceId(a), DeviceId(b)));
      link_classes_[a * count + b] = link_class;
      link_classes_[b * count + a] = link_class;
    }
  }
}

Picoseconds PipelineTables::TransferTime(int32_t net, std::size_t link_class) const {
  if (!net_times_.empty()) return net_times_[Index(net) * network_.num_link_classes() + link_class];
  Picoseconds time{0};
  for (const TensorId tensor : nets_[Index(net)].tensors) {
    time += network_.TransferTime(graph_.tensors[tensor.index()], link_class);
  }
  return time;
}

std::size_t PipelineTables::LinkClassOf(int32_t a, int32_t b) const {
  if (links_are_alike()) return 0;
  if (!link_classes_.empty()) return link_classes_[Index(a) * class_of_.size() + Index(b)];
  return network_.LinkClassOf(DeviceId(Index(a)), DeviceId(Index(b)));
}

bool PipelineTables::orders_rings() const {
  return ReducesGradients(problem_) && !links_are_alike() && problem_.replication != Replication::kNone &&
         problem_.allreduce.ring == AllReduce::Ring::kFree;
}

std::optional<int32_t> PipelineTables::fixed_replicas() const {
  if (problem_.replication == Replication::kNone) return 1;
  return problem_.num_replicas;
}

bool PipelineTables::has_equal_replicas() const {
  return problem_.replication != Replication::kPerStage || problem_.num_replicas.has_value();
}

Placement PipelineTables::PlacementOf(const Pipeline& pipeline) const {
  Placement placement;
  for (const PipelineStage& stage : pipeline.stages) {
    Placement::Stage& placed = placement.stages.emplace_back();
    for (const int32_t block : stage.blocks) {
      placed.operators.insert(placed.operators.end(), operators_[Index(block)].begin(), operators_[Index(block)].end());
    }
    std::sort(placed.operators.begin(), placed.operators.end());
    placed.devices = DeviceIds(stage.devices);
    placed.ring = DeviceIds(stage.ring);
  }
  return placement;
}

std::optional<Pipeline> PipelineTables::PipelineOf(const Placement& placement) const {
  constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> position_of(operators_.size(), kNowhere);
  Pipeline pipeline;
  for (const Placement::Stage& placed : placement.stages) {
    PipelineStage stage{.blocks = {}, .devices = DeviceNumbers(placed.devices), .ring = {}};
    std::size_t kept = 0;
    for (const OperatorId op : placed.operators) {
      const int32_t block = block_of_[op.index()];
      if (block == kDropped) continue;
      ++kept;
      if (op == operators_[Index(block)].front()) stage.blocks.push_back(block);
    }
    if (kept == 0) continue;
    std::sort(stage.blocks.begin(), stage.blocks.end());
    std::size_t held = 0;
    for (const int32_t block : stage.blocks) {
      position_of[Index(block)] = pipeline.stages.size();
      held += operators_[Index(block)].size();
    }
    if (kept != held) return std::nullopt;
    if (orders_rings() && stage.devices.size() > 1) {
      stage.ring = DeviceNumbers(placed.ring);
      if (stage.ring.empty()) stage.ring = stage.devices;
      if (placed.ring.empty()) std::sort(stage.ring.begin(), stage.ring.end());
    }
    pipeline.stages.push_back(std::move(stage));
  }
  if (std::ranges::find(position_of, kNowhere) != position_of.end()) return std::nullopt;
  const bool is_ordered = std::ranges::all_of(precedence_.edges(), [&](const Digraph::Edge& edge) {
    return position_of[Index(edge.first)] <= position_of[Index(edge.second)];
  });
  return is_ordered ? std::optional(std::move(pipeline)) : std::nullopt;
}

PhaseLoads PipelineCosting::LoadsOf(const PipelineStageCosts& stage) const {
  if (!problem_.micro_batches.has_value()) return stage.replica;
  const int32_t replicas = stage.turns.replicas;
  return {.main = step_.TimeOf(stage.undivided.main, replicas),
          .backward = step_.TimeOf(stage.undivided.backward, replicas)};
}

void PipelineCosting::AddMemory(std::span<const PipelineStageCosts* const> stages, PipelineCosts& costs) const {
  if (!memory_varies_) {
    for (const PipelineStageCosts* stage : stages) costs.overflow += OverflowOf(*stage, 0);
    return;
  }
  FillFromEnd fill(turns_);
  for (std::size_t i = stages.size(); i > 0; --i) {
    const PipelineStageCosts& stage = *stages[i - 1];
    const int32_t replicas = stage.turns.replicas;
    costs.overflow += OverflowOf(stage, InFlightMicroBatches(problem_, fill.HeldBy(replicas), replicas));
    fill.Add(stage.turns);
  }
}

PipelineCosts PipelineCosting::CostsOf(std::span<const PipelineStageCosts* const> stages) {
  const bool counts_steps = problem_.micro_batches.has_value();
  if (counts_steps) {
    stage_turns_.clear();
    for (const PipelineStageCosts* stage : stages) stage_turns_.push_back(stage->turns);
    step_ = TurnsOfStep(problem_, turns_, stage_turns_);
  }
  PipelineCosts costs;
  Greatest main;
  Greatest backward;
  Greatest allreduce;
  Picoseconds busiest{-1};
  for (std::size_t position = 0; position < stages.size(); ++position) {
    const PhaseLoads loads = LoadsOf(*stages[position]);
    main.Add(loads.main);
    backward.Add(loads.backward);
    allreduce.Add(stages[position]->allreduce);
    if (loads.total() > busiest) {
      busiest = loads.total();
      costs.busiest = position;
    }
    costs.misplaced += stages[position]->misplaced;
  }
  AddMemory(stages, costs);
  costs.objective = main.exact() + backward.exact();
  costs.smooth = main.smooth() + backward.smooth();
  if (!counts_steps) return costs;
  const int64_t micro_batches = MicroBatchesOfStep(problem_, stages.front()->turns.replicas);
  const int64_t step = SaturatingAdd(costs.objective.count(), allreduce.exact().count());
  costs.objective = Picoseconds(CeilDivide(step, micro_batches));
  costs.smooth = (costs.smooth + allreduce.smooth()) / static_cast<double>(micro_batches);
  return costs;
}

}  // namespace planwright
