#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "core/graph/digraph.h"
#include "tests/core/graph/random_digraph.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(DepthFirstTopologicalOrderTest, FollowsOneBranchToItsEnd) {
  // Two branches 1 -> 3 and 2 -> 4 between 0 and 5.
  const Digraph graph(6, {{0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 5}});
  EXPECT_THAT(DepthFirstTopologicalOrder(graph, std::vector<int64_t>(6, 0)), ElementsAre(0, 1, 3, 2, 4, 5));
}

TEST(DepthFirstTopologicalOrderTest, PrefersTheHigherPriority) {
  const Digraph graph(6, {{0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 5}});
  EXPECT_THAT(DepthFirstTopologicalOrder(graph, std::vector<int64_t>{0, 1, 2, 9, 0, 9}), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(DepthFirstTopologicalOrder(Digraph(3, {}), std::vector<int64_t>{-1, 7, 3}), ElementsAre(1, 2, 0));
}

TEST(DepthFirstTopologicalOrderTest, IsShorterWhereThereIsACycle) {
  EXPECT_THAT(DepthFirstTopologicalOrder(Digraph(4, {{0, 1}, {1, 2}, {2, 1}, {2, 3}}), std::vector<int64_t>(4, 0)),
              ElementsAre(0));
  EXPECT_THAT(DepthFirstTopologicalOrder(Digraph(0, {}), {}), IsEmpty());
}

TEST(DepthFirstTopologicalOrderTest, RespectsEveryEdgeOfRandomGraphs) {
  RandomStream random(2);
  for (int i = 0; i < 200; ++i) {
    const auto n = static_cast<int32_t>(random.Between(1, 30));
    const Digraph graph = RandomDigraph(n, random.Unit() / 4, /*acyclic=*/true, random);
    std::vector<int64_t> priority(static_cast<std::size_t>(n));
    for (int64_t& value : priority) value = random.Between(-3, 3);
    const std::vector<int32_t> order = DepthFirstTopologicalOrder(graph, priority);
    ASSERT_EQ(order.size(), priority.size());
    std::vector<std::size_t> position(order.size(), order.size());
    for (std::size_t p = 0; p < order.size(); ++p) position[static_cast<std::size_t>(order[p])] = p;
    for (const auto& [from, to] : graph.edges()) {
      ASSERT_LT(position[static_cast<std::size_t>(from)], position[static_cast<std::size_t>(to)]);
    }
  }
}

}  // namespace
}  // namespace planwright
