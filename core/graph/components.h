// Strongly connected and biconnected components.
#ifndef PLANWRIGHT_CORE_GRAPH_COMPONENTS_H_
#define PLANWRIGHT_CORE_GRAPH_COMPONENTS_H_

#include <cstdint>
#include <vector>

#include "core/graph/digraph.h"

namespace planwright {

// The component of every vertex, components numbered 0, 1, ... by their smallest vertex. Tarjan's algorithm (1972)
// without recursion, O(n + m).
std::vector<int32_t> StronglyConnectedComponents(const Digraph& graph);

// Where a graph branches and joins again: the biconnected component of each of graph.edges(), directions ignored,
// numbered 0, 1, ...: two edges have the same label if and only if a simple cycle holds both. An edge and its reverse
// form a cycle of two. Hopcroft, Tarjan: Algorithm 447, 1973, without recursion. O(n + m).
std::vector<int32_t> BiconnectedComponents(const Digraph& graph);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_GRAPH_COMPONENTS_H_
