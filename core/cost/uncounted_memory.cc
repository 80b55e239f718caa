#include "core/cost/uncounted_memory.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/cost/plan_costing.h"

namespace planwright {
namespace {

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
