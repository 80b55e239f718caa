#include "core/cost/plan_warnings.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/cost/latency_schedule.h"
#include "core/cost/plan_costing.h"
#include "core/cost/terms/transfer.h"

namespace planwright {
namespace {

constexpr double kLeastPlausibleRatio = 1e-4;
constexpr double kGreatestPlausibleRatio = 1e2;
// In a list for people.
constexpr std::size_t kMaxNames = 5;

// The upper median; reorders `times`. nullopt: there are none.
std::optional<Picoseconds> Median(std::vector<Picoseconds>& times) {
  if (times.empty()) return std::nullopt;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

std::optional<Picoseconds> MedianOperatorTime(const Cluster& cluster, const CostTable& costs, const Plan& plan) {
  std::vector<Picoseconds> times;
  for (const Stage& stage : plan.stages) {
    const DeviceClassId device_class = cluster.devices[stage.replicas.front().device.index()].device_class;
    for (const OperatorId op : stage.operators) {
      const Picoseconds time = costs.time(op, device_class).total();
      if (time > Picoseconds(0)) times.push_back(time);
    }
  }
  return Median(times);
}

// Returns the median over the fastest class of links, which is the first one.
std::optional<Picoseconds> MedianTransferTime(const OperatorGraph& graph, const Network& network, const Plan& plan) {
  std::vector<Picoseconds> times;
  if (network.num_link_classes() == 0) return std::nullopt;
  for (const Tensor& tensor : graph.tensors) {
    const bool dropped = plan.problem.workload == Workload::kInference &&
                         graph.operators[tensor.producer.index()].pass == Pass::kBackward;
    if (dropped || tensor.consumers.empty()) continue;
    const Picoseconds time = network.TransferTime(tensor, 0);
    if (time > Picoseconds(0)) times.push_back(time);
  }
  return Median(times);
}

void WarnOfEstimates(const Plan& plan, std::vector<std::string>& warnings) {
  const int32_t count = plan.estimate.estimated_operators;
  if (count == 0) return;
  warnings.push_back(absl::StrCat(count, count == 1 ? " operator has a roofline estimate, not a measured time"
                                                    : " operators have roofline estimates, not measured times"));
}

void WarnOfUnits(const OperatorGraph& graph, const Cluster& cluster, const CostTable& costs, const Plan& plan,
                 std::vector<std::string>& warnings) {
  const auto transfer = MedianTransferTime(graph, costs.network(), plan);
  const auto compute = MedianOperatorTime(cluster, costs, plan);
  if (!transfer.has_value() || !compute.has_value()) return;
  const double ratio = static_cast<double>(transfer->count()) / static_cast<double>(compute->count());
  if (ratio >= kLeastPlausibleRatio && ratio <= kGreatestPlausibleRatio) return;
  warnings.push_back(absl::StrCat("the median transfer takes ", ToMilliseconds(*transfer), " ms, ", ratio,
                                  " times the median operator's ", ToMilliseconds(*compute),
                                  " ms: check the units of sizes, bandwidths and times"));
}

void WarnOfMissingBackward(const OperatorGraph& graph, const Plan& plan, std::vector<std::string>& warnings) {
  if (plan.problem.workload == Workload::kInference) return;
  if (HasBackwardOperators(graph) || HasBackwardTimes(graph)) return;
  warnings.emplace_back("the workload is TRAINING, but the graph has no backward times: backward passes take no time");
}

void WarnOfIgnoredTransferTimes(const OperatorGraph& graph, const Cluster& cluster,
                                std::vector<std::string>& warnings) {
  if (GivenTimesCount(cluster.interconnect)) return;
  const auto count = std::count_if(graph.tensors.begin(), graph.tensors.end(),
                                   [](const Tensor& tensor) { return tensor.transfer.has_value(); });
  if (count == 0) return;
  warnings.push_back(absl::StrCat(count, count == 1 ? " tensor has a transfer_ms" : " tensors have a transfer_ms",
                                  ", which this interconnect ignores: it goes by size_bytes"));
}

// MIN_LATENCY counts on as many CPUs as there is work for (docs/cost-model.md section 8).
void WarnOfCpuConcurrency(const OperatorGraph& graph, const Cluster& cluster, const CostTable& costs, const Plan& plan,
                          std::vector<std::string>& warnings) {
  if (plan.problem.objective != Objective::kMinLatency) return;
  const int32_t peak = ScheduleForLatency(graph, cluster, costs, plan.stages).peak_cpu_operators;
  const auto cpus = std::count_if(cluster.devices.begin(), cluster.devices.end(), [&](const Device& device) {
    return cluster.class_of(device).kind == DeviceKind::kCpu;
  });
  if (peak <= cpus) return;
  warnings.push_back(absl::StrCat("up to ", peak, " operators run on CPUs at the same time, and there ",
                                  cpus == 1 ? "is 1" : absl::StrCat("are ", cpus),
                                  ": the latency counts on as many CPUs as there is work for"));
}

void WarnOfMissingLayers(const OperatorGraph& graph, const Plan& plan, std::vector<std::string>& warnings) {
  if (plan.problem.granularity != Granularity::kLayer) return;
  const auto has_layer = [](const Operator& op) { return !op.layer.empty(); };
  if (std::any_of(graph.operators.begin(), graph.operators.end(), has_layer)) return;
  warnings.emplace_back("the granularity is LAYER, but no operator names its layer: operators were placed one by one");
}

bool CountsMemory(const Operator& op) {
  return op.parameter_bytes > 0 || op.activation_bytes > 0 || op.workspace_bytes > 0;
}

void WarnOfMemory(const OperatorGraph& graph, const Cluster& cluster, const Plan& plan,
                  std::vector<std::string>& warnings) {
  std::vector<bool> unlimited_in_use(cluster.device_classes.size(), false);
  bool limited_in_use = false;
  for (const DeviceUsage& usage : plan.devices) {
    if (usage.stages.empty()) continue;
    limited_in_use |= usage.memory_limit_bytes.has_value();
    if (!usage.memory_limit_bytes.has_value() && cluster.class_of(usage.device).kind == DeviceKind::kAccelerator) {
      unlimited_in_use[cluster.devices[usage.device.index()].device_class.index()] = true;
    }
  }
  for (std::size_t i = 0; i < unlimited_in_use.size(); ++i) {
    if (!unlimited_in_use[i]) continue;
    warnings.push_back(absl::StrCat("accelerators of class \"", cluster.device_classes[i].name,
                                    "\" have no memory_bytes: their memory counts as unlimited"));
  }
  if (limited_in_use && plan.problem.memory_model.kind == MemoryModel::Kind::kComponents &&
      std::none_of(graph.operators.begin(), graph.operators.end(), CountsMemory)) {
    warnings.emplace_back("no operator says how much memory it needs: memory limits were held against buffers only");
  }
}

// Names of people's clusters: a slip of the pen looks like a device that has failed.
void WarnOfAbsentDevices(const Plan& plan, std::vector<std::string>& warnings) {
  std::vector<std::string> names;
  for (const AbsentDevice& absent : plan.problem.absent_devices) {
    if (std::find(names.begin(), names.end(), absent.name) == names.end()) names.push_back(absent.name);
  }
  if (names.empty()) return;
  const std::size_t more = names.size() - std::min(names.size(), kMaxNames);
  names.resize(names.size() - more);
  warnings.push_back(absl::StrCat("of problem.start_from, ", absl::StrJoin(names, ", "),
                                  more == 0 ? "" : absl::StrCat(" and ", more, " more"),
                                  names.size() == 1 ? " is" : " are", " not in this cluster: what ",
                                  names.size() == 1 ? "it" : "they", " held moves"));
}

bool HoldsOneStagePerDevice(const Plan& plan) {
  return std::all_of(plan.devices.begin(), plan.devices.end(),
                     [](const DeviceUsage& usage) { return usage.stages.size() <= 1; });
}

bool LeavesOutOptimizer(const ResolvedProblem& problem) {
  return problem.memory_model.optimizer_bytes_per_parameter_byte == 0;
}

bool LeavesOutMicroBatches(const Plan& plan) {
  const ResolvedProblem& problem = plan.problem;
  return problem.schedule == ScheduleKind::kSteadyState && !problem.micro_batches.has_value() &&
         problem.objective != Objective::kMinLatency && problem.split == Split::kContiguous &&
         HoldsOneStagePerDevice(plan);
}

// The largest peak of a device in use that has a limit, or of any where none has: a CPU without one says nothing.
int64_t PeakBytes(const Plan& plan) {
  int64_t of_all = 0;
  int64_t of_limited = 0;
  for (const DeviceUsage& usage : plan.devices) {
    if (usage.stages.empty()) continue;
    of_all = std::max(of_all, usage.memory_bytes);
    if (usage.memory_limit_bytes.has_value()) of_limited = std::max(of_limited, usage.memory_bytes);
  }
  return of_limited > 0 ? of_limited : of_all;
}

ResolvedProblem WithOptimizer(const OperatorGraph& graph, const ResolvedProblem& problem) {
  PlanningProblem posed = AsPosed(problem);
  posed.memory_model.optimizer_bytes_per_parameter_byte.reset();
  posed.memory_model.preset = "adam_mixed";
  return ResolveProblem(graph, posed);
}

ResolvedProblem WithSchedule(ResolvedProblem problem) {
  problem.schedule = ScheduleKind::kOneFOneB;
  return problem;
}

}  // namespace

std::vector<std::string> PlanWarnings(const OperatorGraph& graph, const Cluster& cluster, const CostTable& costs,
                                      const Plan& plan) {
  std::vector<std::string> warnings;
  WarnOfEstimates(plan, warnings);
  WarnOfUnits(graph, cluster, costs, plan, warnings);
  WarnOfIgnoredTransferTimes(graph, cluster, warnings);
  WarnOfMissingBackward(graph, plan, warnings);
  WarnOfMissingLayers(graph, plan, warnings);
  WarnOfCpuConcurrency(graph, cluster, costs, plan, warnings);
  WarnOfMemory(graph, cluster, plan, warnings);
  WarnOfAbsentDevices(plan, warnings);
  return warnings;
}

std::vector<UncountedMemory> UncountedMemoryOf(const OperatorGraph& graph, const Cluster& cluster,
                                               const CostTable& costs, const Plan& plan) {
  std::vector<UncountedMemory> uncounted;
  const ResolvedProblem& problem = plan.problem;
  const bool may_leave_out = problem.workload == Workload::kTraining &&
                             problem.memory_model.kind == MemoryModel::Kind::kComponents && !plan.stages.empty();
  if (!may_leave_out) return uncounted;
  const Placement placement = PlacementOf(plan);
  const auto add = [&](std::string what, const ResolvedProblem& counting) {
    const int64_t bytes = PeakBytes(CostPlan({graph, cluster, counting, costs}, placement));
    if (bytes > PeakBytes(plan)) uncounted.push_back({std::move(what), bytes});
  };
  const bool lacks_optimizer = LeavesOutOptimizer(problem);
  const bool lacks_micro_batches = LeavesOutMicroBatches(plan);
  if (lacks_optimizer) add("the optimizer of adam_mixed", WithOptimizer(graph, problem));
  if (lacks_micro_batches) add("the micro-batches in flight of ONE_F_ONE_B", WithSchedule(problem));
  if (uncounted.size() == 2) add("both", WithSchedule(WithOptimizer(graph, problem)));
  return uncounted;
}

}  // namespace planwright
