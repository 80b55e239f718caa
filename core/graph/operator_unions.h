// Which operators must share a stage, and which must come before which (docs/cost-model.md section 8).
#ifndef PLANWRIGHT_CORE_GRAPH_OPERATOR_UNIONS_H_
#define PLANWRIGHT_CORE_GRAPH_OPERATOR_UNIONS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/digraph.h"
#include "core/model/colocation.h"  // IWYU pragma: export
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// Number of labels 0, 1, ... in use.
int32_t CountLabels(const std::vector<int32_t>& labels);

// Every operator that reads a tensor behind the one that produces it, in whatever pass. O(tensor ends log).
Digraph Dependencies(const OperatorGraph& graph);

// Which backward tensors fix an order, against their direction: those where the union of either end is an orphan, i.e.
// holds no forward operator, or all of them, as where backward passes run through the stages in reverse. Then gradients
// that are listed along their activations (ListsGradientsForward) fix the order along their direction.
enum class MirroredTensors { kOfOrphans, kAll };

// Pairs of operators whose stages stand in this order in a pipeline: from the producer of a forward tensor to its
// consumers, and against the backward tensors that are `mirrored`. `union_of` as of ColocationUnions. Acyclic on
// operators. O(tensor ends).
std::vector<Digraph::Edge> OrderedOperators(const OperatorGraph& graph, const std::vector<int32_t>& union_of,
                                            MirroredTensors mirrored = MirroredTensors::kOfOrphans);

// Operators that are in one stage of every pipeline: for granularity LAYER those of one layer and of layers that depend
// on each other both ways; otherwise each is alone. Labels 0, 1, ... by smallest operator, kDropped. O(tensor ends).
std::vector<int32_t> StageAtoms(const OperatorGraph& graph, const ResolvedProblem& problem);

// By operator: which of `groups` holds it; kDropped: none. No two of them hold the same.
std::vector<int32_t> GroupOfEach(const std::vector<std::vector<OperatorId>>& groups, std::size_t num_operators);

// Labels of the operators that read `tensor`, ascending, but for those of its producer and of dropped operators.
std::vector<int32_t> OtherReaders(const Tensor& tensor, const std::vector<int32_t>& label_of);

// `edges` between the labels of their ends.
std::vector<Digraph::Edge> MapEdges(std::span<const Digraph::Edge> edges, const std::vector<int32_t>& labels);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_GRAPH_OPERATOR_UNIONS_H_
