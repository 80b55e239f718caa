#include "core/verify/joint/step_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace planwright::verify {
namespace {

using ::testing::ElementsAre;

std::vector<StepRun> Alike(int64_t runs, StepRun run) { return std::vector(static_cast<std::size_t>(runs), run); }

TEST(EndsOfStepTest, GpipeTurnsAroundBehindTheLastForwardPass) {
  EXPECT_THAT(EndsOfStep(Alike(2, {10, 20, 0}), PipelineOrder::kGpipe, 2, 3), ElementsAre(120, 100));
}

TEST(EndsOfStepTest, OneFOneBTakesAsLongAsGpipe) {
  EXPECT_THAT(EndsOfStep(Alike(2, {10, 20, 0}), PipelineOrder::kOneFOneB, 2, 3), ElementsAre(120, 100));
}

// The last forward pass of the slow device ends at 100, and its backward passes take 90.
TEST(EndsOfStepTest, ASlowStageKeepsTheOthersWaiting) {
  EXPECT_THAT(EndsOfStep({{10, 10, 0}, {30, 30, 0}}, PipelineOrder::kGpipe, 2, 3), ElementsAre(200, 190));
}

TEST(EndsOfStepTest, ZeroBubbleFillsTheEndWithGradientsOfWeights) {
  EXPECT_THAT(EndsOfStep(Alike(2, {10, 10, 10}), PipelineOrder::kZeroBubble, 2, 2), ElementsAre(70, 70));
}

TEST(EndsOfStepTest, InterleavedDevicesHaveRunsInTurn) {
  EXPECT_THAT(EndsOfStep(Alike(4, {10, 10, 0}), PipelineOrder::kInterleaved, 2, 2), ElementsAre(100, 90));
}

TEST(EndsOfStepTest, OneDeviceDoesOnePassAfterTheOther) {
  EXPECT_THAT(EndsOfStep(Alike(1, {10, 20, 5}), PipelineOrder::kZeroBubble, 1, 4), ElementsAre(4 * 35));
}

TEST(ClosedFormTest, IsThatOfTheOrder) {
  const StepSums sums{.sum_ps = 90, .longest_ps = 40, .most = {10, 20, 5}};
  EXPECT_EQ(ClosedFormPs(sums, PipelineOrder::kOneFOneB, 2, 3), 90 + 2 * 40);
  EXPECT_EQ(ClosedFormPs(sums, PipelineOrder::kGpipe, 2, 3), 90 + 2 * 30);
  EXPECT_EQ(ClosedFormPs(sums, PipelineOrder::kZeroBubble, 2, 3), 3 * 35 + 25);
}

TEST(ClosedFormTest, TheLongestPartOfAZeroBubbleStepCounts) {
  EXPECT_EQ(ClosedFormPs({.most = {50, 20, 60}}, PipelineOrder::kZeroBubble, 3, 1), 130 + 2 * 50);
  EXPECT_EQ(ClosedFormPs({.most = {20, 50, 60}}, PipelineOrder::kZeroBubble, 3, 1), 130 + 2 * 50);
}

TEST(ClosedFormTest, NeverExceedsItsLimit) {
  const int64_t limit = int64_t{1} << 62;
  const StepSums sums{.sum_ps = limit, .longest_ps = limit, .most = {limit, limit, limit}};
  for (const PipelineOrder order : {PipelineOrder::kOneFOneB, PipelineOrder::kGpipe, PipelineOrder::kZeroBubble}) {
    EXPECT_EQ(ClosedFormPs(sums, order, 8, 1'000), limit);
  }
  EXPECT_EQ(SlotsPs(Alike(8, {limit, limit, 0}), 2, 1'000), limit);
}

TEST(SlotsTest, ASlotIsAsLongAsItsLongestPass) {
  // Four slots and one more, of 10 ps forward and 20 back, for two micro-batches; four for two further ones.
  EXPECT_EQ(SlotsPs(Alike(4, {10, 20, 0}), 2, 2), 5 * 30);
  EXPECT_EQ(SlotsPs(Alike(4, {10, 20, 0}), 2, 4), 9 * 30);
  // A run of 25 ps is in two slots; a backward pass of the last run in the first two.
  EXPECT_EQ(SlotsPs({{10, 10, 0}, {25, 10, 0}, {10, 10, 0}, {10, 40, 0}}, 2, 2),
            (10 + 25 + 25 + 10 + 10) + (40 + 40 + 30));
  // With two micro-batches more the last run lies beside the first one as well.
  EXPECT_EQ(SlotsPs({{10, 10, 0}, {10, 10, 0}, {10, 10, 0}, {40, 10, 0}}, 2, 4), 9 * 10 + 9 * 10 + 4 * 30);
}

}  // namespace
}  // namespace planwright::verify
