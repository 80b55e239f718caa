// Biconnected components: where a graph branches and joins again.
#ifndef PLANWRIGHT_CORE_GRAPH_BICONNECTED_H_
#define PLANWRIGHT_CORE_GRAPH_BICONNECTED_H_

#include <cstdint>
#include <vector>

#include "core/graph/digraph.h"

namespace planwright {

// The biconnected component of each of graph.edges(), directions ignored, numbered 0, 1, ...: two edges have the same
// label if and only if a simple cycle holds both. An edge and its reverse form a cycle of two.
// Hopcroft, Tarjan: Algorithm 447, 1973, without recursion. O(n + m).
std::vector<int32_t> BiconnectedComponents(const Digraph& graph);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_GRAPH_BICONNECTED_H_
