// The first plan of a search that starts from one which somebody has: that plan where it fits, else its choices adapted
// to the devices and the batch that there are now.
#ifndef PLANWRIGHT_CORE_JOINT_PLAN_START_PLAN_H_
#define PLANWRIGHT_CORE_JOINT_PLAN_START_PLAN_H_

#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/base/limits.h"
#include "core/joint/plan/joint_planning.h"
#include "core/joint/search/joint_search.h"
#include "core/model/joint.h"

namespace planwright {

struct StartPlan {
  // Costed, with the first slot of each stage.
  JointPlan plan;
  // Every choice is the given one; places and micro-batches are those that there are.
  bool is_as_given = false;
};

// The fastest of the plans that take over what `start` chose, on the row of `request.cluster`; nullopt: none fits, or
// its choices are not among the settings, which must leave recomputation to each layer.
//
// As given: all choices, where its stages lie or with blocks in pipeline order on the classes that these had. Else,
// where one spread and no single stage's own is chosen: any number of data ranks that may be chosen and of stages up to
// the given one, whose layers are divided in the given proportions, each layer with the recomputation it had, or, where
// that does not fit, all between the first and the last computed again. Of these what was found when the time is over;
// as given is looked at in any case. O(stages x (data degrees that divide the batch) x layers).
std::optional<StartPlan> StartFrom(const JointStart& start, const JointRequest& request, const SolveLimits& limits);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_PLAN_START_PLAN_H_
