#include "core/joint/baselines/baseline_question.h"

#include <utility>

namespace planwright {

std::optional<LayerRecomputation> ModeOf(const LayerPrice& price, LayerRecomputation mode) {
  if (price.modes[static_cast<std::size_t>(mode)].has_value()) return mode;
  for (int own = 0; own < kNumRecomputations; ++own) {
    if (price.modes[static_cast<std::size_t>(own)].has_value()) return static_cast<LayerRecomputation>(own);
  }
  return std::nullopt;
}

void Offer(const BaselineQuestion& question, const DeviceRow& row, JointPlan plan, std::optional<JointPlan>& best) {
  CostJointPlan(question.pricer, row, question.reserved_bytes, plan);
  const bool is_held = IsHeld(row, question.reserved_bytes, plan);
  if (is_held && (!best.has_value() || plan.step < best->step)) best = std::move(plan);
}

}  // namespace planwright
