#include "core/verify/verify.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/quantity_text.h"
#include "core/verify/comparison.h"
#include "core/verify/costing.h"
#include "core/verify/facts/assignment.h"
#include "core/verify/facts/memory.h"
#include "core/verify/linear_order.h"
#include "core/verify/periodic/periodic_costing.h"
#include "core/verify/pipeline.h"
#include "core/verify/replanning.h"
#include "core/verify/rules.h"
#include "core/verify/subgraphs.h"

namespace planwright {
namespace {

// Checks what MIN_DEVICES must reach.
void CheckTarget(const ResolvedProblem& problem, const Plan& plan, Violations& violations) {
  if (!problem.target_period.has_value() || plan.objective <= *problem.target_period) return;
  violations.Add("plan.objective_ms", absl::StrCat("is ", TimeText(plan.objective), ", above the target of ",
                                                   TimeText(*problem.target_period)));
}

// PERIODIC: whatever the pattern decides.
std::optional<Plan> CostPeriodic(const ResolvedInput& input, const Placement& placement, const Assignment& assignment,
                                 Violations& violations) {
  if (!CheckLinearOrder(input.graph, input.problem, assignment, violations)) return std::nullopt;
  if (!placement.pattern.has_value()) {
    violations.Add("plan.schedule.tasks", "must say when each stage works on what, because the schedule is PERIODIC");
    return std::nullopt;
  }
  return CostPeriodicAssignment(input, assignment, *placement.pattern, violations);
}

// The costs in the mode of the problem; nullopt: too broken.
std::optional<Plan> CostInMode(const ResolvedInput& input, const Placement& placement, Assignment& assignment,
                               Violations& violations) {
  if (input.problem.schedule == ScheduleKind::kPeriodic) {
    return CostPeriodic(input, placement, assignment, violations);
  }
  if (input.problem.objective == Objective::kMinLatency) {
    if (!PutInExecutableOrder(input.graph, input.cluster, assignment, violations)) return std::nullopt;
  } else {
    PutInPipelineOrder(input.graph, input.problem, assignment, violations);
  }
  return CostAssignment(input, assignment);
}

// The placement costed anew; nullopt: too broken.
std::optional<Plan> Judge(const ResolvedInput& input, const Placement& placement, Violations& violations) {
  auto [assignment, is_whole] = CheckStructure(input, placement, violations);
  CheckRules(input, assignment, violations);
  if (!is_whole) return std::nullopt;
  std::optional<Plan> plan = CostInMode(input, placement, assignment, violations);
  if (!plan.has_value()) return std::nullopt;
  CheckMemory(input.cluster, assignment, *plan, violations);
  CheckTarget(input.problem, *plan, violations);
  // Devices that the problem does not select are shown where the plan uses them all the same.
  std::erase_if(plan->devices, [&](const DeviceUsage& usage) {
    return usage.stages.empty() && !IsSelected(input.cluster, input.problem.devices_to_use, usage.device);
  });
  return plan;
}

}  // namespace

Verdict VerifyPlacement(const ResolvedInput& input, const Placement& placement) {
  Verdict verdict;
  verdict.costed = Judge(input, placement, verdict.violations);
  return verdict;
}

void VerifyPlan(const OperatorGraph& graph, const Cluster& cluster, const Plan& plan, Violations& violations) {
  const std::optional<Plan> fresh = Judge({graph, cluster, plan.problem}, PlacementOf(plan), violations);
  if (!fresh.has_value()) return;
  CompareNumbers(plan, *fresh, violations);
  CheckBounds(plan, fresh->objective, violations);
  CheckReplanning(plan, violations);
}

}  // namespace planwright
