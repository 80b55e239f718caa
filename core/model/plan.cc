#include "core/model/plan.h"

namespace planwright {

double RelativeGap(Picoseconds objective, Picoseconds lower_bound) {
  if (objective.count() == 0) return 0;
  return static_cast<double>((objective - lower_bound).count()) / static_cast<double>(objective.count());
}

Placement PlacementOf(const Plan& plan) {
  Placement placement;
  placement.stages.reserve(plan.stages.size());
  for (const Stage& stage : plan.stages) {
    Placement::Stage& placed = placement.stages.emplace_back();
    placed.operators = stage.operators;
    for (const Replica& replica : stage.replicas) placed.devices.push_back(replica.device);
  }
  return placement;
}

}  // namespace planwright
