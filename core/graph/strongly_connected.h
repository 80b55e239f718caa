// Strongly connected components.
#ifndef PLANWRIGHT_CORE_GRAPH_STRONGLY_CONNECTED_H_
#define PLANWRIGHT_CORE_GRAPH_STRONGLY_CONNECTED_H_

#include <cstdint>
#include <vector>

#include "core/graph/digraph.h"

namespace planwright {

// The component of every vertex, components numbered 0, 1, ... by their smallest vertex. Tarjan's algorithm (1972)
// without recursion, O(n + m).
std::vector<int32_t> StronglyConnectedComponents(const Digraph& graph);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_GRAPH_STRONGLY_CONNECTED_H_
