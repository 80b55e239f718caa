#include "core/verify/replanning.h"

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/quantity_text.h"

namespace planwright {
namespace {

// Which device held which operator.
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

}  // namespace

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

}  // namespace planwright
