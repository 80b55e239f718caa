// Joint plans where pairs of devices have links of their own (TrainingCluster::pairs): grids, explicit links, matrices.
#ifndef PLANWRIGHT_CORE_JOINT_PLAN_NETWORK_PLANNING_H_
#define PLANWRIGHT_CORE_JOINT_PLAN_NETWORK_PLANNING_H_

#include <functional>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/joint/plan/joint_planning.h"

namespace planwright {

// As PlanJointly; of the best equal stages of each tensor degree one. For each tensor degree (all together, where
// stages may differ) the search plans as if tensor groups were nodes on the best ring that so many devices can have,
// and all else went over the fastest link, so its bounds hold for every place. Plans get places (core/joint/place) and
// their real costs; then the search looks at the prices of the links that were reached, as long as plans get better.
// Beside that each data degree, schedule and number of stages is looked at for itself (network_scopes.h). What a choice
// is worth (choice_worth.h) is heuristic as places are: the best that all of this found without it, and where the
// answer has made the choice a shorter search of its own. Nothing is said of choices with question.enough_ps. Counters
// "placed_plans", "price_rounds". REQUIRES: question.training.pairs.
absl::StatusOr<JointAnswer> PlanOnNetwork(const JointQuestion& question, const SolveLimits& limits,
                                          const std::function<void(const JointAnswer&)>& on_answer);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_PLAN_NETWORK_PLANNING_H_
