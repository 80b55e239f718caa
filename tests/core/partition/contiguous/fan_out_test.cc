#include <gtest/gtest.h>

#include <stop_token>
#include <vector>

#include "core/partition/contiguous/fan_out_dp.h"
#include "tests/core/partition/block_oracle.h"

namespace planwright {
namespace {

// Block 0 makes a tensor; the blocks after it form a chain with the given times. Three devices.
BlockInstance ChainBehindAProducer(std::vector<int64_t> times, const std::vector<int32_t>& consumers) {
  const auto length = static_cast<int32_t>(times.size());
  BlockInstance instance = EmptyBlockInstance(length + 1);
  std::vector<Digraph::Edge> edges;
  for (int32_t block = 0; block < length; ++block) edges.emplace_back(block, block + 1);
  AddEdges(instance, edges);
  times.insert(times.begin(), 1);
  AddPool(instance, 3, times);
  instance.fan_outs.push_back({0, consumers, 5});
  return instance;
}

TEST(FanOutTest, ConsumersThatFillThreeStagesCostTheProducerOneTransferMoreThanTheNet) {
  // Two blocks of 10 fit under 25, three do not: the six need three stages.
  const BlockInstance instance = ChainBehindAProducer({10, 10, 10, 10, 10, 10}, {1, 2, 3, 4, 5, 6});
  const auto raised = WithFanOutCosts(instance, 25, {});
  ASSERT_TRUE(raised.has_value());
  EXPECT_EQ(raised->pools[0].time[0], 1 + 5);
  EXPECT_EQ(raised->pools[0].time[1], 10);
}

TEST(FanOutTest, LooserLoadsNeedFewerStages) {
  const BlockInstance instance = ChainBehindAProducer({10, 10, 10, 10, 10, 10}, {1, 2, 3, 4, 5, 6});
  // Three blocks a stage: two stages, of which one may be the producer's, which is what the net charges.
  EXPECT_FALSE(WithFanOutCosts(instance, 30, {}).has_value());
  // One block a stage.
  const auto raised = WithFanOutCosts(instance, 10, {});
  ASSERT_TRUE(raised.has_value());
  EXPECT_EQ(raised->pools[0].time[0], 1 + 4 * 5);
}

TEST(FanOutTest, StagesWithoutConsumersAreNoLargerThanTheGaps) {
  // Consumers of 1 with 9 between them. Greedily three consumers share a stage, which makes two stages; but two stages
  // of 25 and one gap of 9 do not hold the 61 of all blocks.
  const BlockInstance instance = ChainBehindAProducer({1, 9, 1, 9, 1, 9, 1, 9, 1, 9, 1, 9}, {1, 3, 5, 7, 9, 11});
  const auto raised = WithFanOutCosts(instance, 25, {});
  ASSERT_TRUE(raised.has_value());
  EXPECT_EQ(raised->pools[0].time[0], 1 + 5);
}

TEST(FanOutTest, ConsumersSideBySideMayShareAStage) {
  BlockInstance instance = EmptyBlockInstance(4);
  AddEdges(instance, {{0, 1}, {0, 2}, {0, 3}});
  AddPool(instance, 3, {1, 10, 10, 10});
  instance.fan_outs.push_back({0, {1, 2, 3}, 5});
  // Nothing forces blocks without an order apart; 31 of work on three devices of 11 leave no gap either.
  EXPECT_FALSE(WithFanOutCosts(instance, 40, {}).has_value());
}

TEST(FanOutTest, NothingIsRaisedWhereTransfersHideOrReplicasShareTheWork) {
  BlockInstance hidden = ChainBehindAProducer({10, 10, 10, 10, 10, 10}, {1, 2, 3, 4, 5, 6});
  BlockInstance shared = hidden;
  hidden.rule.overlap = Overlap::kOverlapped;
  shared.rule.replicates = true;
  EXPECT_FALSE(WithFanOutCosts(hidden, 10, {}).has_value());
  EXPECT_FALSE(WithFanOutCosts(shared, 10, {}).has_value());
}

TEST(FanOutTest, NothingIsRaisedAfterAStop) {
  const BlockInstance instance = ChainBehindAProducer({10, 10, 10, 10, 10, 10}, {1, 2, 3, 4, 5, 6});
  const std::stop_source stop;
  SolveLimits limits;
  limits.stop = stop.get_token();
  EXPECT_TRUE(WithFanOutCosts(instance, 25, limits).has_value());
  stop.request_stop();
  EXPECT_FALSE(WithFanOutCosts(instance, 25, limits).has_value());
}

TEST(FanOutTest, WithoutFanOutsThereIsNothingToRaise) {
  BlockInstance instance = ChainBehindAProducer({10, 10}, {1, 2});
  instance.fan_outs.clear();
  EXPECT_FALSE(WithFanOutCosts(instance, 5, {}).has_value());
}

}  // namespace
}  // namespace planwright
