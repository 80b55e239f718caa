#include "core/joint/plan/equal_stage_plan.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/joint/cost/layer_modes.h"
#include "core/joint/cost/stage_cost.h"

namespace planwright {
std::optional<JointPlan> EqualStagePlan(const LayerPricer& pricer, const TrainingCluster& cluster,
                                        const JointSettings& settings, const JointConfiguration& equal) {
  const TrainingClass& part = cluster.classes.front();
  if (part.BlocksOf(equal.degrees.devices()) < equal.num_stages) return std::nullopt;
  const std::vector<LayerPrice> prices =
      pricer.Price(QueryOn(cluster, part, 0, equal.degrees, equal.micro_batch_samples, equal.sharding));
  if (prices.empty()) return std::nullopt;
  JointPlan plan{.order = equal.order,
                 .sharding = equal.sharding,
                 .micro_batch_samples = equal.micro_batch_samples,
                 .micro_batches = equal.micro_batches};
  const std::vector<int32_t>& kinds = pricer.kinds();
  const auto last = static_cast<int32_t>(kinds.size()) - 1;
  int32_t layer = 0;
  for (int32_t s = 1; s <= equal.num_stages; ++s) {
    JointStage& stage = plan.stages.emplace_back();
    stage.degrees = equal.degrees;
    stage.first_slot = static_cast<int32_t>((s - 1) * part.TakenBy(equal.degrees.devices()));
    JointChunk& chunk = stage.chunks.emplace_back();
    chunk.first_layer = layer;
    const int32_t end = s == equal.num_stages ? last + 1 : 1 + s * ((last - 1) / equal.num_stages);
    for (; layer < end; ++layer) {
      const LayerPrice& price = prices[static_cast<std::size_t>(kinds[static_cast<std::size_t>(layer)])];
      const auto mode = ModeOf(price, equal.recomputation, settings.recomputation);
      if (!mode.has_value()) return std::nullopt;
      chunk.recomputation.push_back(*mode);
    }
  }
  return plan;
}

}  // namespace planwright
