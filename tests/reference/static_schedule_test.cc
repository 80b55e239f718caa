#include "tests/reference/static_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/base/index.h"
#include "core/simulate/dynamic_simulator.h"
#include "tests/core/schedule/pipelines.h"
#include "tests/core/simulate/small_lists.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ScheduleKind kSchedules[] = {ScheduleKind::kGpipe, ScheduleKind::kOneFOneB, ScheduleKind::kPipedreamAsync,
                                       ScheduleKind::kZeroBubbleH1};

TEST(StaticScheduleTest, EndsAreTheLatestEndBeforePlusTheDuration) {
  TaskList list = MakeList({kDevice, kDevice}, {{0, 3}, {1, 4}, {0, 5}}, {{1, 2}});
  list.order = {{0, 2}, {1}};
  const Timeline timeline = StaticSchedule::Compile(list)->Run(list);
  EXPECT_THAT(Counts(timeline.starts), ElementsAre(0, 0, 4));
  EXPECT_THAT(Counts(timeline.ends), ElementsAre(3, 4, 9));
}

TEST(StaticScheduleTest, EqualsTheEventQueueOnRandomLists) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const TaskList list = RandomOrderedList(seed, 60);
    const Timeline fixed = StaticSchedule::Compile(list)->Run(list);
    const Timeline dynamic = SimulateTasks(list, Contention::kExclusive);
    EXPECT_EQ(fixed.ends, dynamic.ends) << seed;
    EXPECT_EQ(fixed.starts, dynamic.starts) << seed;
  }
}

TEST(StaticScheduleTest, EqualsBothContentionsWhereEveryLinkHasOneTransferAtATime) {
  for (const ScheduleKind kind : kSchedules) {
    const PipelineWork work = MakePipeline({.stages = 5, .backward_weight = 8, .send = 7});
    const TaskList list = *BuildTaskList(work, {.kind = kind, .micro_batches = 12, .recompute = false, .order = {}});
    const Timeline dynamic = SimulateTasks(list, Contention::kExclusive);
    const TaskList ordered = OrderedAsRun(list, dynamic);
    EXPECT_EQ(StaticSchedule::Compile(ordered)->Run(ordered).ends, dynamic.ends);
    EXPECT_EQ(SimulateTasks(list, Contention::kFairShare).ends, dynamic.ends);
  }
}

TEST(StaticScheduleTest, EvaluatesOtherDurationsWithoutCompilingAgain) {
  TaskList list = RandomOrderedList(7, 80);
  const auto schedule = StaticSchedule::Compile(list);
  for (Task& task : list.tasks) task.duration = 3 * task.duration + Picoseconds(1);
  std::vector<Picoseconds> durations;
  for (const Task& task : list.tasks) durations.push_back(task.duration);
  std::vector<int64_t> ends(schedule->num_steps() + 1);
  const int64_t latest = schedule->Evaluate(schedule->Arrange(durations), ends);
  const Timeline dynamic = SimulateTasks(list, Contention::kExclusive);
  EXPECT_EQ(latest, std::max_element(dynamic.ends.begin(), dynamic.ends.end())->count());
}

TEST(StaticScheduleTest, RefusesTasksThatWaitForEachOther) {
  TaskList list = MakeList({kDevice, kDevice}, {{0, 1}, {0, 1}, {1, 1}, {1, 1}}, {{1, 2}, {3, 0}});
  list.order = {{0, 1}, {2, 3}};
  const auto schedule = StaticSchedule::Compile(list);
  EXPECT_EQ(schedule.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(schedule.status().message()), HasSubstr("0F2, which waits for 0F1, which waits for 0F0"));
}

TEST(StaticScheduleTest, AnEmptyListTakesNoTime) {
  const TaskList list = MakeList({kDevice}, {}, {});
  EXPECT_TRUE(StaticSchedule::Compile(list)->Run(list).ends.empty());
}

}  // namespace
}  // namespace planwright
