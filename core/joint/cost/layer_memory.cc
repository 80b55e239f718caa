#include "core/joint/cost/layer_memory.h"

#include <cmath>

namespace planwright {

int64_t RoundedUp(double value) {
  // Also false for a NaN.
  if (!(value < static_cast<double>(kMostPriced))) return kMostPriced;
  return static_cast<int64_t>(std::ceil(value));
}

ParameterShares SharesOf(const TransformerShape& shape, LayerKind kind, const Degrees& degrees) {
  const LayerParameters parameters = ParametersOf(shape, kind);
  const int64_t copies = int64_t{degrees.context} * degrees.data;
  return {.ordinary = {parameters.divided / degrees.tensor + parameters.replicated, copies, degrees.tensor},
          .experts = {parameters.experts / degrees.tensor / degrees.expert, copies / degrees.expert,
                      int64_t{degrees.tensor} * degrees.expert}};
}

ActivationBytes KeptOnRank(const TransformerShape& shape, LayerKind kind, const Degrees& degrees, double tokens,
                           bool sequence_parallel) {
  const double tensor = degrees.tensor;
  const double along_sequence = sequence_parallel ? tensor : 1;
  const TokenBytes bytes = KeptOf(shape, kind);
  ActivationBytes kept;
  kept.scores = HasAttention(kind) ? KeptScoresPerToken(shape) * tokens / tensor : 0;
  kept.layer = (bytes.divided / tensor + bytes.sequence / along_sequence) * tokens + kept.scores;
  kept.input = tokens * static_cast<double>(shape.hidden * shape.bytes_per_element) / along_sequence;
  return kept;
}

void AddStateBytes(const ParameterShares& shares, Sharding sharding, double gradient_bytes, LayerPrice& price) {
  double gathered = 0;
  for (const ParameterShare& share : {shares.ordinary, shares.experts}) {
    const double parameters = share.parameters;
    price.parameter_bytes += RoundedUp(share.Kept(kWeightBytes * parameters, sharding, Sharding::kParameters));
    price.gradient_bytes += RoundedUp(share.Kept(gradient_bytes * parameters, sharding, Sharding::kGradients));
    price.optimizer_bytes += RoundedUp(share.Kept(kOptimizerBytes * parameters, sharding, Sharding::kOptimizer));
    gathered += kWeightBytes * parameters;
  }
  if (sharding == Sharding::kParameters) price.gathered_bytes = RoundedUp(gathered);
}

double WorkspaceBytes(const TransformerShape& shape, LayerKind kind, const Degrees& degrees, double tokens,
                      double loss_bytes) {
  if (kind == kHeadLayer) {
    return (shape.bytes_per_element + loss_bytes) * tokens * static_cast<double>(shape.vocabulary) / degrees.tensor;
  }
  return 2 * tokens * static_cast<double>(shape.hidden * shape.bytes_per_element);
}

}  // namespace planwright
