#include "core/cost/device_load.h"

#include <gtest/gtest.h>

namespace planwright {
namespace {

constexpr PassWork Work(int64_t in, int64_t compute, int64_t out) {
  return {.compute = Picoseconds(compute), .in = Picoseconds(in), .out = Picoseconds(out)};
}

TEST(LoadOfTest, ByOverlap) {
  EXPECT_EQ(LoadOf(Work(3, 4, 2), Overlap::kSerial), Picoseconds(9));
  EXPECT_EQ(LoadOf(Work(3, 4, 2), Overlap::kOverlapped), Picoseconds(5));
  EXPECT_EQ(LoadOf(Work(3, 6, 2), Overlap::kOverlapped), Picoseconds(6));
  EXPECT_EQ(LoadOf(Work(3, 4, 2), Overlap::kFullDuplex), Picoseconds(4));
  EXPECT_EQ(LoadOf(Work(3, 1, 2), Overlap::kFullDuplex), Picoseconds(3));
  EXPECT_EQ(LoadOf(Work(1, 1, 2), Overlap::kFullDuplex), Picoseconds(2));
}

TEST(LoadsOfTest, OnlyGpipeSeparatesThePasses) {
  const MicroBatchWork work{.forward = Work(1, 10, 0), .backward = Work(0, 5, 8)};
  const PhaseLoads mixed = LoadsOf(work, ScheduleKind::kOneFOneB, Overlap::kOverlapped);
  EXPECT_EQ(mixed.main, Picoseconds(15));
  EXPECT_EQ(mixed.backward, Picoseconds(0));
  const PhaseLoads apart = LoadsOf(work, ScheduleKind::kGpipe, Overlap::kOverlapped);
  EXPECT_EQ(apart.main, Picoseconds(10));
  EXPECT_EQ(apart.backward, Picoseconds(8));
  EXPECT_EQ(apart.total(), Picoseconds(18));
}

constexpr ReductionRule Rule(ScheduleKind schedule, Overlap overlap,
                             AllReduce::Charge charge = AllReduce::Charge::kPerRound) {
  return {schedule, overlap, charge};
}

// An all-reduce that many micro-batches share is nothing where they are without end.
TEST(ReducesGradientsTest, AllThatTrainButStepsWithoutEndThatShareIt) {
  ResolvedProblem problem;
  EXPECT_FALSE(ReducesGradients(problem));
  problem.workload = Workload::kTraining;
  EXPECT_TRUE(ReducesGradients(problem));
  problem.allreduce.amortize_over_micro_batches = true;
  EXPECT_FALSE(ReducesGradients(problem));
  problem.micro_batches = 4;
  EXPECT_TRUE(ReducesGradients(problem));
  problem.allreduce.amortize_over_micro_batches = false;
  EXPECT_TRUE(ReducesGradients(problem));
}

TEST(ReplicaLoadsTest, RoundsEachPhaseUpOnce) {
  const PhaseLoads undivided{.main = Picoseconds(10), .backward = Picoseconds(7)};
  const PhaseLoads loads = ReplicaLoads(undivided, 3, Picoseconds(0), Rule(ScheduleKind::kGpipe, Overlap::kSerial));
  EXPECT_EQ(loads.main, Picoseconds(4));
  EXPECT_EQ(loads.backward, Picoseconds(3));
}

TEST(ReplicaLoadsTest, AnAllReduceBelongsToTheLastPhaseOfARound) {
  const PhaseLoads undivided{.main = Picoseconds(10), .backward = Picoseconds(6)};
  const auto loads = [&](ScheduleKind schedule, Overlap overlap, int64_t allreduce) {
    return ReplicaLoads(undivided, 2, Picoseconds(allreduce), Rule(schedule, overlap));
  };
  EXPECT_EQ(loads(ScheduleKind::kGpipe, Overlap::kSerial, 4).backward, Picoseconds(5));
  EXPECT_EQ(loads(ScheduleKind::kGpipe, Overlap::kFullDuplex, 4).backward, Picoseconds(3));
  EXPECT_EQ(loads(ScheduleKind::kGpipe, Overlap::kFullDuplex, 4).main, Picoseconds(5));
  EXPECT_EQ(loads(ScheduleKind::kSteadyState, Overlap::kSerial, 3).main, Picoseconds(7));
  EXPECT_EQ(loads(ScheduleKind::kSteadyState, Overlap::kOverlapped, 4).main, Picoseconds(5));
  EXPECT_EQ(loads(ScheduleKind::kSteadyState, Overlap::kOverlapped, 13).main, Picoseconds(7));
}

TEST(ReplicaLoadsTest, AChargeForEachMicroBatchIsNotDivided) {
  const PhaseLoads undivided{.main = Picoseconds(10), .backward = Picoseconds(6)};
  const auto loads = [&](ScheduleKind schedule, Overlap overlap, int64_t allreduce) {
    return ReplicaLoads(undivided, 2, Picoseconds(allreduce),
                        Rule(schedule, overlap, AllReduce::Charge::kPerMicroBatch));
  };
  EXPECT_EQ(loads(ScheduleKind::kGpipe, Overlap::kSerial, 4).backward, Picoseconds(7));
  EXPECT_EQ(loads(ScheduleKind::kSteadyState, Overlap::kSerial, 4).main, Picoseconds(9));
  EXPECT_EQ(loads(ScheduleKind::kSteadyState, Overlap::kOverlapped, 9).main, Picoseconds(9));
}

}  // namespace
}  // namespace planwright
