#include "core/cost/chain/chain_sums.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

namespace planwright {

ChainSums::ChainSums(const Chain& chain)
    : forward_(1), backward_(1), static_bytes_(1), stored_bytes_(1), has_backward_(chain.has_backward) {
  std::vector<int64_t> workspace;
  for (const ChainLayer& layer : chain.layers) {
    forward_.push_back(forward_.back() + layer.forward);
    backward_.push_back(backward_.back() + layer.backward);
    static_bytes_.push_back(static_bytes_.back() + layer.static_bytes);
    stored_bytes_.push_back(stored_bytes_.back() + layer.stored_bytes);
    received_bytes_.push_back(layer.received_bytes);
    workspace.push_back(layer.workspace_bytes);
  }
  workspace_bytes_.push_back(std::move(workspace));
  for (std::size_t half = 1; 2 * half <= chain.layers.size(); half *= 2) {
    const std::vector<int64_t>& halves = workspace_bytes_.back();
    std::vector<int64_t> maxima;
    for (std::size_t i = 0; i + half < halves.size(); ++i) maxima.push_back(std::max(halves[i], halves[i + half]));
    workspace_bytes_.push_back(std::move(maxima));
  }
}

int64_t ChainSums::workspace_bytes(int32_t first, int32_t last) const {
  const std::size_t count = Index(last - first) + 1;
  const auto power = static_cast<std::size_t>(std::bit_width(count) - 1);
  const std::vector<int64_t>& maxima = workspace_bytes_[power];
  return std::max(maxima[Index(first)], maxima[Index(last) + 1 - (std::size_t{1} << power)]);
}

}  // namespace planwright
