// A directed graph over 0 .. n-1 in compressed rows, both directions. Immutable.
#ifndef PLANWRIGHT_CORE_GRAPH_DIGRAPH_H_
#define PLANWRIGHT_CORE_GRAPH_DIGRAPH_H_

#include <cstddef>
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

// Which vertices of an acyclic graph reach which.
// The transitive closure as a bit matrix. Immutable. n^2 / 8 bytes, O(n m / 64) time.
class ReachabilityMatrix {
 public:
  // `order` is a topological order of `graph`.
  ReachabilityMatrix(const Digraph& graph, const std::vector<int32_t>& order);

  // The vertices reachable from `vertex`, itself excluded: bit v % 64 of word v / 64.
  std::span<const uint64_t> Row(int32_t vertex) const {
    return std::span(bits_).subspan(static_cast<std::size_t>(vertex) * words_, words_);
  }
  bool Reaches(int32_t from, int32_t to) const {
    const auto bit = static_cast<std::size_t>(to);
    return ((Row(from)[bit / 64] >> (bit % 64)) & 1U) != 0;
  }

 private:
  std::size_t words_;
  std::vector<uint64_t> bits_;
};

// Vertices in topological order by Kahn's algorithm with a stack: the successor freed last comes next, which follows
// one branch to its end before it takes up another (device-placement 5.1.2). Of vertices free at the same time the one
// with the highest priority comes first; ties by the smaller vertex. Shorter than num_vertices if and only if there is
// a cycle. O(n + m log m). REQUIRES: one priority for each vertex.
std::vector<int32_t> DepthFirstTopologicalOrder(const Digraph& graph, std::span<const int64_t> priority);

// A topological order for those who need none in particular: all priorities are equal.
std::vector<int32_t> AnyTopologicalOrder(const Digraph& graph);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_GRAPH_DIGRAPH_H_
