// A placed plan with layers moved between its stages, at the prices of the links that it really uses.
#ifndef PLANWRIGHT_CORE_JOINT_PLAN_LAYER_SHIFTS_H_
#define PLANWRIGHT_CORE_JOINT_PLAN_LAYER_SHIFTS_H_

#include "core/base/polling.h"
#include "core/joint/place/stage_places.h"

namespace planwright {

// Moves one layer at a time, between neighbours or through all stages between the longest and another one, as long as
// that makes the step shorter and every stage holds its layers; layers are computed again as before. Plans with several
// chunks, or with stages of unlike degrees or classes, stay as they are. `placed` is costed.
void ShiftLayers(const PlaceQuestion& question, Poller& poller, PlacedPlan& placed);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_PLAN_LAYER_SHIFTS_H_
