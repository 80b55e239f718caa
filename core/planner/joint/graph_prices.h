// Who prices the layers of a request's graph: by the shape of its transformer, else by its operators.
#ifndef PLANWRIGHT_CORE_PLANNER_JOINT_GRAPH_PRICES_H_
#define PLANWRIGHT_CORE_PLANNER_JOINT_GRAPH_PRICES_H_

#include <memory>
#include <vector>

#include "core/cost/terms/cost_table.h"
#include "core/joint/cost/layer_pricer.h"
#include "core/joint/cost/training_cluster.h"
#include "core/joint/operators/operator_layers.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

class GraphPrices {
 public:
  // The graph and the cluster of `input`, and `training`, outlive it. `layers`: those of DivisionsOf; none for a
  // transformer.
  GraphPrices(const ResolvedInput& input, const TrainingCluster& training, OperatorLayers layers);

  const LayerPricer& pricer() const { return *pricer_; }
  // The given one; without a transformer, the operators of each layer have its label.
  const OperatorGraph& graph() const { return labelled_ == nullptr ? given_ : *labelled_; }

 private:
  void PriceOperators(const Cluster& cluster, const ResolvedProblem& problem, const TrainingCluster& training);

  const OperatorGraph& given_;
  std::unique_ptr<OperatorGraph> labelled_;
  std::unique_ptr<const CostTable> costs_;
  OperatorLayers layers_;
  // What `pricer_` corrects; nullptr: nothing.
  std::unique_ptr<const LayerPricer> computed_;
  std::unique_ptr<const LayerPricer> pricer_;
};

// The divisions of the graph into layers that are looked at, first the one that is usually best; of a transformer's
// shape one, which is empty.
std::vector<OperatorLayers> DivisionsOf(const ResolvedInput& input);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_JOINT_GRAPH_PRICES_H_
