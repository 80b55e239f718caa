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

ReachabilityMatrix::ReachabilityMatrix(const Digraph& graph, const std::vector<int32_t>& order)
    : words_((static_cast<std::size_t>(graph.num_vertices()) + 63) / 64),
      bits_(static_cast<std::size_t>(graph.num_vertices()) * words_, 0) {
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    uint64_t* row = &bits_[static_cast<std::size_t>(*it) * words_];
    for (const int32_t successor : graph.successors(*it)) {
      const auto bit = static_cast<std::size_t>(successor);
      const std::span<const uint64_t> other = Row(successor);
      for (std::size_t w = 0; w < words_; ++w) row[w] |= other[w];
      row[bit / 64] |= uint64_t{1} << (bit % 64);
    }
  }
}

std::vector<int32_t> DepthFirstTopologicalOrder(const Digraph& graph, std::span<const int64_t> priority) {
  const auto n = static_cast<std::size_t>(graph.num_vertices());
  const auto taken_later = [&](int32_t a, int32_t b) {
    const int64_t pa = priority[static_cast<std::size_t>(a)];
    const int64_t pb = priority[static_cast<std::size_t>(b)];
    return pa != pb ? pa < pb : a > b;
  };
  std::vector<int32_t> missing(n);
  std::vector<int32_t> stack;
  for (int32_t v = 0; v < graph.num_vertices(); ++v) {
    missing[static_cast<std::size_t>(v)] = static_cast<int32_t>(graph.predecessors(v).size());
    if (missing[static_cast<std::size_t>(v)] == 0) stack.push_back(v);
  }
  std::sort(stack.begin(), stack.end(), taken_later);

  std::vector<int32_t> order;
  order.reserve(n);
  while (!stack.empty()) {
    const int32_t vertex = stack.back();
    stack.pop_back();
    order.push_back(vertex);
    InterruptionPoint(8 + 8 * graph.successors(vertex).size());
    const auto first_freed = static_cast<std::ptrdiff_t>(stack.size());
    for (const int32_t successor : graph.successors(vertex)) {
      if (--missing[static_cast<std::size_t>(successor)] == 0) stack.push_back(successor);
    }
    std::sort(stack.begin() + first_freed, stack.end(), taken_later);
  }
  return order;
}

std::vector<int32_t> AnyTopologicalOrder(const Digraph& graph) {
  return DepthFirstTopologicalOrder(graph, std::vector<int64_t>(static_cast<std::size_t>(graph.num_vertices()), 0));
}

}  // namespace planwright
