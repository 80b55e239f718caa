#include "core/graph/chain_cover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/base/random.h"
#include "core/graph/digraph.h"
#include "tests/core/graph/random_digraph.h"

namespace planwright {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;

std::vector<int32_t> NaturalOrder(int32_t size) {
  std::vector<int32_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Size of the largest set of vertices of which none reaches another, by looking at every set.
std::size_t WidthOf(const std::vector<std::vector<bool>>& reaches) {
  const std::size_t n = reaches.size();
  std::size_t width = 0;
  for (uint32_t set = 0; set < (uint32_t{1} << n); ++set) {
    bool is_antichain = true;
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) {
        if ((set >> a & 1U) != 0 && (set >> b & 1U) != 0 && reaches[a][b]) is_antichain = false;
      }
    }
    if (is_antichain) width = std::max(width, static_cast<std::size_t>(std::popcount(set)));
  }
  return width;
}

TEST(ChainCoverTest, IsAPartitionIntoAsFewChainsAsTheGraphIsWide) {
  RandomStream random(3);
  for (int i = 0; i < 150; ++i) {
    const auto n = static_cast<int32_t>(random.Between(1, 10));
    const Digraph graph = RandomDigraph(n, random.Unit() / 2, /*acyclic=*/true, random);
    const auto reaches = ReachabilityOf(graph);
    const auto chains = ChainCover(graph, NaturalOrder(n));
    std::vector<int> times_covered(static_cast<std::size_t>(n), 0);
    for (const std::vector<int32_t>& chain : chains) {
      ASSERT_FALSE(chain.empty());
      for (const int32_t vertex : chain) ++times_covered[static_cast<std::size_t>(vertex)];
      for (std::size_t j = 1; j < chain.size(); ++j) {
        ASSERT_TRUE(reaches[static_cast<std::size_t>(chain[j - 1])][static_cast<std::size_t>(chain[j])]);
      }
    }
    ASSERT_THAT(times_covered, Each(1));
    ASSERT_EQ(chains.size(), WidthOf(reaches));
  }
}

TEST(ChainCoverTest, UsesChainsThatAreNoPaths) {
  // Both sources reach both sinks through 2 only, which one path can hold: the other chain jumps over it.
  const Digraph graph(5, {{0, 2}, {1, 2}, {2, 3}, {2, 4}});
  EXPECT_EQ(ChainCover(graph, NaturalOrder(5)).size(), 2U);
}

TEST(ChainCoverTest, CoversLargeGraphsByPaths) {
  // Two paths, joined at every step.
  constexpr int32_t kLength = kMaxMinimumCover;
  std::vector<Digraph::Edge> edges;
  for (int32_t i = 0; i + 1 < kLength; ++i) {
    edges.emplace_back(2 * i, 2 * i + 2);
    edges.emplace_back(2 * i + 1, 2 * i + 3);
  }
  const Digraph graph(2 * kLength, edges);
  const auto chains = ChainCover(graph, NaturalOrder(2 * kLength));
  ASSERT_EQ(chains.size(), 2U);
  EXPECT_EQ(chains[0].size(), std::size_t{kLength});
  EXPECT_EQ(chains[1].size(), std::size_t{kLength});
  EXPECT_THAT(ChainCover(Digraph(), {}), IsEmpty());
}

}  // namespace
}  // namespace planwright
