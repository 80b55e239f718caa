#include "core/partition/enumeration/placement_judge.h"

#include <utility>

#include "core/cost/plan_costing.h"

namespace planwright {

bool PlacementJudge::Step() {
  record_.AddWork(1);
  has_stopped_ = has_stopped_ || is_out_of_work() || poller_.ShouldStop();
  return !has_stopped_;
}

void PlacementJudge::Judge(Placement placement) {
  const Plan plan = CostPlan(request_.graph, request_.cluster, request_.problem, request_.costs, placement);
  ++record_.counters()["placements"];
  for (const DeviceUsage& usage : plan.devices) {
    if (usage.memory_limit_bytes.has_value() && usage.memory_bytes > *usage.memory_limit_bytes) return NoteOverfull();
  }
  if (!CanImprove(plan.objective)) return;
  const bool is_better = record_.Offer(std::move(placement), "enumeration");
  if (is_better && record_.objective() == plan.objective) return;
  least_misjudged_ = std::min(least_misjudged_, plan.objective);
}

}  // namespace planwright
