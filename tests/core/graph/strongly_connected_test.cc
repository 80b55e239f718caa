#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "core/graph/components.h"
#include "tests/core/graph/random_digraph.h"

namespace planwright {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(StronglyConnectedComponentsTest, NumbersComponentsByTheirSmallestVertex) {
  EXPECT_THAT(StronglyConnectedComponents(Digraph(5, {{4, 1}, {1, 4}, {0, 3}, {2, 4}})), ElementsAre(0, 1, 2, 3, 1));
}

TEST(StronglyConnectedComponentsTest, EqualsMutualReachability) {
  RandomStream random(1);
  for (int i = 0; i < 300; ++i) {
    const auto n = static_cast<int32_t>(random.Between(1, 14));
    const Digraph graph = RandomDigraph(n, 2.0 * random.Unit() / n, /*acyclic=*/false, random);
    const auto reaches = ReachabilityOf(graph);
    const std::vector<int32_t> component = StronglyConnectedComponents(graph);
    int32_t next = 0;
    for (std::size_t a = 0; a < component.size(); ++a) {
      for (std::size_t b = 0; b < component.size(); ++b) {
        ASSERT_EQ(component[a] == component[b], a == b || (reaches[a][b] && reaches[b][a]));
      }
      ASSERT_LE(component[a], next);
      next = std::max(next, component[a] + 1);
    }
  }
}

TEST(StronglyConnectedComponentsTest, NeedsNoStackForLongCycles) {
  constexpr int32_t kSize = 500'000;
  std::vector<Digraph::Edge> edges;
  for (int32_t v = 0; v < kSize; ++v) edges.emplace_back(v, (v + 1) % kSize);
  EXPECT_THAT(StronglyConnectedComponents(Digraph(kSize, edges)), Each(0));
}

}  // namespace
}  // namespace planwright
