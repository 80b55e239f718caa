// A graph without a transformer's shape as a chain of layers: runs of one linear order of its operators.
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

// Operators of one colocation group, with granularity LAYER those of one layer, are in one layer. The order in which
// the graph lists operators and tensors decides nothing: names do. `costs`: of the graph. REQUIRES: graph and problem
// are valid, `problem` is resolved and pins nothing, no operator is BACKWARD. O((operators + tensor ends) log
// operators).
OperatorLayers DivideIntoLayers(const OperatorGraph& graph, const ResolvedProblem& problem, const CostTable& costs);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_OPERATORS_OPERATOR_LAYERS_H_
