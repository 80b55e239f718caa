#include "core/graph/digraph.h"

#include <algorithm>
#include <numeric>

#include "core/base/interruption.h"

namespace planwright {
namespace {

// Rows of `values[edge]` grouped by `keys[edge]`, in edge order.
void FillRows(int32_t num_vertices, std::span<const Digraph::Edge> edges, bool by_source, std::vector<int32_t>& values,
              std::vector<int32_t>& start) {
  start.assign(static_cast<std::size_t>(num_vertices) + 1, 0);
  for (const auto& [from, to] : edges) ++start[static_cast<std::size_t>(by_source ? from : to) + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  values.resize(edges.size());
  InterruptionPoint(8 * edges.size());
  std::vector<int32_t> next(start.begin(), start.end() - 1);
  for (const auto& [from, to] : edges) {
    const int32_t key = by_source ? from : to;
    const int32_t position = next[static_cast<std::size_t>(key)]++;
    values[static_cast<std::size_t>(position)] = by_source ? to : from;
  }
}

}  // namespace

Digraph::Digraph(int32_t num_vertices, std::vector<Edge> edges)
    : num_vertices_(num_vertices), edges_(std::move(edges)) {
  std::erase_if(edges_, [](const Edge& edge) { return edge.first == edge.second; });
  std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) {
    InterruptionPoint();
    return a < b;
  });
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  FillRows(num_vertices, edges_, /*by_source=*/true, successors_, successor_start_);
  FillRows(num_vertices, edges_, /*by_source=*/false, predecessors_, predecessor_start_);
}

}  // namespace planwright
