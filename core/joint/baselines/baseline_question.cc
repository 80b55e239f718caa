#include "core/joint/baselines/baseline_question.h"

#include <algorithm>
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
  const bool fits = std::all_of(plan.stages.begin(), plan.stages.end(), [&](const JointStage& stage) {
    const int64_t limit = row.At(row.ClassOf(stage.first_slot)).memory_bytes + question.reserved_bytes;
    return stage.memory.total() <= limit;
  });
  if (fits && (!best.has_value() || plan.step < best->step)) best = std::move(plan);
}

}  // namespace planwright
