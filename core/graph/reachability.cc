#include "core/graph/reachability.h"

namespace planwright {

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

}  // namespace planwright
