#include "tests/support/random_instance.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <sstream>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/units.h"

namespace planwright {
namespace {

enum class Form { kInference, kBackwardTimes, kBackwardOperators };

constexpr std::array<const char*, 3> kClassNames = {"accelerator", "other_accelerator", "cpu"};

class InstanceMaker {
 public:
  InstanceMaker(uint64_t seed, int max_operators)
      : random_(seed), max_operators_(static_cast<std::size_t>(max_operators)) {}

  Instance Make() {
    form_ = static_cast<Form>(random_.Below(3));
    // Small times make ties likely, large ones make them unlikely.
    max_time_ = Chance(0.5) ? 6 : 1'000'000'000;
    components_ = Chance(0.4);
    transfers_given_ = Chance(0.7);
    MakeDevices();
    MakeOperators();
    MakeColocationGroups();
    MakeTensors();
    LimitMemory();
    PoseProblem();
    return std::move(instance_);
  }

 private:
  bool Chance(double probability) { return random_.Unit() < probability; }
  Picoseconds Time() { return Chance(0.15) ? Picoseconds(0) : Picoseconds(random_.Between(0, max_time_)); }
  int64_t Size() { return Chance(0.2) ? 0 : random_.Between(1, 20); }
  OperatorGraph& graph() { return instance_.graph; }
  Cluster& cluster() { return instance_.cluster; }

  void MakeDevices() {
    for (std::size_t i = 0; i < kClassNames.size(); ++i) {
      DeviceClass& device_class = cluster().device_classes.emplace_back();
      device_class.name = kClassNames[i];
      device_class.kind = i == 2 ? DeviceKind::kCpu : DeviceKind::kAccelerator;
    }
    const bool two_classes = Chance(0.25);
    const uint64_t accelerators = random_.Below(4);
    const uint64_t cpus = accelerators == 0 ? 1 + random_.Below(2) : random_.Below(3);
    for (uint64_t i = 0; i < accelerators; ++i) {
      AddDevice(absl::StrCat("acc", i), two_classes ? DeviceClassId(random_.Below(2)) : DeviceClassId(0));
    }
    for (uint64_t i = 0; i < cpus; ++i) AddDevice(absl::StrCat("cpu", i), DeviceClassId(2));
    Connect();
  }

  void AddDevice(const std::string& name, DeviceClassId device_class) {
    Device& device = cluster().devices.emplace_back();
    device.name = name;
    device.device_class = device_class;
    if (Chance(0.1)) device.reserved_memory_bytes = random_.Between(1, 10);
  }

  void Connect() {
    std::optional<double> bandwidth;
    if (!transfers_given_) bandwidth = 1e12 * (1 + 3 * random_.Unit()) / static_cast<double>(max_time_);
    const Picoseconds latency(Chance(0.3) ? random_.Between(0, max_time_ / 4) : 0);
    if (Chance(0.6)) {
      cluster().interconnect = HostStagedInterconnect{bandwidth, latency};
    } else {
      cluster().interconnect = UniformInterconnect{bandwidth, latency};
    }
  }

  void MakeOperators() {
    // One more device multiplies the placements that brute force has to try.
    const std::size_t max_operators = max_operators_ - (std::max<std::size_t>(cluster().devices.size(), 3) - 3);
    if (form_ != Form::kBackwardOperators) {
      num_forward_ = static_cast<std::size_t>(random_.Between(1, static_cast<int64_t>(max_operators)));
      for (std::size_t i = 0; i < num_forward_; ++i) AddOperator(Pass::kForward);
      return;
    }
    num_forward_ = static_cast<std::size_t>(random_.Between(1, static_cast<int64_t>(max_operators / 2)));
    for (std::size_t i = 0; i < num_forward_; ++i) AddOperator(Pass::kForward);
    // The backward pass runs from the last forward operator to the first; orphans come anywhere.
    for (std::size_t i = num_forward_; i > 0; --i) {
      MaybeAddOrphan(max_operators - i);
      if (Chance(0.85)) AddBackward(OperatorId(i - 1));
    }
    MaybeAddOrphan(max_operators);
  }

  Operator& AddOperator(Pass pass) {
    Operator& op = graph().operators.emplace_back();
    op.name = absl::StrCat(pass == Pass::kForward ? "f" : "b", graph().operators.size() - 1);
    op.pass = pass;
    mirrored_.emplace_back(std::nullopt);
    if (pass == Pass::kForward && Chance(0.05)) op.type = kInputOperatorType;
    for (std::size_t i = 0; i < kClassNames.size(); ++i) AddCost(op, i);
    if (!components_) op.memory_bytes = Size();
    op.parameter_bytes = Size();
    op.activation_bytes = Size();
    op.workspace_bytes = Size();
    return op;
  }

  void AddCost(Operator& op, std::size_t class_index) {
    if (Chance(0.05 * thinning_)) op.unsupported_device_classes.emplace_back(kClassNames[class_index]);
    if (Chance(0.03 * thinning_)) return;
    OperatorCost& cost = op.costs.emplace_back();
    cost.device_class = kClassNames[class_index];
    cost.forward = Time();
    if (form_ == Form::kBackwardTimes) cost.backward = Time();
    if (class_index == 2) cost.forward *= 3;
  }

  void AddBackward(OperatorId forward) {
    Operator& op = AddOperator(Pass::kBackward);
    mirrored_.back() = forward;
    if (Chance(0.8)) {
      op.forward_operator = forward;
    } else if (Chance(0.7)) {
      // As the published files do it: by the group alone.
      op.colocation_group = graph().operators[forward.index()].colocation_group = absl::StrCat("pair", forward.index());
    }
  }

  void MaybeAddOrphan(std::size_t max_operators) {
    if (graph().operators.size() < max_operators && Chance(0.2)) AddOperator(Pass::kBackward);
  }

  void MakeColocationGroups() {
    const std::size_t groups = Chance(0.4) ? 1 + random_.Below(2) : 0;
    for (std::size_t group = 0; group < groups; ++group) {
      for (int member = 0; member < 2 + static_cast<int>(random_.Below(2)); ++member) {
        Operator& op = graph().operators[random_.Below(graph().operators.size())];
        if (op.colocation_group.empty()) op.colocation_group = absl::StrCat("group", group);
      }
    }
  }

  void MakeTensors() {
    const double density = (0.15 + 0.5 * random_.Unit()) * thinning_;
    const std::size_t n = graph().operators.size();
    for (std::size_t producer = 0; producer < n; ++producer) {
      std::vector<OperatorId> consumers;
      for (std::size_t consumer = producer + 1; consumer < n; ++consumer) {
        if (Chance(EdgeProbability(producer, consumer, density))) consumers.emplace_back(consumer);
      }
      AddTensorsOf(OperatorId(producer), consumers);
    }
  }

  // Operators are listed in a topological order, forward pass first, so any edge to a later one is legal. An edge that
  // mirrors a likely forward edge is likely too.
  double EdgeProbability(std::size_t producer, std::size_t consumer, double density) {
    const bool from_forward = producer < num_forward_;
    const bool to_forward = consumer < num_forward_;
    if (from_forward && to_forward) return consumer == producer + 1 ? 0.7 : density / 2;
    if (from_forward) return mirrored_[consumer] == OperatorId(producer) ? 0.7 : density / 5;
    return consumer == producer + 1 ? 0.6 : density / 2;
  }

  // Deals the consumers out to one or two tensors; sometimes adds one that nobody reads.
  void AddTensorsOf(OperatorId producer, const std::vector<OperatorId>& consumers) {
    std::array<std::vector<OperatorId>, 2> shares;
    const bool two = Chance(0.3);
    for (const OperatorId consumer : consumers) {
      const std::size_t share = two ? random_.Below(2) : 0;
      shares[share].push_back(consumer);
      if (two && Chance(0.2)) shares[1 - share].push_back(consumer);
    }
    for (std::vector<OperatorId>& share : shares) {
      if (!share.empty() || Chance(0.05)) AddTensor(producer, std::move(share));
    }
  }

  void AddTensor(OperatorId producer, std::vector<OperatorId> consumers) {
    Tensor& tensor = graph().tensors.emplace_back();
    tensor.name = absl::StrCat("t", graph().tensors.size() - 1);
    tensor.producer = producer;
    tensor.consumers = std::move(consumers);
    tensor.size_bytes = Size();
    if (transfers_given_ || Chance(0.1)) tensor.transfer = Picoseconds(Time().count() / 3);
  }

  // About enough for the fair share of what there is, so that some instances are tight and some have no plan.
  void LimitMemory() {
    if (Chance(0.4)) return;
    int64_t total = 0;
    for (const Operator& op : graph().operators) {
      total += components_ ? 2 * op.parameter_bytes + op.activation_bytes : op.memory_bytes.value();
    }
    const auto devices = static_cast<double>(cluster().devices.size());
    for (DeviceClass& device_class : cluster().device_classes) {
      if (device_class.kind == DeviceKind::kCpu && Chance(0.8)) continue;
      const double share = (0.9 + 1.5 * random_.Unit()) / devices;
      device_class.memory_bytes = static_cast<int64_t>(share * static_cast<double>(total)) + random_.Between(0, 20);
    }
  }

  void PoseProblem() {
    PlanningProblem& problem = instance_.problem;
    if (Chance(0.15)) problem.workload = Workload::kInference;
    MemoryModel& memory = problem.memory_model;
    if (!components_) {
      problem.schedule = std::array{ScheduleKind::kSteadyState, ScheduleKind::kSteadyState, ScheduleKind::kOneFOneB,
                                    ScheduleKind::kPipedreamAsync}[random_.Below(4)];
      return;
    }
    memory.preset = std::array{"", "sgd", "adam_mixed", "madpipe"}[random_.Below(4)];
    if (Chance(0.3)) memory.optimizer_bytes_per_parameter_byte = 0.3;
    if (Chance(0.2)) memory.reserved_bytes = random_.Between(1, 10);
  }

  RandomStream random_;
  const std::size_t max_operators_;
  // Larger graphs get fewer edges for each pair of operators, so that they stay wide, and fewer operators that a class
  // cannot run, so that they have plans.
  const double thinning_ = std::min(1.0, kBruteForceOperators / static_cast<double>(max_operators_));
  Instance instance_;
  Form form_ = Form::kInference;
  int64_t max_time_ = 0;
  bool components_ = false;
  bool transfers_given_ = true;
  std::size_t num_forward_ = 0;
  // By operator: the forward operator whose gradient it computes.
  std::vector<std::optional<OperatorId>> mirrored_;
};

std::string Text(const std::optional<int64_t>& value) { return value.has_value() ? std::to_string(*value) : "-"; }

void DescribeGraph(const OperatorGraph& graph, std::ostream& out) {
  for (const Operator& op : graph.operators) {
    out << "operator " << op.name << (op.pass == Pass::kBackward ? " BACKWARD" : "") << " " << op.type;
    if (op.forward_operator.has_value()) out << " of=" << graph.operators[op.forward_operator->index()].name;
    if (!op.colocation_group.empty()) out << " group=" << op.colocation_group;
    if (!op.layer.empty()) out << " layer=" << op.layer;
    for (const OperatorCost& cost : op.costs) {
      out << " " << cost.device_class << "=" << cost.forward.count() << "+" << cost.backward.count();
    }
    for (const std::string& name : op.unsupported_device_classes) out << " not_on=" << name;
    out << " memory=" << Text(op.memory_bytes) << " parameters=" << op.parameter_bytes
        << " activation=" << op.activation_bytes << " workspace=" << op.workspace_bytes << "\n";
  }
  for (const Tensor& tensor : graph.tensors) {
    out << "tensor " << tensor.name << " " << graph.operators[tensor.producer.index()].name << " ->";
    for (const OperatorId consumer : tensor.consumers) out << " " << graph.operators[consumer.index()].name;
    out << " bytes=" << tensor.size_bytes;
    if (tensor.transfer.has_value()) out << " transfer=" << tensor.transfer->count();
    out << "\n";
  }
}

void DescribeLevels(const std::vector<HierarchyInterconnect::Level>& levels, std::ostream& out) {
  for (const HierarchyInterconnect::Level& level : levels) {
    out << " [" << level.fan_out << " bandwidth=" << level.bandwidth_bytes_per_second
        << " latency=" << level.latency.count() << "]";
  }
}

void DescribeCluster(const Cluster& cluster, std::ostream& out) {
  for (const Device& device : cluster.devices) {
    out << "device " << device.name << " class=" << cluster.class_of(device).name
        << " memory=" << Text(cluster.class_of(device).memory_bytes) << " reserved=" << device.reserved_memory_bytes
        << " host=" << device.host;
    for (const auto& [label, value] : device.labels) out << " " << label << "=" << value;
    out << "\n";
  }
  out << "interconnect " << InterconnectName(cluster.interconnect);
  const auto describe_link = [&out](const auto& link) {
    out << " latency=" << link.latency.count();
    if (link.bandwidth_bytes_per_second.has_value()) out << " bandwidth=" << *link.bandwidth_bytes_per_second;
  };
  if (const auto* staged = std::get_if<HostStagedInterconnect>(&cluster.interconnect)) describe_link(*staged);
  if (const auto* uniform = std::get_if<UniformInterconnect>(&cluster.interconnect)) describe_link(*uniform);
  if (const auto* hierarchy = std::get_if<HierarchyInterconnect>(&cluster.interconnect)) {
    DescribeLevels(hierarchy->levels, out);
  }
  if (const auto* matrix = std::get_if<MatrixInterconnect>(&cluster.interconnect)) {
    for (const double bandwidth : matrix->bandwidth_bytes_per_second) out << " " << bandwidth;
    out << " latency=" << matrix->latency.count();
  }
  if (const auto* links = std::get_if<LinksInterconnect>(&cluster.interconnect)) {
    for (const LinksInterconnect::Link& link : links->links) {
      out << " [" << link.device_a.index() << "-" << link.device_b.index()
          << " bandwidth=" << link.bandwidth_bytes_per_second << " latency=" << link.latency.count() << "]";
    }
    out << " routing " << static_cast<int>(links->routing);
  }
  if (const auto* grid = std::get_if<GridInterconnect>(&cluster.interconnect)) {
    for (const int32_t size : grid->dimensions) out << " " << size;
    out << " wrap=" << grid->wrap_around << " bandwidth=" << grid->link_bandwidth_bytes_per_second
        << " latency=" << grid->latency.count() << " non_adjacent " << static_cast<int>(grid->non_adjacent);
  }
  if (const auto* nodes = std::get_if<NodesInterconnect>(&cluster.interconnect)) {
    out << " of " << nodes->devices_per_node << " bandwidth=" << nodes->bandwidth_bytes_per_second
        << " latency=" << nodes->latency.count();
    for (const NodesInterconnect::Link& link : nodes->links) {
      out << " [" << link.place_a << "-" << link.place_b << " bandwidth=" << link.bandwidth_bytes_per_second
          << " latency=" << link.latency.count() << "]";
    }
    DescribeLevels(nodes->levels, out);
  }
  out << "\n";
}

void DescribeSettings(const Instance& instance, const ResolvedProblem& problem, std::ostream& out) {
  const auto name = [&](const OperatorDevice& pair) {
    return instance.graph.operators[pair.op.index()].name + "@" + instance.cluster.devices[pair.device.index()].name;
  };
  out << "objective " << static_cast<int>(problem.objective) << " split " << static_cast<int>(problem.split)
      << " replication " << static_cast<int>(problem.replication) << " overlap " << static_cast<int>(problem.overlap)
      << " granularity " << static_cast<int>(problem.granularity)
      << " subgraphs=" << problem.max_subgraphs_per_device.value_or(0)
      << " micro_batches=" << problem.micro_batches.value_or(0) << " stages=" << problem.num_stages.value_or(0)
      << " replicas=" << problem.num_replicas.value_or(0) << " factor " << static_cast<int>(problem.allreduce.factor)
      << " charge " << static_cast<int>(problem.allreduce.charge) << " ring "
      << static_cast<int>(problem.allreduce.ring) << " amortized " << problem.allreduce.amortize_over_micro_batches;
  for (const OperatorDevice& pin : problem.pinned) out << " pinned " << name(pin);
  for (const OperatorDevice& ban : problem.forbidden) out << " forbidden " << name(ban);
  const DeviceSelection& use = problem.devices_to_use;
  for (const std::string& host : use.hosts) out << " host " << host;
  for (const DeviceId device : use.devices) out << " use " << device.index();
  for (const DeviceId device : use.excluded_devices) out << " exclude " << device.index();
  for (const auto& [label, value] : use.match_labels) out << " where " << label << "=" << value;
  if (use.max_devices.has_value()) out << " at most " << *use.max_devices;
  out << "\n";
}

std::vector<std::size_t> AnyStages(const Instance& instance, RandomStream& random) {
  std::vector<std::size_t> stage_of;
  for (std::size_t i = 0; i < instance.graph.operators.size(); ++i) {
    stage_of.push_back(random.Below(instance.cluster.devices.size()));
  }
  return stage_of;
}

// Forward operators are listed in a topological order, so stages that never decrease along the list are a pipeline.
// Other operators go where the first one of their colocation is.
std::vector<std::size_t> PipelineStages(const Instance& instance, RandomStream& random) {
  const std::vector<Operator>& operators = instance.graph.operators;
  std::vector<std::size_t> stage_of = AnyStages(instance, random);
  const auto num_forward =
      std::count_if(operators.begin(), operators.end(), [](const Operator& op) { return op.pass == Pass::kForward; });
  std::sort(stage_of.begin(), stage_of.begin() + num_forward);
  for (std::size_t i = 0; i < operators.size(); ++i) {
    if (operators[i].forward_operator.has_value()) stage_of[i] = stage_of[operators[i].forward_operator->index()];
    if (operators[i].colocation_group.empty()) continue;
    const auto first = std::find_if(operators.begin(), operators.end(), [&](const Operator& other) {
      return other.colocation_group == operators[i].colocation_group;
    });
    if (operators[i].pass == Pass::kBackward)
      stage_of[i] = stage_of[static_cast<std::size_t>(first - operators.begin())];
  }
  return stage_of;
}

}  // namespace

Instance MakeRandomInstance(uint64_t seed, int max_operators) { return InstanceMaker(seed, max_operators).Make(); }

Placement MakeRandomPlacement(const Instance& instance, RandomStream& random) {
  const bool drops_backward = ResolveProblem(instance.graph, instance.problem).workload == Workload::kInference;
  Placement placement;
  placement.stages.resize(instance.cluster.devices.size());
  for (std::size_t i = 0; i < placement.stages.size(); ++i) placement.stages[i].devices = {DeviceId(i)};
  for (std::size_t i = placement.stages.size(); i > 1; --i) {
    std::swap(placement.stages[i - 1], placement.stages[random.Below(i)]);
  }
  const std::vector<std::size_t> stage_of =
      random.Below(2) == 0 ? AnyStages(instance, random) : PipelineStages(instance, random);
  for (std::size_t i = 0; i < instance.graph.operators.size(); ++i) {
    if (drops_backward && instance.graph.operators[i].pass == Pass::kBackward) continue;
    placement.stages[stage_of[i]].operators.emplace_back(i);
  }
  return placement;
}

std::string Describe(const Instance& instance) {
  std::ostringstream out;
  DescribeGraph(instance.graph, out);
  DescribeCluster(instance.cluster, out);
  const ResolvedProblem problem = ResolveProblem(instance.graph, instance.problem);
  const ResolvedMemory& memory = problem.memory_model;
  DescribeSettings(instance, problem, out);
  out << (problem.workload == Workload::kTraining ? "TRAINING" : "INFERENCE") << " schedule "
      << static_cast<int>(problem.schedule);
  if (memory.kind == MemoryModel::Kind::kComponents) {
    out << " COMPONENTS versions=" << memory.weight_versions << " gradients=" << memory.gradient_copies
        << " optimizer=" << memory.optimizer_bytes_per_parameter_byte << " reserved=" << memory.reserved_bytes;
  }
  out << "\n";
  return out.str();
}

}  // namespace planwright
