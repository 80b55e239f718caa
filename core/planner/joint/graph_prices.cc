#include "core/planner/joint/graph_prices.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "core/base/known.h"
#include "core/joint/cost/measured_pricer.h"
#include "core/joint/cost/pair_links.h"
#include "core/joint/cost/transformer_pricer.h"
#include "core/joint/operators/operator_pricer.h"

namespace planwright {
namespace {

// Returns the link between stages anywhere. Where pairs have links of their own only those of a placed plan count.
TrainingLink FurthestOf(const TrainingCluster& training) {
  return training.pairs == nullptr ? training.between : kNoLink;
}

}  // namespace

GraphPrices::GraphPrices(const ResolvedInput& input, const TrainingCluster& training, OperatorLayers layers)
    : given_(input.graph), layers_(std::move(layers)) {
  if (!input.graph.transformer.has_value()) {
    PriceOperators(input.cluster, input.problem, training);
    return;
  }
  pricer_ = std::make_unique<TransformerPricer>(*input.graph.transformer, input.cluster, training.inside,
                                                FurthestOf(training));
  if (input.graph.transformer->measured_layers.empty()) return;
  computed_ = std::move(pricer_);
  const bool has_nodes = training.pairs == nullptr;
  pricer_ = std::make_unique<MeasuredPricer>(*computed_, input.graph.transformer->measured_layers, input.cluster,
                                             has_nodes ? std::nullopt : std::optional(training.inside));
}

void GraphPrices::PriceOperators(const Cluster& cluster, const ResolvedProblem& problem,
                                 const TrainingCluster& training) {
  costs_ = std::make_unique<CostTable>(given_, cluster, Workload::kTraining);
  labelled_ = std::make_unique<OperatorGraph>(given_);
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    for (const OperatorId op : layers_.operators[layer]) labelled_->operators[op.index()].layer = layers_.labels[layer];
  }
  pricer_ =
      std::make_unique<OperatorPricer>(*labelled_, cluster, layers_, *costs_, problem.memory_model, training.inside,
                                       FurthestOf(training), Known(problem.joint).tokens_per_sample.value_or(0));
}

std::vector<OperatorLayers> DivisionsOf(const ResolvedInput& input) {
  if (input.graph.transformer.has_value()) return {OperatorLayers()};
  return DivideInEveryOrder(input.graph, input.problem, CostTable(input.graph, input.cluster, Workload::kTraining));
}

}  // namespace planwright
