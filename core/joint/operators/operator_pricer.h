// Costs of layers that are operators of any graph (docs/training-costs.md, section 9): sums of what its operators cost
// a rank, and what is alive behind a layer as what goes to the next stage.
#ifndef PLANWRIGHT_CORE_JOINT_OPERATORS_OPERATOR_PRICER_H_
#define PLANWRIGHT_CORE_JOINT_OPERATORS_OPERATOR_PRICER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cost/terms/cost_table.h"
#include "core/joint/cost/layer_pricer.h"
#include "core/joint/cost/training_cluster.h"
#include "core/joint/operators/layer_layouts.h"
#include "core/joint/operators/operator_layers.h"
#include "core/joint/operators/operator_share.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

class OperatorPricer : public LayerPricer {
 public:
  // All but the links and `memory` outlive the pricer. `memory` is resolved; what it leaves open under DECLARED counts
  // as parameters and gradients. REQUIRES: `layers` in an order in which every tensor between FORWARD operators goes
  // forward.
  OperatorPricer(const OperatorGraph& graph, const Cluster& cluster, const OperatorLayers& layers,
                 const CostTable& costs, const ResolvedMemory& memory, TrainingLink inside, TrainingLink between,
                 int64_t tokens_per_sample = 0);

  const std::vector<int32_t>& kinds() const override { return kinds_; }
  const std::vector<std::string>& labels() const override { return layers_.labels; }
  // Empty also where a class cannot run an operator, variants lack the degrees, or sums leave 62 bits.
  std::vector<LayerPrice> Price(const PriceQuery& query) const override;
  // Changes of layouts are exchanges of tensor ranks.
  std::vector<LayerParts> Parts(const PriceQuery& query) const override;
  // Layers of which a class cannot run an operator, or of whose variants some lack the degrees, cannot run; what leaves
  // them is whole.
  std::vector<LayerPrice> PriceOfAny(const PriceQuery& query) const override;
  double flops_per_sample() const override;
  // As the request says; 0: unknown.
  int64_t tokens_per_sample() const override { return tokens_per_sample_; }

 private:
  // Positions in graph.tensors.
  struct Border {
    // Read in the layer by operators without variants, made by none of these.
    std::vector<std::size_t> entering;
    // With one end in it or before, and another behind it.
    std::vector<std::size_t> leaving;
  };

  // How each operator of a layer that stands for its kind runs (of others only variants would matter, and layers with
  // such have a kind of their own), and by layer what changing layouts takes in each pass, and whether it can run.
  struct Chosen {
    std::vector<OperatorShare> shares;
    std::vector<double> changes_ps;
    std::vector<bool> can_run;
  };

  void FindBorders();
  void FindKinds();
  // Empty: it cannot run so.
  std::vector<OperatorChoice> ChoicesFor(OperatorId op, const PriceQuery& query) const;
  Chosen Choose(const PriceQuery& query) const;
  // `needs_all`: empty unless every layer can run.
  std::vector<LayerPrice> PriceLayers(const PriceQuery& query, bool needs_all) const;
  // nullopt: sums leave 62 bits.
  std::optional<LayerPrice> PriceOfLayer(std::size_t layer, const PriceQuery& query, const Chosen& chosen) const;
  LayerParts PartsOfLayer(std::size_t layer, const PriceQuery& query, const Chosen& chosen) const;
  double BytesOf(const std::vector<std::size_t>& tensors, const PriceQuery& query, const Chosen& chosen) const;

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  const OperatorLayers& layers_;
  const CostTable& costs_;
  LayerLayouts layouts_;
  double weight_versions_;
  double gradient_copies_;
  double optimizer_factor_;
  TrainingLink inside_;
  TrainingLink between_;
  int64_t tokens_per_sample_;
  // Tensors of BACKWARD operators are what goes back; else what goes back is as large as what went forward.
  bool has_gradients_;
  // Of some operator.
  bool has_given_times_;
  // By operator.
  std::vector<std::size_t> layer_of_;
  std::vector<Border> borders_;
  std::vector<int32_t> kinds_;
  // By kind: its first layer.
  std::vector<std::size_t> first_of_kind_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_OPERATORS_OPERATOR_PRICER_H_
