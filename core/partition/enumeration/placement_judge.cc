#include "core/partition/enumeration/placement_judge.h"

#include <utility>

#include "core/cost/plan_costing.h"

namespace planwright {

void PlacementJudge::Judge(Placement placement) {
  LookAtLimits();
  const Plan plan = CostPlan(request_, placement);
  ++record_.counters()["placements"];
  for (const DeviceUsage& usage : plan.devices) {
    if (usage.memory_limit_bytes.has_value() && usage.memory_bytes > *usage.memory_limit_bytes) return NoteOverfull();
  }
  if (CanImprove(plan.objective)) record_.Offer(std::move(placement), "enumeration");
}

}  // namespace planwright
