// Steps task by task against their closed forms.
#include "core/joint/cost/step_simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/joint/cost/stage_cost.h"
#include "tests/property/cases.h"

namespace planwright {
namespace {

int64_t EndOf(const PipelineTimes& times, PipelineOrder order, int64_t micro_batches) {
  const std::vector<int64_t> ends = SimulateStep(times, order, micro_batches);
  return *std::max_element(ends.begin(), ends.end());
}

ChunkTimes RandomTimes(RandomStream& random) {
  return {random.Between(0, 30), random.Between(0, 30), random.Between(0, 30)};
}

TEST(StepSimulationTest, LikeStagesWithoutBubblesTakeTheClosedForm) {
  for (uint64_t seed = 0; seed < NumCases(600); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomStream random(seed);
    const int64_t stages = random.Between(1, 7);
    const int64_t micro_batches = stages + random.Between(0, 20);
    const ChunkTimes each = RandomTimes(random);
    const PipelineTimes times(static_cast<std::size_t>(stages), {each});
    EXPECT_EQ(EndOf(times, PipelineOrder::kZeroBubble, micro_batches),
              ZeroBubbleStepPs({each.forward_ps, each.backward_ps, each.weights_ps}, 0, micro_batches, stages));
  }
}

TEST(StepSimulationTest, UnlikeStagesTakeNoMore) {
  for (uint64_t seed = 0; seed < NumCases(600); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomStream random(seed);
    const int64_t stages = random.Between(1, 7);
    const int64_t micro_batches = stages + random.Between(0, 20);
    PipelineTimes times;
    LongestPasses longest;
    int64_t forward = 0;
    int64_t backward = 0;
    for (int64_t s = 0; s < stages; ++s) {
      const ChunkTimes own = times.emplace_back(1, RandomTimes(random)).front();
      forward += own.forward_ps;
      backward += own.backward_ps;
      longest = {std::max(longest.forward_ps, own.forward_ps), std::max(longest.backward_ps, own.backward_ps),
                 std::max(longest.weights_ps, own.weights_ps)};
    }
    EXPECT_LE(EndOf(times, PipelineOrder::kZeroBubble, micro_batches),
              ZeroBubbleStepPs(longest, 0, micro_batches, stages));
    EXPECT_EQ(EndOf(times, PipelineOrder::kGpipe, micro_batches),
              GpipeStepPs(forward + backward, longest, 0, micro_batches));
  }
}

// What zero bubble is for: a third of the bubble of 1F1B where all parts take as long.
TEST(StepSimulationTest, DeferredWeightsFillTheBubble) {
  constexpr int64_t kStages = 4;
  constexpr int64_t kMicroBatches = 16;
  const PipelineTimes split(kStages, {{10, 10, 10}});
  const PipelineTimes whole(kStages, {{10, 20, 0}});
  EXPECT_EQ(EndOf(whole, PipelineOrder::kOneFOneB, kMicroBatches), kMicroBatches * 30 + (kStages - 1) * 30);
  EXPECT_EQ(EndOf(split, PipelineOrder::kZeroBubble, kMicroBatches), kMicroBatches * 30 + (kStages - 1) * 10);
}

// Every pass once, and never more micro-batches than HeldBy says.
TEST(StepSimulationTest, OrdersHoldWhatTheyMay) {
  for (const PipelineOrder order : {PipelineOrder::kOneFOneB, PipelineOrder::kGpipe, PipelineOrder::kZeroBubble}) {
    for (int64_t stages = 1; stages <= 5; ++stages) {
      for (int64_t micro_batches = stages; micro_batches <= 12; ++micro_batches) {
        const StepShape shape{order, stages, 1, micro_batches};
        for (int64_t stage = 0; stage < stages; ++stage) {
          SCOPED_TRACE(absl::StrCat(static_cast<int>(order), " ", stages, " ", micro_batches, " ", stage));
          const HeldMicroBatches held = HeldBy(order, micro_batches, stages - stage, stages, 1);
          std::map<std::pair<StepTask::Pass, int64_t>, int> seen;
          HeldMicroBatches now{0, 0, 0};
          for (int64_t number = 0; number < shape.tasks(); ++number) {
            const StepTask task = StepTaskAt(shape, stage, number);
            EXPECT_EQ(++seen[std::pair(task.pass, task.micro_batch)], 1);
            if (task.pass == StepTask::Pass::kForward) ++now.whole;
            if (task.pass == StepTask::Pass::kBackward) {
              EXPECT_EQ(seen.count({StepTask::Pass::kForward, task.micro_batch}), 1U);
              --now.whole;
              ++now.deferred;
            }
            if (task.pass == StepTask::Pass::kWeights) {
              EXPECT_EQ(seen.count({StepTask::Pass::kBackward, task.micro_batch}), 1U);
              --now.deferred;
            }
            if (order != PipelineOrder::kZeroBubble) now.deferred = 0;
            EXPECT_LE(now.whole, held.whole + held.changing);
            EXPECT_LE(now.deferred, held.deferred + held.changing);
            EXPECT_LE(now.count(), held.count());
          }
          EXPECT_EQ(static_cast<int64_t>(seen.size()), shape.tasks());
        }
      }
    }
  }
}

}  // namespace
}  // namespace planwright
