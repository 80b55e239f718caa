#include "core/joint/baselines/data_parallel.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/joint/cost/layer_modes.h"

namespace planwright {
namespace {

// The most devices of `part` that divide `samples`, whole nodes or inside one.
int64_t MostRanks(const TrainingClass& part, int64_t samples) {
  for (int64_t nodes = part.nodes; nodes >= 1; --nodes) {
    if (samples % (nodes * part.devices_per_node) == 0) return nodes * part.devices_per_node;
  }
  int64_t ranks = part.devices_per_node;
  while (samples % ranks != 0) --ranks;
  return ranks;
}

}  // namespace

std::optional<JointPlan> ShardedDataParallel(const BaselineQuestion& question) {
  const DeviceRow row(question.cluster);
  const JointSettings& settings = question.settings;
  std::optional<JointPlan> best;
  for (int32_t number = 0; number < row.num_classes(); ++number) {
    const TrainingClass& part = row.At(number);
    for (const int64_t samples : settings.micro_batch_samples) {
      if (settings.global_batch % samples != 0) continue;
      const int64_t ranks = MostRanks(part, settings.global_batch / samples);
      const Degrees degrees{.data = static_cast<int32_t>(ranks)};
      const std::vector<LayerPrice> prices = question.pricer.Price(QueryOn(
          question.cluster, part, row.TierOf(row.StartOf(number), ranks), degrees, samples, Sharding::kParameters));
      if (prices.empty()) continue;
      for (const LayerRecomputation mode : settings.recomputation) {
        JointStage stage;
        stage.chunks.resize(1);
        stage.degrees = degrees;
        stage.first_slot = static_cast<int32_t>(row.StartOf(number));
        for (const int32_t kind : question.pricer.kinds()) {
          const auto own = ModeOf(prices[static_cast<std::size_t>(kind)], mode, settings.recomputation);
          if (own.has_value()) stage.chunks.front().recomputation.push_back(*own);
        }
        if (stage.chunks.front().end_layer() != question.num_layers()) continue;
        Offer(question, row,
              {.sharding = Sharding::kParameters,
               .micro_batch_samples = samples,
               .micro_batches = settings.global_batch / samples / ranks,
               .stages = {std::move(stage)}},
              best);
      }
    }
  }
  return best;
}

}  // namespace planwright
