#include "core/partition/contiguous/linearized_dp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/random.h"
#include "core/graph/digraph.h"
#include "core/partition/search/load_windows.h"
#include "tests/core/partition/block_oracle.h"

namespace planwright {
namespace {

std::vector<int32_t> RandomOrder(const BlockInstance& instance, RandomStream& random) {
  std::vector<int64_t> priority(instance.operators.size());
  for (int64_t& value : priority) value = random.Between(0, 1000);
  return DepthFirstTopologicalOrder(instance.precedence, priority);
}

std::optional<BlockSplit> Linearized(const BlockInstance& instance, const std::vector<int32_t>& order,
                                     int64_t max_load) {
  bool was_interrupted = true;
  const LoadWindows windows(instance);
  const auto split = LinearizedSplit(instance, windows, order, max_load, SolveLimits(), was_interrupted);
  EXPECT_FALSE(was_interrupted);
  return split;
}

TEST(LinearizedSplitTest, IsTheBestAlongTheOrder) {
  RandomStream random(5);
  int found = 0;
  for (int i = 0; i < 400; ++i) {
    const BlockInstance instance =
        MakeBlockInstance({.num_blocks = 7, .constrained = i % 2 == 1, .any_rule = i % 4 > 1}, random);
    const std::vector<int32_t> order = RandomOrder(instance, random);
    const std::optional<int64_t> optimum = NaiveOptimumAlong(instance, order);
    const auto split = Linearized(instance, order, TrivialLoadBound(instance));
    ASSERT_EQ(split.has_value(), optimum.has_value());
    if (!optimum.has_value()) continue;
    ++found;
    ASSERT_EQ(split->max_load, *optimum);
    ASSERT_EQ(FaultOf(instance, *split), "");
    // At most the load asked for, and no less than possible.
    ASSERT_TRUE(Linearized(instance, order, *optimum).has_value());
    if (*optimum == 0) continue;
    ASSERT_FALSE(Linearized(instance, order, *optimum - 1).has_value());
  }
  EXPECT_GT(found, 200);
}

TEST(LinearizedSplitTest, StopsWhenToldTo) {
  RandomStream random(6);
  const BlockInstance instance = MakeBlockInstance({}, random);
  const LoadWindows windows(instance);
  const std::vector<int32_t> order = RandomOrder(instance, random);
  const int64_t max_load = TrivialLoadBound(instance);
  bool was_interrupted = false;

  SolveLimits past_deadline;
  past_deadline.deadline = SolveLimits::Clock::now();
  EXPECT_FALSE(LinearizedSplit(instance, windows, order, max_load, past_deadline, was_interrupted).has_value());
  EXPECT_TRUE(was_interrupted);

  SolveLimits no_memory;
  no_memory.memory_bytes = 15;
  EXPECT_FALSE(LinearizedSplit(instance, windows, order, max_load, no_memory, was_interrupted).has_value());
  EXPECT_TRUE(was_interrupted);
}

TEST(GreedySplitTest, FitsWhereItFindsASplit) {
  RandomStream random(7);
  int found = 0;
  for (int i = 0; i < 400; ++i) {
    const BlockInstance instance = MakeBlockInstance({.num_blocks = 7, .constrained = i % 2 == 1}, random);
    const std::vector<int32_t> order = RandomOrder(instance, random);
    const auto split = GreedySplit(instance, order, 0);
    if (!split.has_value()) {
      // Without constraints everything fits on the first device.
      ASSERT_EQ(i % 2, 1);
      continue;
    }
    ++found;
    ASSERT_EQ(FaultOf(instance, *split), "");
    ASSERT_GE(split->max_load, *NaiveOptimumAlong(instance, order));
  }
  EXPECT_GT(found, 250);
}

TEST(GreedySplitTest, BisectsToTheBalancedSplitOfAChain) {
  BlockInstance instance = EmptyBlockInstance(6);
  AddEdges(instance, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}});
  AddPool(instance, 3, {1, 5, 2, 4, 3, 3});
  const auto split = GreedySplit(instance, {0, 1, 2, 3, 4, 5}, 0);
  ASSERT_TRUE(split.has_value());
  EXPECT_EQ(split->max_load, 6);
  EXPECT_EQ(split->stages.size(), 3U);
}

TEST(RedivideAlongOrdersTest, NeverWorsensAndImprovesBadSplits) {
  RandomStream random(8);
  int improved = 0;
  for (int i = 0; i < 150; ++i) {
    const BlockInstance instance = MakeBlockInstance({.num_blocks = 8, .constrained = i % 2 == 1}, random);
    const LoadWindows windows(instance);
    const auto start = GreedySplit(instance, RandomOrder(instance, random), 0);
    if (!start.has_value()) continue;
    RandomStream stream(1);
    int64_t rounds = 0;
    const BlockSplit better = RedivideAlongOrders(instance, windows, *start, 0, 4, SolveLimits(), stream, rounds);
    ASSERT_EQ(FaultOf(instance, better), "");
    ASSERT_LE(better.max_load, start->max_load);
    ASSERT_GE(better.max_load, *NaiveOptimum(instance));
    if (better.max_load < start->max_load) ++improved;
    // The same stream takes the same way.
    RandomStream again(1);
    int64_t rounds_again = 0;
    ASSERT_EQ(RedivideAlongOrders(instance, windows, *start, 0, 4, SolveLimits(), again, rounds_again).max_load,
              better.max_load);
    ASSERT_EQ(rounds, rounds_again);
  }
  EXPECT_GT(improved, 30);
}

TEST(RedivideAlongOrdersTest, EndsAtTheBoundAndByTheLimits) {
  RandomStream random(9);
  const BlockInstance instance = MakeBlockInstance({.num_blocks = 8}, random);
  const LoadWindows windows(instance);
  const BlockSplit start = *GreedySplit(instance, RandomOrder(instance, random), 0);
  int64_t rounds = 0;
  RedivideAlongOrders(instance, windows, start, start.max_load, 4, SolveLimits(), random, rounds);
  EXPECT_EQ(rounds, 0);
  SolveLimits past_deadline;
  past_deadline.deadline = SolveLimits::Clock::now();
  EXPECT_EQ(RedivideAlongOrders(instance, windows, start, 0, 1000, past_deadline, random, rounds).max_load,
            start.max_load);
  EXPECT_EQ(rounds, 0);
}

}  // namespace
}  // namespace planwright
