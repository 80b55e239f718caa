// How long a layer takes on one rank (docs/training-costs.md, sections 3 and 4), in picoseconds.
#ifndef PLANWRIGHT_CORE_JOINT_COST_LAYER_TIME_H_
#define PLANWRIGHT_CORE_JOINT_COST_LAYER_TIME_H_

#include "core/joint/cost/exchange.h"
#include "core/joint/cost/layer_memory.h"
#include "core/joint/cost/layer_pricer.h"
#include "core/joint/cost/transformer_parts.h"
#include "core/model/cluster.h"

namespace planwright {

struct PassTimes {
  double forward = 0;
  double backward = 0;
  // The part of `forward` that selective recomputation does again.
  double scores = 0;
};

// Prices the layers for one way to spread a stage. The arguments outlive it.
class LayerTime {
 public:
  LayerTime(const TransformerShape& shape, const DeviceClass& device, const TrainingEfficiency& efficiency,
            const PriceQuery& query, const Exchange& exchange, bool sequence_parallel, double gradient_bytes);

  // Tokens of a micro-batch on one context rank.
  double tokens() const { return tokens_; }

  // Kernels alone, without exchanges.
  PassTimes Compute(LayerKind kind) const;
  // The part of the backward pass that makes the gradients of weights: as many products as the forward pass.
  double Weights(LayerKind kind) const { return Products(kind); }
  // Exchanges among tensor, context and expert ranks, as far as computation does not hide them.
  PassTimes Exchanges(LayerKind kind) const;
  // Gathers of parameters and scatters of gradients that sharding makes in every micro-batch. `compute` hides its
  // share.
  PassTimes Gathers(const ParameterShares& shares, const PassTimes& compute) const;
  // What comes once a step: gradients, parameters, update; for tied embeddings also the sum of both ends.
  double StepEnd(LayerKind kind, const ParameterShares& shares) const;

 private:
  double ProductPs(const MatrixProduct& product, bool may_use_eight_bits) const;
  double Products(LayerKind kind) const;
  double TrafficPs(double bytes) const;
  double Traffic(LayerKind kind) const;
  // Scores and weighted sums of the forward pass, without softmax.
  double Attention() const;

  const TransformerShape& shape_;
  const DeviceClass& device_;
  const TrainingEfficiency& efficiency_;
  const PriceQuery& query_;
  const Degrees& degrees_;
  const Exchange& exchange_;
  bool sequence_parallel_;
  double gradient_bytes_;
  double tokens_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_COST_LAYER_TIME_H_
