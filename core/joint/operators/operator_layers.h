// A graph without a transformer's shape as chains of layers: runs of linear orders of its operators.
//
// Whatever is alive between two runs goes from stage to stage, so every place between two operators can be cut; of more
// than kMostOperatorLayers places those with the fewest bytes alive are kept (core/graph/chain.h).
#ifndef PLANWRIGHT_CORE_JOINT_OPERATORS_OPERATOR_LAYERS_H_
#define PLANWRIGHT_CORE_JOINT_OPERATORS_OPERATOR_LAYERS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/cost/terms/cost_table.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// Searches over layers which are all unlike take seconds from some hundred on.
inline constexpr std::size_t kMostOperatorLayers = 96;

struct OperatorLayers {
  // The name of an operator of each that waits for no other of it.
  std::vector<std::string> labels;
  // Ascending.
  std::vector<std::vector<OperatorId>> operators;

  std::size_t size() const { return labels.size(); }
};

// Divides several linear orders, first that of the fewest bytes alive between neighbours (core/graph/chain.h); no two
// are the same. Operators of one colocation group, with granularity LAYER those of one layer, are in one layer. The
// order in which the graph lists operators and tensors decides nothing: names do. BACKWARD operators are in the layer
// of their forward operator; those without one stand where their tensors go back. `costs`: of the graph. REQUIRES:
// graph and problem are valid, `problem` is resolved and pins nothing. O((operators + tensor ends) log operators).
std::vector<OperatorLayers> DivideInEveryOrder(const OperatorGraph& graph, const ResolvedProblem& problem,
                                               const CostTable& costs);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_OPERATORS_OPERATOR_LAYERS_H_
