// Linear orders of an acyclic graph.
#ifndef PLANWRIGHT_CORE_GRAPH_TOPOLOGICAL_ORDER_H_
#define PLANWRIGHT_CORE_GRAPH_TOPOLOGICAL_ORDER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/digraph.h"

namespace planwright {

// Vertices in topological order by Kahn's algorithm with a stack: the successor freed last comes next, which follows
// one branch to its end before it takes up another (device-placement 5.1.2). Of vertices free at the same time the one
// with the highest priority comes first; ties by the smaller vertex. Shorter than num_vertices if and only if there is
// a cycle. O(n + m log m). REQUIRES: one priority for each vertex.
std::vector<int32_t> DepthFirstTopologicalOrder(const Digraph& graph, std::span<const int64_t> priority);

// A topological order for those who need none in particular: all priorities are equal.
std::vector<int32_t> AnyTopologicalOrder(const Digraph& graph);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_GRAPH_TOPOLOGICAL_ORDER_H_
