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
#include "core/model/cluster.h"
#include "core/model/transformer_shape.h"

namespace planwright {

class TransformerPricer : public LayerPricer {
 public:
  // `cluster` outlives the pricer.
  TransformerPricer(const TransformerShape& shape, const Cluster& cluster, TrainingLink inside, TrainingLink between);

  const std::vector<int32_t>& kinds() const override { return kinds_; }
  const std::vector<std::string>& labels() const override { return labels_; }
  std::vector<LayerPrice> Price(const PriceQuery& query) const override;
  double flops_per_sample() const override;
  int64_t tokens_per_sample() const override { return shape_.sequence; }

 private:
  TransformerShape shape_;
  const Cluster& cluster_;
  TrainingLink inside_;
  TrainingLink between_;
  std::vector<int32_t> kinds_;
  std::vector<std::string> labels_;
};

// Parameters of the whole model; of a tied embedding once.
double ParameterCount(const TransformerShape& shape);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_COST_TRANSFORMER_PRICER_H_
