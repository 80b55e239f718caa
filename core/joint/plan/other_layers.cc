#include "core/joint/plan/other_layers.h"

#include <algorithm>
#include <vector>

#include "core/joint/search/joint_search.h"

namespace planwright {

OtherLayers LookAtOtherLayers(const JointQuestion& question, int64_t step_ps, int64_t simulated_ps,
                              const SolveLimits& limits) {
  OtherLayers other{.step_bound_ps = step_ps, .simulated_bound_ps = simulated_ps};
  const auto look = [&](const TrainingCluster& row) {
    JointRequest request = question.RequestOn(row);
    request.known_step_ps = step_ps;
    const JointOutcome outcome = SearchJoint(request, limits, [](const JointPlan&) {});
    other.step_bound_ps = std::min(other.step_bound_ps, outcome.step_bound_ps);
    other.is_interrupted = other.is_interrupted || outcome.is_interrupted;
    other.simulated_bound_ps = std::min(other.simulated_bound_ps, BoundSimulatedStep(request, simulated_ps, limits));
    return outcome.plan.has_value();
  };
  for (const TrainingCluster& row : PlanRowsOf(question)) other.has_better = look(row) || other.has_better;
  if (!HasOtherBoundRows(question)) return other;
  for (const TrainingCluster& row : BoundRowsOf(question)) look(row);
  return other;
}

}  // namespace planwright
