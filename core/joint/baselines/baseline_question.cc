#include "core/joint/baselines/baseline_question.h"

#include <utility>

namespace planwright {

void Offer(const BaselineQuestion& question, const DeviceRow& row, JointPlan plan, std::optional<JointPlan>& best) {
  CostJointPlan(question.pricer, row, question.reserved_bytes, plan);
  const bool is_held = IsHeld(row, question.reserved_bytes, plan);
  if (is_held && (!best.has_value() || plan.step < best->step)) best = std::move(plan);
}

}  // namespace planwright
