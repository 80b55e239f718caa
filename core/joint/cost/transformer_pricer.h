// Costs of the layers of a decoder-only language model without a measurement (docs/training-costs.md).
//
// Megatron's tensor parallelism with sequence parallelism (Korthikanti et al. 2022), context parallelism by a ring of
// keys and values, expert parallelism by two all-to-alls per layer and pass, vocabulary-parallel embedding and loss.
// Layers: "embedding", "layer.0", ..., "head" (final norm, product with the vocabulary, loss).
#ifndef PLANWRIGHT_CORE_JOINT_COST_TRANSFORMER_PRICER_H_
#define PLANWRIGHT_CORE_JOINT_COST_TRANSFORMER_PRICER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/joint/cost/layer_pricer.h"
#include "core/joint/cost/training_efficiency.h"
#include "core/joint/cost/transformer_parts.h"
#include "core/model/cluster.h"
#include "core/model/transformer_shape.h"

namespace planwright {

struct TransformerPricerOptions {
  // Tensor ranks divide norms, sums and dropout along the sequence too; Megatron before 2022 did not.
  bool sequence_parallel = true;
  // Bytes of a gradient while it is summed up over micro-batches: 4, or 2 where the trainer keeps it in 16 bits.
  double gradient_bytes = 4;
  // Bytes that a logit takes while the loss is made, besides its 16 bits: a 32-bit copy that becomes its gradient, and
  // that gradient in 16 bits. Losses that are not fused keep three 32-bit copies: 12.
  double loss_bytes = 6;
  // Every kernel starts when the one before has ended (CUDA_LAUNCH_BLOCKING=1), and takes several launches.
  bool blocking_launches = false;
};

class TransformerPricer : public LayerPricer {
 public:
  // `cluster` outlives the pricer.
  TransformerPricer(const TransformerShape& shape, const Cluster& cluster, TrainingLink inside, TrainingLink between,
                    const TransformerPricerOptions& options = {});

  const std::vector<int32_t>& kinds() const override { return kinds_; }
  const std::vector<std::string>& labels() const override { return labels_; }
  // Empty also where a class has no speed, or the model's sums leave 62 bits.
  std::vector<LayerPrice> Price(const PriceQuery& query) const override;
  std::vector<LayerParts> Parts(const PriceQuery& query) const override;
  double flops_per_sample() const override;
  int64_t tokens_per_sample() const override { return shape_.sequence; }
  int32_t unnumbered_ends() const override { return 1; }

 private:
  TrainingEfficiency EfficiencyOf(const DeviceClass& device) const;

  TransformerShape shape_;
  const Cluster& cluster_;
  TrainingLink inside_;
  TrainingLink between_;
  TransformerPricerOptions options_;
  std::vector<int32_t> kinds_;
  std::vector<std::string> labels_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_COST_TRANSFORMER_PRICER_H_
