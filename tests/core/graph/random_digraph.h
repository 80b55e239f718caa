// Random graphs and what is true of them by the plainest means.
#ifndef PLANWRIGHT_TESTS_CORE_GRAPH_RANDOM_DIGRAPH_H_
#define PLANWRIGHT_TESTS_CORE_GRAPH_RANDOM_DIGRAPH_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/graph/digraph.h"

namespace planwright {

// Each ordered pair of vertices is an edge with the given probability; `acyclic`: only those from the smaller to the
// larger vertex.
inline Digraph RandomDigraph(int32_t num_vertices, double edge_probability, bool acyclic, RandomStream& random) {
  std::vector<Digraph::Edge> edges;
  for (int32_t from = 0; from < num_vertices; ++from) {
    for (int32_t to = acyclic ? from + 1 : 0; to < num_vertices; ++to) {
      if (from != to && random.Unit() < edge_probability) edges.emplace_back(from, to);
    }
  }
  return {num_vertices, std::move(edges)};
}

// reaches[a][b]: a path of at least one edge leads from a to b (Warshall).
inline std::vector<std::vector<bool>> ReachabilityOf(const Digraph& graph) {
  const auto n = static_cast<std::size_t>(graph.num_vertices());
  std::vector<std::vector<bool>> reaches(n, std::vector<bool>(n, false));
  for (const auto& [from, to] : graph.edges())
    reaches[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] = true;
  for (std::size_t via = 0; via < n; ++via) {
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) reaches[a][b] = reaches[a][b] || (reaches[a][via] && reaches[via][b]);
    }
  }
  return reaches;
}

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_CORE_GRAPH_RANDOM_DIGRAPH_H_
