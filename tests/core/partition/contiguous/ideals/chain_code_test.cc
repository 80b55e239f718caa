#include "core/partition/contiguous/ideals/chain_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/base/random.h"

namespace planwright {
namespace {

// `chains` disjoint paths of `length` vertices.
ChainLayout LayoutOf(int32_t chains, int32_t length) {
  std::vector<Digraph::Edge> edges;
  for (int32_t v = 0; v < chains * length; ++v) {
    if ((v + 1) % length != 0) edges.emplace_back(v, v + 1);
  }
  std::vector<int32_t> order(static_cast<std::size_t>(chains) * static_cast<std::size_t>(length));
  std::iota(order.begin(), order.end(), 0);
  return {Digraph(chains * length, edges), order};
}

template <std::size_t W>
ChainCode<W> RandomCode(const ChainLayout& layout, RandomStream& random) {
  ChainCode<W> code{};
  for (std::size_t lane = 0; lane < layout.num_lanes(); ++lane) {
    layout.Set(code, lane, random.Below(layout.lane(lane).size() + 1));
  }
  return code;
}

// Every lane operation against the same in plain numbers.
template <std::size_t W>
void ExpectNaiveOperations(const ChainLayout& layout) {
  ASSERT_LE(layout.num_words(), W);
  RandomStream random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto a = RandomCode<W>(layout, random);
    auto b = RandomCode<W>(layout, random);
    // Equal and nearly equal lanes are the hard ones.
    for (std::size_t lane = 0; lane < layout.num_lanes(); ++lane) {
      const uint64_t same = layout.Get(a, lane);
      if (random.Unit() < 0.6)
        layout.Set(b, lane, std::min<uint64_t>(same + random.Below(2), layout.lane(lane).size()));
    }
    const auto low = LaneMin(a, b, layout.top_bits());
    const auto high = LaneMax(a, b, layout.top_bits());
    bool is_subset = true;
    for (std::size_t lane = 0; lane < layout.num_lanes(); ++lane) {
      const uint64_t x = layout.Get(a, lane);
      const uint64_t y = layout.Get(b, lane);
      is_subset = is_subset && x <= y;
      ASSERT_EQ(layout.Get(low, lane), std::min(x, y));
      ASSERT_EQ(layout.Get(high, lane), std::max(x, y));
    }
    ASSERT_EQ(IsSubset(a, b, layout.top_bits()), is_subset);
    ASSERT_TRUE(IsSubset(low, high, layout.top_bits()));
    ASSERT_TRUE(IsSubset(a, layout.Full<W>(), layout.top_bits()));
  }
}

TEST(ChainCodeTest, ShortLanes) {
  const ChainLayout layout = LayoutOf(10, 127);
  EXPECT_EQ(layout.num_lanes(), 10U);
  EXPECT_EQ(layout.num_words(), 2U);
  EXPECT_EQ(layout.top_bits(), 0x8080808080808080ULL);
  ExpectNaiveOperations<2>(layout);
  ExpectNaiveOperations<4>(layout);
}

TEST(ChainCodeTest, LongLanes) {
  const ChainLayout layout = LayoutOf(2, 3000);
  EXPECT_EQ(layout.num_lanes(), 2U);
  EXPECT_EQ(layout.num_words(), 1U);
  EXPECT_EQ(layout.top_bits(), 0x8000800080008000ULL);
  ExpectNaiveOperations<1>(layout);
}

TEST(ChainCodeTest, CutsLongChainsIntoLanes) {
  // Two lanes of 8 bits take no more words than one of 16.
  const ChainLayout bytes = LayoutOf(1, 128);
  EXPECT_EQ(bytes.num_lanes(), 2U);
  EXPECT_EQ(bytes.lane(0).size(), 127U);
  EXPECT_EQ(bytes.lane_of(127), 1U);
  EXPECT_EQ(bytes.position_of(127), 0U);
  ExpectNaiveOperations<1>(bytes);

  const ChainLayout shorts = LayoutOf(1, 40'000);
  EXPECT_EQ(shorts.num_lanes(), 2U);
  EXPECT_EQ(shorts.lane(0).size(), 32'767U);
  EXPECT_EQ(shorts.position_of(32'767), 0U);
  ExpectNaiveOperations<1>(shorts);
}

TEST(ChainCodeTest, AddsBlocks) {
  const ChainLayout layout = LayoutOf(3, 4);
  ChainCode<1> code{};
  for (const int32_t block : {4, 5, 0}) {
    EXPECT_FALSE(layout.Contains(code, block));
    layout.Increment(code, block);
    EXPECT_TRUE(layout.Contains(code, block));
  }
  EXPECT_FALSE(layout.Contains(code, 1));
  EXPECT_FALSE(layout.Contains(code, 8));
  for (int32_t block = 0; block < 12; ++block) EXPECT_TRUE(layout.Contains(layout.Full<1>(), block));
}

}  // namespace
}  // namespace planwright
