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

// Of one layer and pass, on links of their own.
struct RankExchanges {
  double tensor = 0;
  double context = 0;
  double expert = 0;

  double sum() const { return tensor + expert + context; }
};

// `shown`: the share of both that computation does not hide.
struct LayerExchanges {
  RankExchanges forward;
  RankExchanges backward;
  double shown = 1;
};

// Rings of the ranks that hold the same parameters.
struct SharedParts {
  double ordinary = 0;
  double experts = 0;

  double sum() const { return ordinary + experts; }
};

// Of one layer and micro-batch: gathers of parameters and scatters of gradients.
struct LayerGathers {
  SharedParts gather;
  SharedParts scatter;
};

// Of one layer at the end of a step; `exchange` before anything is hidden.
struct LayerStepEnd {
  SharedParts exchange;
  double update = 0;
};

// Of one way to spread a stage. The arguments outlive it.
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
  // Tensor, context and expert ranks.
  LayerExchanges ExchangesOf(LayerKind kind) const;
  // The same, as far as computation does not hide them.
  PassTimes Exchanges(LayerKind kind) const;
  // What sharding makes in every micro-batch.
  LayerGathers GathersOf(const ParameterShares& shares) const;
  // The same, without the share that `compute` hides.
  PassTimes Gathers(const ParameterShares& shares, const PassTimes& compute) const;
  // Of exchanges among data ranks that take so long beside so much computation, what is hidden.
  double HiddenAmongData(double time, double computed) const;
  // Once a step: gradients, parameters, update.
  LayerStepEnd StepEndOf(const ParameterShares& shares) const;
  double StepEnd(const ParameterShares& shares) const;
  // Gradients of a tied embedding, which both ends of the pipeline add up (LayerPrice::ends_bytes).
  double EndsBytes(LayerKind kind) const;
  double hidden_at_step_end() const { return efficiency_.hidden_at_step_end; }

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
