// A directed graph over 0 .. n-1 in compressed rows, both directions. Immutable.
#ifndef PLANWRIGHT_CORE_GRAPH_DIGRAPH_H_
#define PLANWRIGHT_CORE_GRAPH_DIGRAPH_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace planwright {

class Digraph {
 public:
  using Edge = std::pair<int32_t, int32_t>;

  Digraph() = default;
  // Self loops and parallel edges are dropped; neighbours come out ascending. O(n + m log m).
  // REQUIRES: ends are in 0 .. num_vertices-1.
  Digraph(int32_t num_vertices, std::vector<Edge> edges);

  int32_t num_vertices() const { return num_vertices_; }
  // Distinct, ascending by (from, to).
  std::span<const Edge> edges() const { return edges_; }
  std::span<const int32_t> successors(int32_t vertex) const { return Row(successors_, successor_start_, vertex); }
  std::span<const int32_t> predecessors(int32_t vertex) const { return Row(predecessors_, predecessor_start_, vertex); }

 private:
  static std::span<const int32_t> Row(const std::vector<int32_t>& values, const std::vector<int32_t>& start,
                                      int32_t vertex) {
    const auto v = static_cast<std::size_t>(vertex);
    return std::span(values).subspan(static_cast<std::size_t>(start[v]),
                                     static_cast<std::size_t>(start[v + 1] - start[v]));
  }

  int32_t num_vertices_ = 0;
  std::vector<Edge> edges_;
  std::vector<int32_t> successors_;
  std::vector<int32_t> successor_start_;
  std::vector<int32_t> predecessors_;
  std::vector<int32_t> predecessor_start_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_GRAPH_DIGRAPH_H_
