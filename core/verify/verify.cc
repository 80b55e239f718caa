#include "core/verify/verify.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/quantity_text.h"
#include "core/model/colocation.h"
#include "core/verify/checks.h"
#include "core/verify/costing.h"
#include "core/verify/facts/assignment.h"
#include "core/verify/facts/memory.h"
#include "core/verify/periodic/periodic_costing.h"
#include "core/verify/stage_order.h"

namespace planwright {
namespace {

// Checks what MIN_DEVICES must reach.
void CheckTarget(const ResolvedProblem& problem, const Plan& plan, Violations& violations) {
  if (!problem.target_period.has_value() || plan.objective <= *problem.target_period) return;
  violations.Add("plan.objective_ms", absl::StrCat("is ", TimeText(plan.objective), ", above the target of ",
                                                   TimeText(*problem.target_period)));
}

// A FORWARD tensor that a BACKWARD operator reads may go either way: it travels in the pass that goes there.
bool GoesAgainstItsPass(Pass producer, std::size_t from, Pass consumer, std::size_t to, bool gradients_listed_forward) {
  if (consumer == Pass::kForward) return to < from;
  return producer == Pass::kBackward && (gradients_listed_forward ? to < from : from < to);
}

// PERIODIC takes the stages in the order given: forward passes run from the first to the last, backward passes from the
// last to the first (docs/cost-model.md section 9). Adds a violation for every tensor that goes against its pass, and
// returns whether there is none. In a graph that lists its gradients along their activations (ListsGradientsForward)
// they go against their listed direction. REQUIRES: a whole structure. Complexity O(tensor ends).
bool CheckLinearOrder(const OperatorGraph& graph, const ResolvedProblem& problem, const Assignment& assignment,
                      Violations& violations) {
  const bool gradients_listed_forward = ListsGradientsForward(graph, ColocationUnions(graph, problem));
  const std::size_t violations_before = violations.count();
  for (const Tensor& tensor : graph.tensors) {
    if (!assignment.places(tensor.producer)) continue;
    const std::size_t from = assignment.stage_index(tensor.producer);
    const Pass pass = graph.operators[tensor.producer.index()].pass;
    for (const OperatorId consumer : tensor.consumers) {
      if (!assignment.places(consumer)) continue;
      const std::size_t to = assignment.stage_index(consumer);
      if (!GoesAgainstItsPass(pass, from, graph.operators[consumer.index()].pass, to, gradients_listed_forward))
        continue;
      violations.Add(assignment.OperatorPath(consumer),
                     absl::StrCat("tensor '", tensor.name, "' of the ", pass == Pass::kForward ? "forward" : "backward",
                                  " pass comes from stage ", assignment.stages[from].given_index, " to stage ",
                                  assignment.stages[to].given_index, "; PERIODIC takes stages in the order given"));
    }
  }
  return violations.count() == violations_before;
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

// Who held what.
std::set<std::pair<DeviceId, OperatorId>> SeatsOf(const Placement& placement) {
  std::set<std::pair<DeviceId, OperatorId>> seats;
  for (const Placement::Stage& stage : placement.stages) {
    for (const DeviceId device : stage.devices) {
      for (const OperatorId op : stage.operators) seats.emplace(device, op);
    }
  }
  return seats;
}

bool HasMoved(const Stage& stage, const std::set<std::pair<DeviceId, OperatorId>>& before) {
  for (const Replica& replica : stage.replicas) {
    for (const OperatorId op : stage.operators) {
      if (!before.contains({replica.device, op})) return true;
    }
  }
  return false;
}

// Adds a violation unless the plan says exactly where it starts from a placement how it differs from it, counts right
// the stages some device of which did not hold all of their operators there, and is no slower than the problem
// tolerates. REQUIRES: ids in range. Complexity O((operators + replicas of operators) log).
void CheckReplanning(const Plan& plan, Violations& violations) {
  if (plan.replanning.has_value() != plan.problem.start_from.has_value()) {
    violations.Add("plan.replanning", "must be there exactly if problem.start_from is");
    return;
  }
  if (!plan.replanning.has_value()) return;
  const std::set<std::pair<DeviceId, OperatorId>> before = SeatsOf(*plan.problem.start_from);
  int32_t moved = 0;
  for (const Stage& stage : plan.stages) moved += HasMoved(stage, before) ? 1 : 0;
  const auto compare = [&](const char* path, int32_t stated, int32_t fresh) {
    if (stated != fresh) violations.Add(path, absl::StrCat("is stated as ", stated, ", but is ", fresh));
  };
  compare("plan.replanning.moved_stages", plan.replanning->moved_stages, moved);
  compare("plan.replanning.kept_stages", plan.replanning->kept_stages,
          static_cast<int32_t>(plan.stages.size()) - moved);
  const Picoseconds best = plan.replanning->best_objective;
  const double most = (1 + plan.problem.replan_tolerance.value_or(0)) * static_cast<double>(best.count());
  if (best <= plan.objective && static_cast<double>(plan.objective.count()) <= most) return;
  violations.Add(
      "plan.replanning.best_objective_ms",
      absl::StrCat("is ", TimeText(best), ", which does not go with an objective of ", TimeText(plan.objective)));
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
