// Any graph of operators as a chain of layers: consecutive groups of one linear order (docs/cost-model.md section 9).
//
// Pipelines that keep their memory in mind are planned on chains. What crosses from one layer to the next is everything
// that is alive there, so a good order keeps that small: several topological orders are made, and the one with the
// fewest bytes alive, summed over all places to cut, is taken. Operators that share a device (colocation unions; with
// granularity LAYER, operators of one layer) are in one layer of the chain, and so are operators that depend on each
// other both ways. A backward operator is in the layer of its union; a backward tensor goes against the chain. That
// holds for orphans as well: unions of backward operators alone stand in the reverse of the order of their tensors.
#ifndef PLANWRIGHT_CORE_GRAPH_CHAIN_H_
#define PLANWRIGHT_CORE_GRAPH_CHAIN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// Operators of each group, ascending.
using OperatorGroups = std::vector<std::vector<OperatorId>>;

// The operators that the workload keeps as layers of a chain, at most `max_layers`. Where there are more places to cut,
// the order is divided into about so many parts of equal weight, and in each the place with the fewest bytes alive is
// kept. `operator_weights`: of every operator, e.g. its time. Deterministic.
// REQUIRES: graph and problem are valid; max_layers >= 1; weights >= 0.
// O((operators + tensor ends) log operators).
OperatorGroups LinearizeGraph(const OperatorGraph& graph, const ResolvedProblem& problem,
                              std::span<const int64_t> operator_weights, std::size_t max_layers);

// The chain of LinearizeGraph first, then those of the other orders that are made, and of the order by distance from
// the graph's inputs: each once. At most four.
std::vector<OperatorGroups> LinearizeInEveryOrder(const OperatorGraph& graph, const ResolvedProblem& problem,
                                                  std::span<const int64_t> operator_weights, std::size_t max_layers);

// Consecutive runs of a linear order, cut where little crosses.
// For every position of an order the number 0, 1, ... of its run, ascending; at most `max_runs` runs, and about as many
// where there are enough positions. The order is divided into buckets of equal weight, and in each bucket the border
// that the least crosses is kept. `weights`: of each position; the mean weight is spread evenly on top, so that
// positions of no weight count for something. `borders[i]`: what crosses between the positions i - 1 and i.
// REQUIRES: max_runs >= 1; weights >= 0; one border for each position. O(positions).
std::vector<int32_t> RunsOfOrder(std::span<const double> weights, std::span<const int64_t> borders,
                                 std::size_t max_runs);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_GRAPH_CHAIN_H_
