// Step times and peaks that the papers of the schedules state (pass_order.h names them).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/index.h"
#include "core/schedule/task_list_builder.h"
#include "tests/core/schedule/pipelines.h"

namespace planwright {
namespace {

using ::testing::Each;
using ::testing::ElementsAreArray;

struct Size {
  int32_t stages;
  int32_t micro_batches;
};

// Fewer micro-batches than stages, as many, more, many more; one of each.
constexpr Size kSizes[] = {{1, 1}, {1, 5}, {2, 1}, {4, 2}, {4, 4}, {4, 8}, {5, 7}, {8, 32}};

int64_t StepTime(const PipelineWork& work, ScheduleKind kind, int32_t micro_batches, bool recompute = false) {
  return Simulate(work, {.kind = kind, .micro_batches = micro_batches, .recompute = recompute, .order = {}})
      .step_time.count();
}

// With 1 byte stored for each micro-batch: micro-batches.
std::vector<int64_t> Peaks(const PipelineWork& work, ScheduleKind kind, int32_t micro_batches) {
  std::vector<int64_t> peaks;
  const SimulationReport report =
      Simulate(work, {.kind = kind, .micro_batches = micro_batches, .recompute = false, .order = {}});
  for (std::size_t i = 0; i < work.devices.size(); ++i) peaks.push_back(report.resources[i].peak_memory_bytes);
  return peaks;
}

TEST(PublishedFormulasTest, GpipeTakesOnePassPerMicroBatchAndStageOfTheRamp) {
  for (const auto& [p, m] : kSizes) {
    const PipelineWork work = MakePipeline({.stages = p});
    EXPECT_EQ(StepTime(work, ScheduleKind::kGpipe, m), (m + p - 1) * 30);
    EXPECT_THAT(Peaks(work, ScheduleKind::kGpipe, m), Each(m));
  }
}

TEST(PublishedFormulasTest, OneFOneBTakesAsLongAndStoresNoMoreThanTheStagesAhead) {
  for (const auto& [p, m] : kSizes) {
    const PipelineWork work = MakePipeline({.stages = p});
    std::vector<int64_t> in_flight;
    for (int32_t stage = 0; stage < p; ++stage) in_flight.push_back(std::min(p - stage, m));
    for (const ScheduleKind kind : {ScheduleKind::kOneFOneB, ScheduleKind::kPipedreamAsync}) {
      EXPECT_EQ(StepTime(work, kind, m), (m + p - 1) * 30);
      EXPECT_THAT(Peaks(work, kind, m), ElementsAreArray(in_flight));
    }
  }
}

TEST(PublishedFormulasTest, RecomputationAddsAForwardPassToEachBackwardPass) {
  for (const auto& [p, m] : kSizes) {
    const PipelineWork work = MakePipeline({.stages = p});
    // Recomputing does not wait for the gradient, so the last stages of the ramp do it while they would idle.
    EXPECT_LE(StepTime(work, ScheduleKind::kGpipe, m, /*recompute=*/true), (m + p - 1) * 40);
    EXPECT_GE(StepTime(work, ScheduleKind::kGpipe, m, /*recompute=*/true), m * 40 + (p - 1) * 30);
  }
}

TEST(PublishedFormulasTest, InterleavingDividesTheRampByTheStagesOfADevice) {
  for (const int32_t v : {2, 3}) {
    for (const auto& [p, m] : std::vector<Size>{{2, 2}, {2, 8}, {4, 4}, {4, 8}, {8, 32}}) {
      const PipelineWork work = MakePipeline({.stages = p * v, .devices = p});
      EXPECT_EQ(StepTime(work, ScheduleKind::kInterleaved, m), m * v * 30 + (p - 1) * 30) << p << " " << m << " " << v;
      std::vector<int64_t> peaks;
      for (int32_t d = 0; d < p; ++d) peaks.push_back(std::min(2 * (p - d - 1) + (v - 1) * p + 1, m * v));
      EXPECT_THAT(Peaks(work, ScheduleKind::kInterleaved, m), ElementsAreArray(peaks));
    }
  }
}

TEST(PublishedFormulasTest, ZeroBubbleH1FillsTheRampWithTheWeights) {
  for (const auto& [p, m] : std::vector<Size>{{1, 1}, {2, 4}, {4, 4}, {4, 8}, {8, 8}, {8, 32}}) {
    const PipelineWork work = MakePipeline({.stages = p, .backward = 20, .backward_weight = 10});
    EXPECT_EQ(StepTime(work, ScheduleKind::kZeroBubbleH1, m), m * 30 + (p - 1) * 10) << p << " " << m;
    EXPECT_THAT(Peaks(work, ScheduleKind::kZeroBubbleH1, m), Each(std::min(p, m)));
  }
}

TEST(PublishedFormulasTest, ChimeraHalvesTheRamp) {
  for (const int32_t p : {2, 4, 6, 8}) {
    for (const int32_t units : {1, 2, 4}) {
      const int32_t m = units * p;
      const PipelineWork work = MakeBidirectional({.stages = p, .forward = 10, .backward = 10});
      EXPECT_EQ(StepTime(work, ScheduleKind::kChimera, m), (2 * m + p - 2) * 10) << p << " " << m;
    }
  }
}

TEST(PublishedFormulasTest, ChimerasCriticalPathHasAForwardPassPerStageAndTwoBackwardPassesLess) {
  for (const int32_t p : {2, 4, 6, 8}) {
    const PipelineWork work = MakeBidirectional({.stages = p, .forward = 10, .backward = 20});
    EXPECT_EQ(StepTime(work, ScheduleKind::kChimera, p), p * 10 + (2 * p - 2) * 20) << p;
  }
}

TEST(PublishedFormulasTest, ChimeraStoresBetweenHalfOfTheStagesAndAllOfThem) {
  for (const int32_t p : {4, 8}) {
    for (const int64_t peak : Peaks(MakeBidirectional({.stages = p}), ScheduleKind::kChimera, 4 * p)) {
      EXPECT_GE(peak, p / 2 + 1);
      EXPECT_LE(peak, p);
    }
  }
}

TEST(PublishedFormulasTest, WithoutBackwardPassesAllSchedulesAreTheSamePipeline) {
  const PipelineWork work = MakePipeline({.stages = 4, .training = false});
  for (const ScheduleKind kind :
       {ScheduleKind::kGpipe, ScheduleKind::kOneFOneB, ScheduleKind::kPipedreamAsync, ScheduleKind::kZeroBubbleH1}) {
    EXPECT_EQ(StepTime(work, kind, 8), (8 + 3) * 10);
  }
}

}  // namespace
}  // namespace planwright
