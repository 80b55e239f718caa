#include "core/simulate/dynamic_simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/schedule/pipelines.h"
#include "tests/core/simulate/small_lists.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;

std::vector<int64_t> Ends(const TaskList& list, Contention contention) {
  return Counts(SimulateTasks(list, contention).ends);
}

TEST(DynamicSimulatorTest, TwoEqualTransfersOnOneLinkTakeTwiceTheTime) {
  const TaskList list = MakeList({kLink}, {{0, 10}, {0, 10}}, {});
  EXPECT_THAT(Ends(list, Contention::kFairShare), ElementsAre(20, 20));
  EXPECT_THAT(Ends(list, Contention::kExclusive), ElementsAre(10, 20));
}

TEST(DynamicSimulatorTest, TransfersShareALinkWhileTheyOverlap) {
  // The second begins when the first has done 6 of 10; both advance at half speed until the first ends at 14.
  const TaskList list = MakeList({kLink, kDevice}, {{0, 10}, {1, 6}, {0, 10}}, {{1, 2}});
  EXPECT_THAT(Ends(list, Contention::kFairShare), ElementsAre(14, 6, 20));
  EXPECT_THAT(Ends(list, Contention::kExclusive), ElementsAre(10, 6, 20));
}

TEST(DynamicSimulatorTest, TransfersOfDifferentLengthLeaveTheirShareToTheRest) {
  const TaskList list = MakeList({kLink}, {{0, 3}, {0, 6}, {0, 9}}, {});
  EXPECT_THAT(Ends(list, Contention::kFairShare), ElementsAre(9, 15, 18));
}

TEST(DynamicSimulatorTest, ADeviceNeverSharesItsTime) {
  const TaskList list = MakeList({kDevice}, {{0, 10}, {0, 10}}, {});
  EXPECT_THAT(Ends(list, Contention::kFairShare), ElementsAre(10, 20));
}

TEST(DynamicSimulatorTest, WithoutAnOrderTheTaskThatHasBeenReadyForLongestIsNext) {
  // Task 2 is ready at 1, task 1 at 2; both find the device busy until 5.
  const TaskList list =
      MakeList({kDevice, kDevice, kDevice}, {{0, 5}, {0, 1}, {0, 1}, {1, 2}, {2, 1}}, {{3, 1}, {4, 2}});
  EXPECT_THAT(Ends(list, Contention::kExclusive), ElementsAre(5, 7, 6, 2, 1));
}

TEST(DynamicSimulatorTest, AnOrderIsKeptEvenWhereItWaits) {
  TaskList list = MakeList({kDevice, kDevice}, {{0, 5}, {0, 1}, {1, 4}}, {{2, 0}});
  list.order = {{0, 1}, {2}};
  EXPECT_THAT(Ends(list, Contention::kExclusive), ElementsAre(9, 10, 4));
}

TEST(DynamicSimulatorTest, RunsAgainAndFindsTheSame) {
  const TaskList list =
      *BuildTaskList(MakePipeline({.stages = 4, .send = 9, .overlap = Overlap::kOverlapped}),
                     {.kind = ScheduleKind::kOneFOneB, .micro_batches = 9, .recompute = true, .order = {}});
  for (const Contention contention : {Contention::kExclusive, Contention::kFairShare}) {
    const Timeline first = SimulateTasks(list, contention);
    const Timeline second = SimulateTasks(list, contention);
    EXPECT_EQ(first.ends, second.ends);
    EXPECT_EQ(first.sequence, second.sequence);
    EXPECT_EQ(first.sequence.size(), list.tasks.size());
  }
}

TEST(DynamicSimulatorTest, TasksThatTakeNoTimeRunInOneMoment) {
  const TaskList list =
      *BuildTaskList(MakePipeline({.stages = 4, .forward = 0, .backward = 0}),
                     {.kind = ScheduleKind::kGpipe, .micro_batches = 5, .recompute = false, .order = {}});
  for (const Contention contention : {Contention::kExclusive, Contention::kFairShare}) {
    EXPECT_EQ(Simulate(list, contention).step_time, Picoseconds(0));
    EXPECT_EQ(Simulate(list, contention).bubble_fraction, 0);
  }
}

// Work is neither lost nor made: whatever shares the link, it is busy for the sum of what crosses.
TEST(DynamicSimulatorTest, ASharedLinkIsBusyForAllThatCrossesIt) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    TaskList list = RandomOrderedList(seed, 60);
    list.order[3].clear();
    list.order[4].clear();
    const SimulationReport exclusive = Simulate(list, Contention::kExclusive);
    const SimulationReport shared = Simulate(list, Contention::kFairShare);
    for (const std::size_t link : {3, 4}) {
      EXPECT_EQ(shared.resources[link].tasks, exclusive.resources[link].tasks);
      // Each arrival or departure may round by less than a picosecond.
      EXPECT_NEAR(static_cast<double>(shared.resources[link].busy.count()),
                  static_cast<double>(exclusive.resources[link].busy.count()),
                  2.0 * static_cast<double>(exclusive.resources[link].tasks));
    }
  }
}

}  // namespace
}  // namespace planwright
