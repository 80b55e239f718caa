#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <variant>

#include "core/base/interruption.h"
#include "core/base/known.h"
#include "core/model/chain.h"
#include "core/model/validation_rules.h"

namespace planwright {
namespace {

// Sums that reach kMaxQuantity are refused, so that sums of valid numbers never overflow.
bool IsTooLarge(int64_t sum) { return sum >= kMaxQuantity; }
bool IsTooLarge(double sum) { return !(sum < static_cast<double>(kMaxQuantity)); }

constexpr std::size_t kMaxReplicatedDevices = 2'048;

// No link of the interconnect is slower.
struct SlowestLink {
  std::optional<double> bandwidth_bytes_per_second;
  Picoseconds latency{0};
  // Transfer times of tensors stand as they are.
  bool takes_transfer_times = true;
};

// By kind of interconnect.
struct SlowestLinkFinder {
  SlowestLink operator()(const HostStagedInterconnect& staged) const {
    return {staged.bandwidth_bytes_per_second, staged.latency};
  }
  SlowestLink operator()(const UniformInterconnect& uniform) const {
    return {uniform.bandwidth_bytes_per_second, uniform.latency};
  }
  SlowestLink operator()(const HierarchyInterconnect& hierarchy) const {
    SlowestLink slowest{kFastest, Picoseconds(0), false};
    for (const HierarchyInterconnect::Level& level : hierarchy.levels) Include(level, slowest);
    return slowest;
  }
  SlowestLink operator()(const NodesInterconnect& nodes) const {
    SlowestLink slowest{nodes.bandwidth_bytes_per_second, nodes.latency, false};
    for (const NodesInterconnect::Link& link : nodes.links) Include(link, slowest);
    for (const HierarchyInterconnect::Level& level : nodes.levels) Include(level, slowest);
    return slowest;
  }
  // As if every hop slowed down.
  SlowestLink operator()(const GridInterconnect& grid) const {
    const int64_t hops = std::accumulate(grid.dimensions.begin(), grid.dimensions.end(), int64_t{0});
    return {grid.link_bandwidth_bytes_per_second / static_cast<double>(hops), grid.latency, false};
  }
  // As if a way led over every link.
  SlowestLink operator()(const LinksInterconnect& links) const {
    SlowestLink slowest{kFastest, Picoseconds(0), false};
    for (const LinksInterconnect::Link& link : links.links) {
      Include(link.bandwidth_bytes_per_second, slowest);
      slowest.latency = Picoseconds(SaturatingAdd(slowest.latency.count(), link.latency.count()));
    }
    return slowest;
  }
  // Devices have no bandwidth to themselves.
  SlowestLink operator()(const MatrixInterconnect& matrix) const {
    SlowestLink slowest{kFastest, matrix.latency, false};
    for (const double bandwidth : matrix.bandwidth_bytes_per_second) {
      if (bandwidth > 0) Include(bandwidth, slowest);
    }
    return slowest;
  }

 private:
  static constexpr double kFastest = std::numeric_limits<double>::max();

  template <typename Link>
  static void Include(const Link& link, SlowestLink& slowest) {
    Include(link.bandwidth_bytes_per_second, slowest);
    slowest.latency = std::max(slowest.latency, link.latency);
  }
  static void Include(double bandwidth_bytes_per_second, SlowestLink& slowest) {
    double& least = Known(slowest.bandwidth_bytes_per_second);
    least = std::min(least, bandwidth_bytes_per_second);
  }
};

SlowestLink SlowestLinkOf(const Interconnect& interconnect) { return std::visit(SlowestLinkFinder(), interconnect); }

// What one device has of the ports of its levels, at least, where all devices below them send. `devices`: below a child
// of the first level.
double LeastShareOfPorts(const std::vector<HierarchyInterconnect::Level>& levels, int64_t devices) {
  double least = std::numeric_limits<double>::max();
  for (const HierarchyInterconnect::Level& level : levels) {
    const std::optional<double>& port = level.port_bandwidth_bytes_per_second;
    if (port.has_value()) least = std::min(least, *port / static_cast<double>(devices));
    devices = SaturatingMultiply(devices, level.fan_out);
  }
  return least;
}

// Between the furthest two devices.
double SlowestOf(const GridInterconnect& grid) {
  int64_t hops = 0;
  for (const int32_t size : grid.dimensions) hops += grid.wrap_around ? size / 2 : size - 1;
  const bool divides = grid.non_adjacent == GridInterconnect::NonAdjacent::kDividedByHops;
  return grid.link_bandwidth_bytes_per_second / static_cast<double>(divides ? std::max<int64_t>(hops, 1) : 1);
}

class QuantityValidator {
 public:
  QuantityValidator(const ResolvedInput& input, Violations& violations)
      : graph_(input.graph), cluster_(input.cluster), problem_(input.problem), violations_(violations) {}

  // `given` is what the problem says of memory.
  void Check(const MemoryModel& given) {
    if (problem_.memory_model.kind == MemoryModel::Kind::kDeclared) {
      RequireNoComponentSettings(given);
      CheckDeclaredMemory();
    } else {
      CheckComponentSums();
    }
    CheckReplication();
    CheckTimes(SlowestLinkOf(cluster_.interconnect));
  }

 private:
  bool IsDropped(OperatorId op) const {
    return problem_.workload == Workload::kInference && graph_.operators[op.index()].pass == Pass::kBackward;
  }

  void CheckDeclaredMemory() {
    int64_t sum = 0;
    for (std::size_t i = 0; i < graph_.operators.size(); ++i) {
      InterruptionPoint(/*units=*/8);
      if (IsDropped(OperatorId(i))) continue;
      const std::optional<int64_t>& memory_bytes = graph_.operators[i].memory_bytes;
      if (!memory_bytes.has_value() && graph_.operators[i].type != kInputOperatorType) {
        violations_.Add(ElementPath("graph.operators", i) + ".memory_bytes",
                        "must be set, because problem.memory_model.kind is DECLARED");
      }
      sum = SaturatingAdd(sum, memory_bytes.value_or(0));
    }
    if (IsTooLarge(sum)) violations_.Add("graph.operators", "memory_bytes of all operators must sum to less than 2^62");
  }

  // Settings that nothing would heed are refused.
  void RequireNoComponentSettings(const MemoryModel& memory) {
    const auto require_unset = [this](bool is_set, const char* field) {
      if (!is_set) return;
      violations_.Add(absl::StrCat("problem.memory_model.", field),
                      "must not be set, because memory is DECLARED; set problem.memory_model.kind to COMPONENTS");
    };
    require_unset(memory.weight_versions.has_value(), "weight_versions");
    require_unset(memory.gradient_copies.has_value(), "gradient_copies");
    require_unset(memory.optimizer_bytes_per_parameter_byte.has_value(), "optimizer_bytes_per_parameter_byte");
    require_unset(memory.reserved_bytes > 0, "reserved_bytes");
    require_unset(!memory.preset.empty(), "preset");
  }

  // In doubles, because only the order of magnitude counts.
  void CheckComponentSums() {
    const ResolvedMemory& memory = problem_.memory_model;
    const double copies =
        0.0 + memory.weight_versions + memory.gradient_copies + memory.optimizer_bytes_per_parameter_byte;
    auto sum = static_cast<double>(memory.reserved_bytes);
    for (const Operator& op : graph_.operators) {
      InterruptionPoint(/*units=*/8);
      sum += static_cast<double>(op.parameter_bytes) * copies + static_cast<double>(op.activation_bytes) +
             static_cast<double>(op.workspace_bytes);
    }
    for (const Tensor& tensor : graph_.tensors) {
      InterruptionPoint(/*units=*/8);
      sum += 2.0 * static_cast<double>(tensor.size_bytes) * static_cast<double>(1 + tensor.consumers.size());
    }
    if (IsTooLarge(sum * MostInFlight())) {
      violations_.Add("graph.operators",
                      "memory of all operators and transfer buffers must sum to less than 2^62 bytes");
    }
  }

  // The time that operators can take in all: measured, and estimated on the slowest class.
  int64_t SumOfOperatorTimes() {
    int64_t sum = 0;
    double flops = 0;
    double bytes = 0;
    for (const Operator& op : graph_.operators) {
      InterruptionPoint(16 + op.costs.size());
      int64_t slowest = 0;
      for (const OperatorCost& cost : op.costs) {
        slowest = std::max(slowest, SaturatingAdd(cost.forward.count(), cost.backward.count()));
      }
      sum = SaturatingAdd(sum, slowest);
      flops += op.forward_flops + op.backward_flops;
      bytes += static_cast<double>(op.forward_bytes_accessed) + static_cast<double>(op.backward_bytes_accessed);
    }
    if (IsTooLarge(sum)) violations_.Add("graph.operators", "times of all operators must sum to less than 2^62 ps");
    return SaturatingAdd(sum, SlowestEstimate(flops, bytes));
  }

  // An upper bound on the sum of all roofline times on any one class, where each takes an overhead for either pass.
  int64_t SlowestEstimate(double flops, double bytes) {
    int64_t slowest = 0;
    for (std::size_t i = 0; i < cluster_.device_classes.size(); ++i) {
      const DeviceClass& device_class = cluster_.device_classes[i];
      const double rate = device_class.peak_flops * device_class.compute_efficiency;
      const double bandwidth = device_class.memory_bandwidth_bytes_per_second;
      const double overheads = 2.0 * static_cast<double>(graph_.operators.size()) *
                               static_cast<double>(device_class.kernel_overhead.count());
      const double sum =
          (rate > 0 ? flops / rate * 1e12 : 0) + (bandwidth > 0 ? bytes / bandwidth * 1e12 : 0) + overheads;
      if (IsTooLarge(sum)) {
        violations_.Add(ElementPath("cluster.device_classes", i),
                        "must be fast enough that estimated times of all operators sum to less than 2^62 ps");
        return kMaxQuantity;
      }
      slowest = std::max(slowest, static_cast<int64_t>(std::ceil(sum)));
    }
    return slowest;
  }

  // PERIODIC: of the stages that a search makes. 0: other schedules.
  double MostStages() const {
    if (problem_.schedule != ScheduleKind::kPeriodic) return 0;
    const double on_devices = static_cast<double>(cluster_.devices.size()) * problem_.max_stages_per_device.value_or(1);
    return std::min({on_devices, static_cast<double>(graph_.operators.size()), static_cast<double>(kMaxChainLayers)});
  }

  // Micro-batches that fill a pipeline: each replica has its own turn, what rounding adds to it, and at most four of
  // transfers (core/cost/pipeline_fill.h).
  double MostInPipeline() const { return 6 * static_cast<double>(cluster_.devices.size()); }

  // Micro-batches that a stage stores at most: under PERIODIC one for each stage and transfer that it waits for, else
  // all of a step, or in the limit of many those that fill the pipeline.
  double MostInFlight() const {
    if (problem_.micro_batches.has_value()) return *problem_.micro_batches;
    const bool one_for_each_stage =
        problem_.schedule == ScheduleKind::kOneFOneB || problem_.schedule == ScheduleKind::kPipedreamAsync;
    if (one_for_each_stage) return MostInPipeline();
    return 2 * MostStages() + 1;
  }

  // A step lasts as long as its micro-batches and stages take turns.
  void CheckStepTime(int64_t sum) {
    if (!problem_.micro_batches.has_value()) return;
    const double turns = static_cast<double>(*problem_.micro_batches) + MostInPipeline();
    if (!IsTooLarge(turns * static_cast<double>(sum))) return;
    violations_.Add("problem.micro_batches",
                    absl::StrCat("must be so few that a step lasts less than 2^62 ps, is ", *problem_.micro_batches));
  }

  // Under PERIODIC a tensor crosses every cut, there and back, and patterns last as long as what is in flight.
  void CheckPatternTimes(int64_t operators, int64_t transfers) {
    if (problem_.schedule != ScheduleKind::kPeriodic) return;
    const double sum = static_cast<double>(operators) + 2 * MostStages() * static_cast<double>(transfers);
    if (!IsTooLarge(sum * MostInFlight())) return;
    violations_.Add("graph.tensors",
                    "times of all operators and transfers, as often as stages relay them and micro-batches are in "
                    "flight, must sum to less than 2^62 ps, because the schedule is PERIODIC");
  }

  // A tensor is charged at most 4 transfers for each consumer: at both ends, and its gradient again.
  void CheckTimes(const SlowestLink& link) {
    const int64_t operators = SumOfOperatorTimes();
    const bool times_fit = !IsTooLarge(operators);
    int64_t sum = operators;
    int64_t transfers = 0;
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      InterruptionPoint(/*units=*/16);
      const Tensor& tensor = graph_.tensors[i];
      if (tensor.consumers.empty() || IsDropped(tensor.producer) || !HasTransferTime(i, link)) continue;
      const int64_t time = TransferTimeOf(tensor, link);
      sum = SaturatingAdd(sum, SaturatingMultiply(time, 4 * static_cast<int64_t>(tensor.consumers.size())));
      transfers = SaturatingAdd(transfers, time);
    }
    if (!times_fit) return;
    sum = SaturatingAdd(sum, SlowestAllReduce(link));
    if (IsTooLarge(sum)) {
      violations_.Add("graph.tensors", "times of all operators and transfers must sum to less than 2^62 ps");
    } else {
      CheckPatternTimes(operators, transfers);
      CheckStepTime(sum);
    }
  }

  bool HasTransferTime(std::size_t index, const SlowestLink& link) {
    const Tensor& tensor = graph_.tensors[index];
    if (link.takes_transfer_times && !tensor.transfer.has_value() && !link.bandwidth_bytes_per_second.has_value()) {
      violations_.Add(ElementPath("graph.tensors", index) + ".transfer_ms",
                      absl::StrCat("must be set, because cluster.interconnect.",
                                   InterconnectName(cluster_.interconnect), " has no bandwidth_bytes_per_second"));
      return false;
    }
    if (!link.takes_transfer_times && tensor.size_bytes == 0 &&
        tensor.transfer.value_or(Picoseconds(0)) > Picoseconds(0)) {
      violations_.Add(ElementPath("graph.tensors", index) + ".size_bytes",
                      absl::StrCat("must be set, because cluster.interconnect.",
                                   InterconnectName(cluster_.interconnect), " does not heed transfer_ms"));
      return false;
    }
    return true;
  }

  static int64_t TransferTimeOf(const Tensor& tensor, const SlowestLink& link) {
    if (link.takes_transfer_times && tensor.transfer.has_value()) return tensor.transfer->count();
    const Picoseconds time = TransferTime(tensor.size_bytes, Known(link.bandwidth_bytes_per_second));
    return SaturatingAdd(time.count(), link.latency.count());
  }

  // Replicas exchange gradients at a bandwidth, and the number of links between stages with replicas of their own
  // number grows with the square of that of the devices.
  void CheckReplication() {
    if (problem_.replication == Replication::kNone) return;
    if (problem_.replication == Replication::kPerStage && cluster_.devices.size() > kMaxReplicatedDevices) {
      violations_.Add("problem.replication",
                      absl::StrCat("must be NONE or UNIFORM on more than ", kMaxReplicatedDevices,
                                   " devices, there are ", cluster_.devices.size()));
    }
    const SlowestLink link = SlowestLinkOf(cluster_.interconnect);
    if (problem_.workload == Workload::kInference || link.bandwidth_bytes_per_second.has_value()) return;
    violations_.Add(
        absl::StrCat("cluster.interconnect.", InterconnectName(cluster_.interconnect), ".bandwidth_bytes_per_second"),
        "must be set, because replicas that train reduce their gradients over it");
  }

  // An upper bound on the all-reduce of any stage: less than twice all parameters, and two latencies for each device.
  int64_t SlowestAllReduce(const SlowestLink& link) const {
    if (problem_.replication == Replication::kNone || !link.bandwidth_bytes_per_second.has_value()) return 0;
    int64_t parameter_bytes = 0;
    for (const Operator& op : graph_.operators) parameter_bytes = SaturatingAdd(parameter_bytes, op.parameter_bytes);
    const int64_t transfer = TransferTime(parameter_bytes, *link.bandwidth_bytes_per_second).count();
    const int64_t latency = SaturatingMultiply(link.latency.count(), static_cast<int64_t>(cluster_.devices.size()));
    return SaturatingMultiply(2, SaturatingAdd(transfer, latency));
  }

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  const ResolvedProblem& problem_;
  Violations& violations_;
};

}  // namespace

void CheckQuantities(const ResolvedInput& input, const PlanningProblem& given, Violations& violations) {
  QuantityValidator(input, violations).Check(given.memory_model);
}

void CheckLeastBandwidth(const Cluster& cluster, Violations& violations) {
  double least = SlowestLinkOf(cluster.interconnect).bandwidth_bytes_per_second.value_or(1);
  if (const auto* nodes = std::get_if<NodesInterconnect>(&cluster.interconnect)) {
    least = std::min(least, LeastShareOfPorts(nodes->levels, nodes->devices_per_node));
  }
  if (const auto* tree = std::get_if<HierarchyInterconnect>(&cluster.interconnect)) {
    least = std::min(least, LeastShareOfPorts(tree->levels, 1));
  }
  if (const auto* grid = std::get_if<GridInterconnect>(&cluster.interconnect)) least = SlowestOf(*grid);
  if (least >= 1) return;
  violations.Add("cluster.interconnect",
                 absl::StrCat("must give every pair of devices at least 1 byte/s beside problem.joint, gives ", least));
}

}  // namespace planwright
