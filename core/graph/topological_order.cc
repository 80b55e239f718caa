#include "core/graph/topological_order.h"

#include <algorithm>

#include "core/base/interruption.h"

namespace planwright {

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
