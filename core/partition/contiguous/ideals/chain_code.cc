#include "core/partition/contiguous/ideals/chain_code.h"

#include <algorithm>

#include "core/graph/chain_cover.h"

namespace planwright {
namespace {

constexpr std::size_t kMaxShortLane = 127;
constexpr std::size_t kMaxLongLane = 32767;

std::size_t LanesNeeded(const std::vector<std::vector<int32_t>>& chains, std::size_t max_length) {
  std::size_t lanes = 0;
  for (const auto& chain : chains) lanes += (chain.size() + max_length - 1) / max_length;
  return lanes;
}

}  // namespace

ChainLayout::ChainLayout(const Digraph& graph, const std::vector<int32_t>& order)
    : lane_of_(order.size()), position_of_(order.size()) {
  const std::vector<std::vector<int32_t>> chains = ChainCover(graph, order);
  const std::size_t short_words = (LanesNeeded(chains, kMaxShortLane) + 7) / 8;
  const std::size_t long_words = (LanesNeeded(chains, kMaxLongLane) + 3) / 4;
  const bool use_short = short_words <= long_words;
  const std::size_t max_length = use_short ? kMaxShortLane : kMaxLongLane;
  lane_bits_log2_ = use_short ? 3 : 4;
  lanes_log2_ = use_short ? 3 : 2;
  lane_mask_ = use_short ? 0xFF : 0xFFFF;
  top_bits_ = use_short ? 0x8080808080808080ULL : 0x8000800080008000ULL;
  for (const auto& chain : chains) {
    for (std::size_t begin = 0; begin < chain.size(); begin += max_length) {
      const std::size_t end = std::min(chain.size(), begin + max_length);
      for (std::size_t i = begin; i < end; ++i) {
        lane_of_[static_cast<std::size_t>(chain[i])] = lanes_.size();
        position_of_[static_cast<std::size_t>(chain[i])] = i - begin;
      }
      lanes_.emplace_back(chain.begin() + static_cast<std::ptrdiff_t>(begin),
                          chain.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }
}

}  // namespace planwright
