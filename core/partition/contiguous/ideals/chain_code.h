// Ideals of the block graph as one small number per chain of a chain cover.
//
// The block graph is covered by chains; an ideal holds a prefix of every chain, so it is the tuple of prefix lengths.
// The tuple is packed into 64-bit words as lanes of 8 or 16 bits whose top bit stays 0, which makes "is a subset of"
// one subtraction per word: in (I | H) - I', H the top bits, the top bit of a lane survives if and only if that lane of
// I is at least that of I'. Chains longer than a lane can count are cut into several lanes.
#ifndef PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_IDEALS_CHAIN_CODE_H_
#define PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_IDEALS_CHAIN_CODE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/graph/digraph.h"

namespace planwright {

// A packed ideal. `W` words.
template <std::size_t W>
using ChainCode = std::array<uint64_t, W>;

// Where each block sits, and the lane operations. Immutable after construction.
class ChainLayout {
 public:
  // `order` is a topological order of `graph`.
  ChainLayout(const Digraph& graph, const std::vector<int32_t>& order);

  // 64-bit words that a code needs.
  std::size_t num_words() const { return (num_lanes() + LastLane()) >> lanes_log2_; }
  std::size_t num_lanes() const { return lanes_.size(); }
  // Blocks of a lane in chain order.
  const std::vector<int32_t>& lane(std::size_t lane) const { return lanes_[lane]; }
  std::size_t lane_of(int32_t block) const { return lane_of_[static_cast<std::size_t>(block)]; }
  // Position of `block` in its lane, from 0.
  uint64_t position_of(int32_t block) const { return position_of_[static_cast<std::size_t>(block)]; }
  // The top bit of every lane of a word.
  uint64_t top_bits() const { return top_bits_; }

  template <std::size_t W>
  uint64_t Get(const ChainCode<W>& code, std::size_t lane) const {
    return (code[lane >> lanes_log2_] >> Shift(lane)) & lane_mask_;
  }
  template <std::size_t W>
  void Set(ChainCode<W>& code, std::size_t lane, uint64_t value) const {
    uint64_t& word = code[lane >> lanes_log2_];
    word = (word & ~(lane_mask_ << Shift(lane))) | (value << Shift(lane));
  }
  template <std::size_t W>
  bool Contains(const ChainCode<W>& code, int32_t block) const {
    return Get(code, lane_of(block)) > position_of(block);
  }
  // The blocks of `to` that are not in `from`, ascending. O(blocks).
  template <std::size_t W>
  std::vector<int32_t> BlocksBetween(const ChainCode<W>& from, const ChainCode<W>& to) const {
    std::vector<int32_t> blocks;
    for (int32_t block = 0; static_cast<std::size_t>(block) < lane_of_.size(); ++block) {
      if (Contains(to, block) && !Contains(from, block)) blocks.push_back(block);
    }
    return blocks;
  }
  // Adds `block`. REQUIRES: the code holds exactly its predecessors in the lane.
  template <std::size_t W>
  void Increment(ChainCode<W>& code, int32_t block) const {
    const std::size_t lane = lane_of(block);
    code[lane >> lanes_log2_] += uint64_t{1} << Shift(lane);
  }
  // Every lane at its largest possible value, the length of its part of the chain.
  template <std::size_t W>
  ChainCode<W> Full() const {
    ChainCode<W> code{};
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) Set(code, lane, lanes_[lane].size());
    return code;
  }

 private:
  // The last lane of a word.
  std::size_t LastLane() const { return (std::size_t{1} << lanes_log2_) - 1; }
  std::size_t Shift(std::size_t lane) const { return (lane & LastLane()) << lane_bits_log2_; }

  std::vector<std::vector<int32_t>> lanes_;
  std::vector<std::size_t> lane_of_;
  std::vector<uint64_t> position_of_;
  // A word holds 8 lanes of 8 bits each or 4 of 16: so the innermost loops shift instead of dividing.
  std::size_t lane_bits_log2_ = 3;
  std::size_t lanes_log2_ = 3;
  uint64_t lane_mask_ = 0xFF;
  uint64_t top_bits_ = 0;
};

// run.operator()<W>() with the fewest words, 1, 2, 4, 8 or 16, that hold `num_words`; nullopt: more than kMaxWords.
template <std::size_t kMaxWords, std::size_t W = 1, typename Run>
auto WithWords(std::size_t num_words, const Run& run) -> std::optional<decltype(run.template operator()<1>())> {
  if constexpr (W > kMaxWords) {
    return std::nullopt;
  } else {
    return num_words <= W ? run.template operator()<W>() : WithWords<kMaxWords, 2 * W>(num_words, run);
  }
}

// a is a subset of b: every lane of a is at most that of b.
template <std::size_t W>
inline bool IsSubset(const ChainCode<W>& a, const ChainCode<W>& b, uint64_t top_bits) {
  uint64_t survivors = top_bits;
  for (std::size_t w = 0; w < W; ++w) survivors &= (b[w] | top_bits) - a[w];
  return survivors == top_bits;
}

// A mask with all bits of the lanes where a <= b.
inline uint64_t LanesAtMost(uint64_t a, uint64_t b, uint64_t top_bits) {
  const uint64_t survivors = ((b | top_bits) - a) & top_bits;
  // Spreads each surviving top bit over its lane: 0x80 - 0x01 fills the bits below it.
  return survivors | (survivors - (survivors >> (top_bits == 0x8080808080808080ULL ? 7U : 15U)));
}

// Lane-wise minimum and maximum.
template <std::size_t W>
inline ChainCode<W> LaneMin(const ChainCode<W>& a, const ChainCode<W>& b, uint64_t top_bits) {
  ChainCode<W> result;
  for (std::size_t w = 0; w < W; ++w) {
    const uint64_t mask = LanesAtMost(a[w], b[w], top_bits);
    result[w] = (a[w] & mask) | (b[w] & ~mask);
  }
  return result;
}
template <std::size_t W>
inline ChainCode<W> LaneMax(const ChainCode<W>& a, const ChainCode<W>& b, uint64_t top_bits) {
  ChainCode<W> result;
  for (std::size_t w = 0; w < W; ++w) {
    const uint64_t mask = LanesAtMost(a[w], b[w], top_bits);
    result[w] = (b[w] & mask) | (a[w] & ~mask);
  }
  return result;
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_IDEALS_CHAIN_CODE_H_
