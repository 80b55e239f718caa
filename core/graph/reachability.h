// Which vertices of an acyclic graph reach which.
#ifndef PLANWRIGHT_CORE_GRAPH_REACHABILITY_H_
#define PLANWRIGHT_CORE_GRAPH_REACHABILITY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/digraph.h"

namespace planwright {

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

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_GRAPH_REACHABILITY_H_
