#include "core/simulate/simulation_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/simulate/dynamic_simulator.h"
#include "tests/core/schedule/pipelines.h"
#include "tests/core/simulate/small_lists.h"

namespace planwright {
namespace {

TEST(SimulationReportTest, CountsBusyTimeAndBubblesOfDevices) {
  // Device 0 is busy for 4 of 8, device 1 for 2 of 8.
  const TaskList list = MakeList({kDevice, kDevice, kLink}, {{0, 4}, {2, 2}, {1, 2}}, {{0, 1}, {1, 2}});
  const SimulationReport report = Simulate(list);
  EXPECT_EQ(report.step_time, Picoseconds(8));
  EXPECT_EQ(report.resources[0].busy, Picoseconds(4));
  EXPECT_EQ(Utilization(report.resources[2], report.step_time), 0.25);
  EXPECT_DOUBLE_EQ(report.bubble_fraction, 1 - (0.5 + 0.25) / 2);
}

TEST(SimulationReportTest, FindsThePeakAndWhenItIsReachedFirst) {
  TaskList list = MakeList({kDevice}, {{0, 5}, {0, 5}, {0, 5}}, {{0, 1}, {1, 2}});
  list.resources[0].initial_memory_bytes = 100;
  list.tasks[0].memory_at_start_bytes = 10;
  list.tasks[1].memory_at_start_bytes = 10;
  list.tasks[1].memory_at_end_bytes = -20;
  list.tasks[2].memory_at_start_bytes = 20;
  const SimulationReport report = Simulate(list);
  EXPECT_EQ(report.resources[0].peak_memory_bytes, 120);
  EXPECT_EQ(report.resources[0].peak_memory_at, Picoseconds(5));
}

TEST(SimulationReportTest, WhatEndsMakesRoomBeforeWhatStartsTakesIt) {
  TaskList list = MakeList({kDevice}, {{0, 5}, {0, 0}, {0, 5}}, {{0, 1}, {1, 2}});
  for (Task& task : list.tasks) {
    task.memory_at_start_bytes = 10;
    task.memory_at_end_bytes = -10;
  }
  EXPECT_EQ(Simulate(list).resources[0].peak_memory_bytes, 10);
}

TEST(SimulationReportTest, TheSteadyPeriodIsThatOfTheBusiestDevice) {
  PipelineWork work = MakePipeline({.stages = 3});
  work.stages[1].forward = Picoseconds(25);
  const TaskList list = *BuildTaskList(
      work, {.kind = ScheduleKind::kPipedreamAsync, .micro_batches = 64, .recompute = false, .order = {}});
  const Timeline timeline = SimulateTasks(list, Contention::kExclusive);
  EXPECT_EQ(SteadyPeriod(list, timeline, 64), Picoseconds(45));
  EXPECT_EQ(SteadyPeriod(list, timeline, 3), Picoseconds(0));
}

}  // namespace
}  // namespace planwright
