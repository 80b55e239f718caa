#include "core/schedule/task_list_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/base/index.h"
#include "core/base/violations.h"
#include "core/schedule/task_numbers.h"
#include "core/simulate/task_graph.h"
#include "tests/core/schedule/pipelines.h"
#include "tests/support/wire.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ScheduleSettings Settings(ScheduleKind kind, int32_t micro_batches) {
  return {.kind = kind, .micro_batches = micro_batches, .recompute = false, .order = {}};
}

PassOrder Passes(const std::vector<std::string>& names) {
  PassOrder passes;
  for (const std::string& name : names) passes.push_back(*ParsePassTask(name));
  return passes;
}

std::vector<std::string> Refusal(const PipelineWork& work, const ScheduleSettings& settings) {
  return Lines(ViolationsOf(BuildTaskList(work, settings).status()));
}

std::vector<std::string> OrderOf(const TaskList& list, std::size_t resource) {
  std::vector<std::string> names;
  for (const int32_t task : list.order[resource]) names.push_back(TaskName(list.tasks[Index(task)]));
  return names;
}

TEST(TaskListBuilderTest, TransfersHaveLinksOfTheirOwnUnlessTheyOccupyTheDevices) {
  EqualStages shape{.stages = 3, .send = 5, .overlap = Overlap::kOverlapped};
  std::vector<std::string> names;
  const TaskList pairs = *BuildTaskList(MakePipeline(shape), Settings(ScheduleKind::kGpipe, 2));
  for (const TaskResource& resource : pairs.resources) names.push_back(resource.name);
  EXPECT_THAT(names, ElementsAre("gpu0", "gpu1", "gpu2", "gpu0 - gpu1", "gpu1 - gpu2"));
  shape.overlap = Overlap::kFullDuplex;
  const TaskList duplex = *BuildTaskList(MakePipeline(shape), Settings(ScheduleKind::kGpipe, 2));
  ASSERT_THAT(duplex.resources, SizeIs(7));
  EXPECT_EQ(duplex.resources[3].name, "gpu0 -> gpu1");
  shape.overlap = Overlap::kSerial;
  EXPECT_THAT(BuildTaskList(MakePipeline(shape), Settings(ScheduleKind::kGpipe, 2))->resources, SizeIs(3));
}

// Two stages, one micro-batch, activations take 3 and gradients 4 on either side.
PipelineWork SerialPair() {
  PipelineWork work = MakePipeline({.stages = 2, .overlap = Overlap::kSerial});
  work.transfers = {{TaskKind::kSendForward, 0, 1, {{0, Picoseconds(3)}}},
                    {TaskKind::kReceiveForward, 1, 0, {{0, Picoseconds(3)}}},
                    {TaskKind::kSendBackward, 1, 0, {{0, Picoseconds(4)}}},
                    {TaskKind::kReceiveBackward, 0, 1, {{0, Picoseconds(4)}}}};
  work.precedences = {{0, 4}, {4, 5}, {5, 1}, {3, 6}, {6, 7}, {7, 2}};
  return work;
}

TEST(TaskListBuilderTest, ASerialDeviceReceivesRunsAndSends) {
  const TaskList list = *BuildTaskList(SerialPair(), Settings(ScheduleKind::kOneFOneB, 2));
  EXPECT_THAT(OrderOf(list, 0),
              ElementsAre("0F0", "0SEND_F0", "0F1", "0SEND_F1", "0RECV_B0", "0B0", "0RECV_B1", "0B1"));
  EXPECT_THAT(OrderOf(list, 1),
              ElementsAre("1RECV_F0", "1F0", "1B0", "1SEND_B0", "1RECV_F1", "1F1", "1B1", "1SEND_B1"));
  EXPECT_EQ(Simulate(*BuildTaskList(SerialPair(), Settings(ScheduleKind::kOneFOneB, 1))).step_time,
            Picoseconds(10 + 3 + 3 + 10 + 20 + 4 + 4 + 20));
}

TEST(TaskListBuilderTest, MicroBatchesGoRoundTheCopiesOfAStage) {
  PipelineWork work = MakePipeline({.stages = 2, .devices = 3});
  work.stages[0].devices = {0};
  work.stages[1].devices = {1, 2};
  work.transfers[0].stage = 0;
  const TaskList list = *BuildTaskList(work, Settings(ScheduleKind::kOneFOneB, 4));
  for (const Task& task : list.tasks) {
    if (task.stage == 1 && task.kind == TaskKind::kForward) {
      EXPECT_EQ(task.resource, 1 + task.micro_batch % 2);
    }
  }
  EXPECT_THAT(FindCycle(list), IsEmpty());
}

PipelineWork Replicated(Overlap overlap) {
  PipelineWork work = MakePipeline({.stages = 1, .devices = 2, .overlap = overlap});
  work.stages[0].devices = {0, 1};
  work.stages[0].allreduce = Picoseconds(7);
  return work;
}

TEST(TaskListBuilderTest, GradientsAreReducedAtTheEndOfTheStep) {
  // Each of two copies runs two of the four micro-batches.
  EXPECT_EQ(Simulate(*BuildTaskList(Replicated(Overlap::kSerial), Settings(ScheduleKind::kGpipe, 4))).step_time,
            Picoseconds(2 * 30 + 7));
  const TaskList list = *BuildTaskList(Replicated(Overlap::kOverlapped), Settings(ScheduleKind::kGpipe, 4));
  EXPECT_EQ(list.resources.back().name, "ring of stage 0");
  EXPECT_EQ(Simulate(list).step_time, Picoseconds(2 * 30 + 7));
}

// Behind the backward pass of the next round, when the other copies are done with this one.
TEST(TaskListBuilderTest, PipedreamReducesEachRoundOfMicroBatches) {
  const TaskList list = *BuildTaskList(Replicated(Overlap::kSerial), Settings(ScheduleKind::kPipedreamAsync, 5));
  EXPECT_EQ(std::count_if(list.tasks.begin(), list.tasks.end(),
                          [](const Task& task) { return task.kind == TaskKind::kAllReduce; }),
            3 * 2);
  EXPECT_THAT(OrderOf(list, 0),
              ElementsAre("0F0", "0B0", "0F2", "0B2", "0REDUCE_GRAD", "0F4", "0B4", "0REDUCE_GRAD", "0REDUCE_GRAD"));
  EXPECT_EQ(Simulate(list).step_time, Picoseconds(3 * 37));
}

TEST(TaskListBuilderTest, RecomputationKeepsWhatAStageReceives) {
  PipelineWork work = MakePipeline({.stages = 2, .stored_bytes = 100});
  for (StageWork& stage : work.stages) {
    stage.received_bytes = 10;
    stage.largest_stored_bytes = 30;
  }
  ScheduleSettings settings = Settings(ScheduleKind::kGpipe, 4);
  EXPECT_EQ(Simulate(work, settings).resources[1].peak_memory_bytes, 400);
  settings.recompute = true;
  EXPECT_EQ(Simulate(work, settings).resources[1].peak_memory_bytes, 4 * 10 + 30);
}

TEST(TaskListBuilderTest, ADeviceWithSeveralStagesIsBoundedByTheScheduleToo) {
  const PipelineWork work = MakePipeline({.stages = 6, .devices = 3});
  const TaskList gpipe = *BuildTaskList(work, Settings(ScheduleKind::kGpipe, 16));
  EXPECT_THAT(gpipe.order[0], IsEmpty());
  EXPECT_EQ(Simulate(gpipe).resources[0].peak_memory_bytes, 2 * 16);
  // Stages 0 and 3 may hold 6 and 3 micro-batches.
  EXPECT_LE(Simulate(work, Settings(ScheduleKind::kOneFOneB, 16)).resources[0].peak_memory_bytes, 6 + 3);
}

TEST(TaskListBuilderTest, AGivenOrderIsKept) {
  ScheduleSettings settings = Settings(ScheduleKind::kOneFOneB, 2);
  settings.order = {{1, Passes({"1F0", "1F1", "1B1", "1B0"})}, {0, Passes({"0F0", "0F1", "0B1", "0B0"})}};
  EXPECT_EQ(Simulate(MakePipeline({.stages = 2}), settings).step_time, Picoseconds((2 + 1) * 30));
}

TEST(TaskListBuilderTest, AGivenOrderThatWaitsForEverNamesTheCycle) {
  ScheduleSettings settings = Settings(ScheduleKind::kOneFOneB, 2);
  settings.order = {{0, Passes({"0F0", "0B0", "0F1", "0B1"})}, {1, Passes({"1F1", "1F0", "1B0", "1B1"})}};
  const TaskList list = *BuildTaskList(MakePipeline({.stages = 2}), settings);
  const std::string text = CycleText(list, FindCycle(list));
  for (const char* task : {"0B0", "0F1", "1F1", "1F0"}) EXPECT_THAT(text, HasSubstr(task));
}

TEST(TaskListBuilderTest, AGivenOrderMustBeCompleteAndItsTasksTheDevices) {
  ScheduleSettings settings = Settings(ScheduleKind::kOneFOneB, 2);
  settings.order = {{0, Passes({"0F0", "0F0", "1F0", "2F0", "0F2", "0W0", "0B0", "0B1"})}};
  EXPECT_THAT(Refusal(MakePipeline({.stages = 2}), settings),
              ElementsAre("order[0].tasks[1]: 0F0 is there twice", "order[0].tasks[2]: 1F0 runs on gpu1",
                          "order[0].tasks[3]: 2F0 is no task of this schedule (2 stages, 2 micro-batches)",
                          "order[0].tasks[4]: 0F2 is no task of this schedule (2 stages, 2 micro-batches)",
                          "order[0].tasks[5]: 0W0 is no task of this schedule (2 stages, 2 micro-batches)",
                          "order: 1 tasks of gpu0 are missing: every pass of a device must be in its order",
                          "order: 4 tasks of gpu1 are missing: every pass of a device must be in its order"));
}

TEST(TaskListBuilderTest, ADeviceHasOneOrder) {
  ScheduleSettings settings = Settings(ScheduleKind::kGpipe, 1);
  settings.order = {{0, Passes({"0F0"})}, {0, Passes({"0B0"})}};
  EXPECT_THAT(Refusal(MakePipeline({.stages = 1}), settings),
              ElementsAre("order[1].device: gpu0 has an order already"));
}

TEST(TaskListBuilderTest, MoreMicroBatchesThanMemoryAllowsAreRefused) {
  const std::vector<std::string> refusal =
      Refusal(MakePipeline({.stages = 4}), Settings(ScheduleKind::kGpipe, 2'000'000'000));
  ASSERT_THAT(refusal, SizeIs(1));
  EXPECT_THAT(refusal[0], HasSubstr("micro_batches: must be at most 71428 for this plan"));
  // 4 stages of two passes and 6 transfers.
  EXPECT_EQ(kMaxTasks / (4 * 2 + 6), 71428);
}

TEST(TaskListBuilderTest, TimesThatAddUpToTooMuchAreRefused) {
  const PipelineWork work = MakePipeline({.stages = 2, .forward = int64_t{1} << 60});
  EXPECT_THAT(Refusal(work, Settings(ScheduleKind::kGpipe, 8)),
              ElementsAre(HasSubstr("micro_batches: the times or the sizes")));
}

TEST(TaskListBuilderTest, PlansThatDoNotFitAScheduleAreRefused) {
  EXPECT_THAT(Refusal(MakePipeline({.stages = 4}), Settings(ScheduleKind::kInterleaved, 4)),
              ElementsAre(HasSubstr("schedule: INTERLEAVED needs a plan")));
  EXPECT_THAT(Refusal(MakePipeline({.stages = 4, .devices = 2}), Settings(ScheduleKind::kInterleaved, 3)),
              ElementsAre("micro_batches: must be a multiple of the 2 devices under INTERLEAVED, is 3"));
  EXPECT_THAT(Refusal(MakePipeline({.stages = 4, .devices = 2}), Settings(ScheduleKind::kZeroBubbleH1, 4)),
              ElementsAre(HasSubstr("schedule: ZERO_BUBBLE_H1 needs a plan with one stage on each device")));
}

// Whatever the copies of stages, orders of schedules never wait for ever.
TEST(TaskListBuilderTest, SchedulesOfReplicatedStagesRun) {
  for (const std::vector<int32_t>& copies :
       std::vector<std::vector<int32_t>>{{1, 3, 1}, {3, 1, 2}, {2, 2, 2}, {4, 1, 1}, {1, 1, 5}, {2, 3, 4}}) {
    for (const Overlap overlap : {Overlap::kSerial, Overlap::kOverlapped}) {
      int32_t devices = 0;
      for (const int32_t count : copies) devices += count;
      PipelineWork work = MakePipeline({.stages = 3, .devices = devices, .overlap = overlap});
      int32_t next = 0;
      for (std::size_t stage = 0; stage < copies.size(); ++stage) {
        work.stages[stage].devices.clear();
        work.stages[stage].allreduce = Picoseconds(5);
        for (int32_t copy = 0; copy < copies[stage]; ++copy) work.stages[stage].devices.push_back(next++);
      }
      for (const ScheduleKind kind : {ScheduleKind::kGpipe, ScheduleKind::kOneFOneB, ScheduleKind::kPipedreamAsync,
                                      ScheduleKind::kZeroBubbleH1}) {
        for (const int32_t micro_batches : {1, 2, 7, 24}) {
          EXPECT_THAT(FindCycle(*BuildTaskList(work, Settings(kind, micro_batches))), IsEmpty());
        }
      }
    }
  }
}

}  // namespace
}  // namespace planwright
