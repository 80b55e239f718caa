#include "core/cost/pipeline_fill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace planwright {
namespace {

using ::testing::ElementsAre;

constexpr TransferTurns kSerial{};
constexpr TransferTurns kFullDuplex{.overlap = Overlap::kFullDuplex};

MicroBatchWork WorkOf(int64_t forward_in, int64_t compute, int64_t backward_out) {
  MicroBatchWork work;
  work.forward.in = Picoseconds(forward_in);
  work.forward.compute = Picoseconds(compute);
  work.backward.out = Picoseconds(backward_out);
  return work;
}

// By stage.
std::vector<int64_t> Held(const TransferTurns& turns, const std::vector<StageTurns>& stages) {
  std::vector<int64_t> held(stages.size());
  FillFromEnd fill(turns);
  for (std::size_t i = stages.size(); i-- > 0;) {
    held[i] = fill.HeldBy(stages[i].replicas);
    fill.Add(stages[i]);
  }
  return held;
}

TEST(TransferTurnsTest, SlotsFollowTheOverlap) {
  EXPECT_EQ(kSerial.SlotsOf(WorkOf(14, 30, 14)), 0);
  EXPECT_EQ((TransferTurns{.overlap = Overlap::kOverlapped}.SlotsOf(WorkOf(14, 30, 14))), 1);
  EXPECT_EQ(kFullDuplex.SlotsOf(WorkOf(0, 30, 0)), 0);
  EXPECT_EQ(kFullDuplex.SlotsOf(WorkOf(14, 30, 14)), 1);
  EXPECT_EQ(kFullDuplex.SlotsOf(WorkOf(20, 30, 14)), 2);
  EXPECT_EQ((TransferTurns{.overlap = Overlap::kFullDuplex, .has_phases = true}.SlotsOf(WorkOf(20, 30, 14))), 1);
  EXPECT_EQ((TransferTurns{.overlap = Overlap::kFullDuplex, .through_host = true}.SlotsOf(WorkOf(1, 30, 0))), 2);
}

TEST(FillFromEndTest, WithoutReplicasAndSlotsOneForEachStageFromThereOn) {
  EXPECT_THAT(Held(kSerial, {{1, 0}, {1, 0}, {1, 0}}), ElementsAre(3, 2, 1));
  EXPECT_THAT(Held(kSerial, {{4, 0}, {4, 0}, {4, 0}}), ElementsAre(3, 2, 1));
}

TEST(FillFromEndTest, TransfersTakeTurnsOfTheStagesBefore) {
  EXPECT_THAT(Held(kFullDuplex, {{1, 0}, {1, 1}, {1, 2}}), ElementsAre(6, 4, 1));
}

TEST(FillFromEndTest, AStageCountsTheReplicasBehindIt) {
  // The defect: one stage on one device, the next on three.
  EXPECT_THAT(Held(kSerial, {{1, 0}, {3, 0}}), ElementsAre(4, 1));
  // Rounded up for two replicas: ceil(1 / 2) + 1 = 2 each, 4 together.
  EXPECT_THAT(Held(kSerial, {{1, 0}, {2, 0}, {1, 0}}), ElementsAre(5, 2, 1));
}

TEST(FillFromEndTest, CopiesToHostMemoryAreHeldByTheSender) {
  EXPECT_THAT(Held({.overlap = Overlap::kFullDuplex, .through_host = true}, {{1, 0}, {1, 2}}), ElementsAre(6, 1));
}

ResolvedProblem Steps(Replication replication, int32_t micro_batches) {
  ResolvedProblem problem;
  problem.replication = replication;
  problem.micro_batches = micro_batches;
  problem.schedule = ScheduleKind::kOneFOneB;
  return problem;
}

TEST(InFlightMicroBatchesTest, NoMoreThanAReplicaDoesInAStep) {
  EXPECT_EQ(InFlightMicroBatches(Steps(Replication::kUniform, 8), 9, 3), 8);
  EXPECT_EQ(InFlightMicroBatches(Steps(Replication::kPerStage, 8), 9, 3), 3);
  EXPECT_EQ(InFlightMicroBatches(Steps(Replication::kPerStage, 8), 2, 3), 2);
}

TEST(TurnsOfStepTest, OfEqualReplicasThoseOfOneCopy) {
  const std::vector<StageTurns> stages = {{2, 0}, {2, 0}, {2, 0}};
  const StepTurns uniform = TurnsOfStep(Steps(Replication::kUniform, 8), kSerial, stages);
  EXPECT_EQ(uniform.count, 8 + 3 - 1);
  EXPECT_EQ(uniform.TimeOf(Picoseconds(7), 2), Picoseconds(70));
  const StepTurns per_stage = TurnsOfStep(Steps(Replication::kPerStage, 16), kSerial, stages);
  EXPECT_EQ(per_stage.count, uniform.count);
  EXPECT_EQ(per_stage.TimeOf(Picoseconds(7), 2), Picoseconds(70));
}

TEST(TurnsOfStepTest, UnequalReplicasShareTheirTurns) {
  // One micro-batch at a time; 1 + 3 fill the pipeline.
  const StepTurns turns =
      TurnsOfStep(Steps(Replication::kPerStage, 8), kSerial, std::vector<StageTurns>{{1, 0}, {3, 0}});
  EXPECT_EQ(turns.side_by_side, 1);
  EXPECT_EQ(turns.count, 8 + 4 - 1);
  EXPECT_EQ(turns.TimeOf(Picoseconds(36), 3), Picoseconds(11 * 12));
}

}  // namespace
}  // namespace planwright
