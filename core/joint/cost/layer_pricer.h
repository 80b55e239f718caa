// Who says what the layers of a model cost: a chain of layers of few kinds, priced for a way to spread a stage.
#ifndef PLANWRIGHT_CORE_JOINT_COST_LAYER_PRICER_H_
#define PLANWRIGHT_CORE_JOINT_COST_LAYER_PRICER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/joint/cost/layer_parts.h"
#include "core/joint/cost/layer_price.h"
#include "core/joint/cost/training_cluster.h"
#include "core/model/cluster.h"
#include "core/model/joint.h"

namespace planwright {

// How a stage is spread, as far as the costs of its layers depend on it.
struct PriceQuery {
  DeviceClassId device_class;
  Degrees degrees;
  // Samples of a micro-batch on one rank of the data degree.
  int64_t samples = 1;
  Sharding sharding = Sharding::kNone;
  // The stage's block takes several nodes; its groups that leave a node run at the speed between nodes.
  bool crosses_nodes = false;
  int32_t devices_per_node = 1;
  // The speed between nodes; nullopt: that between the furthest ones.
  std::optional<TrainingLink> between = std::nullopt;
  // Inside nodes; nullopt: as anywhere in the cluster.
  std::optional<TrainingLink> inside = std::nullopt;

  bool operator==(const PriceQuery&) const = default;
};

// Immutable; any thread.
class LayerPricer {
 public:
  virtual ~LayerPricer() = default;

  // The kind of each layer, from 0, in pipeline order.
  virtual const std::vector<int32_t>& kinds() const = 0;
  // The name of each layer, which is the label of its operators.
  virtual const std::vector<std::string>& labels() const = 0;
  // Prices by kind. Empty: the model cannot be spread so (heads, experts or the sequence do not divide).
  virtual std::vector<LayerPrice> Price(const PriceQuery& query) const = 0;
  // The same for stages that may differ: each needs prices of its own layers only. Empty: no layer can be spread so.
  virtual std::vector<LayerPrice> PriceOfAny(const PriceQuery& query) const { return Price(query); }
  std::vector<LayerPrice> PriceFor(const PriceQuery& query, bool per_stage) const {
    return per_stage ? PriceOfAny(query) : Price(query);
  }
  // What these prices consist of, by kind. Empty: all of it counts as computation. REQUIRES: PriceOfAny has an answer.
  virtual std::vector<LayerParts> Parts(const PriceQuery& /*query*/) const { return {}; }
  // Model FLOPs of one sample, forward and backward, with causal attention and nothing computed again.
  virtual double flops_per_sample() const = 0;
  virtual int64_t tokens_per_sample() const = 0;
  // Layers at either end which are not among the first layers of a stage that settings speak of (first_layers_alike):
  // embedding and head. They are never computed again.
  virtual int32_t unnumbered_ends() const { return 0; }
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_COST_LAYER_PRICER_H_
