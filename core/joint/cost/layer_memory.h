// What a layer holds on one rank (docs/training-costs.md, section 5).
#ifndef PLANWRIGHT_CORE_JOINT_COST_LAYER_MEMORY_H_
#define PLANWRIGHT_CORE_JOINT_COST_LAYER_MEMORY_H_

#include "core/joint/cost/layer_price.h"
#include "core/joint/cost/layer_pricer.h"
#include "core/joint/cost/transformer_parts.h"

namespace planwright {

// What a parameter takes: a 16-bit weight, and for the optimizer a 32-bit weight and two moments of Adam.
inline constexpr double kWeightBytes = 2;
inline constexpr double kOptimizerBytes = 12;

// The next whole number, at most kMostPriced, which is also what no number and infinity become.
inline constexpr int64_t kMostPriced = int64_t{1} << 61;
int64_t RoundedUp(double value);

// Parameters of a layer on one rank, and how many ranks hold the same ones.
struct ParameterShare {
  double parameters = 0;
  int64_t copies = 1;
  // Distance of two of these ranks.
  int64_t stride = 1;

  // What a rank keeps of `bytes` that all copies divide among themselves from `from` on.
  double Kept(double bytes, Sharding sharding, Sharding from) const {
    return bytes / (sharding >= from ? static_cast<double>(copies) : 1.0);
  }
};

// Shares of the experts' parameters, and of all others.
struct ParameterShares {
  ParameterShare ordinary;
  ParameterShare experts;
};
ParameterShares SharesOf(const TransformerShape& shape, LayerKind kind, const Degrees& degrees);

// Bytes of one rank that has `tokens` of its part of the sequence.
struct ActivationBytes {
  double layer = 0;
  // The part of `layer` that selective recomputation makes again: the scores.
  double scores = 0;
  // What full recomputation keeps.
  double input = 0;
};
ActivationBytes KeptOnRank(const TransformerShape& shape, LayerKind kind, const Degrees& degrees, double tokens,
                           bool sequence_parallel);

// Sets parameters, gradients, optimizer and gathered bytes of `price`.
void AddStateBytes(const ParameterShares& shares, Sharding sharding, double gradient_bytes, LayerPrice& price);

// While a layer runs: its largest tensors, or logits with what the loss makes of them. No micro-batch in flight keeps
// logits: its backward pass begins where its forward pass ends.
double WorkspaceBytes(const TransformerShape& shape, LayerKind kind, const Degrees& degrees, double tokens,
                      double loss_bytes);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_COST_LAYER_MEMORY_H_
