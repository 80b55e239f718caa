// Closed forms and bounds of interleaved pipelines against slots written out, the step task by task and all chunks.
#include "core/joint/slots/chunk_slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/random.h"
#include "core/base/units.h"
#include "core/joint/cost/step_simulation.h"
#include "tests/property/cases.h"

namespace planwright {
namespace {

std::vector<int64_t> RandomPasses(RandomStream& random, const SlotShape& shape) {
  std::vector<int64_t> passes(static_cast<std::size_t>(shape.num_chunks()));
  for (int64_t& pass : passes) pass = random.Between(1, 100);
  return passes;
}

SlotShape RandomShape(RandomStream& random) {
  const int64_t stages = random.Between(2, 6);
  return {stages, random.Between(2, 4), stages * random.Between(1, 4)};
}

// Slot by slot: which pass each stage does, and how long the longest is.
int64_t WrittenOut(const std::vector<int64_t>& passes, const SlotShape& shape) {
  int64_t sum = 0;
  const int64_t per_stage = shape.micro_batches * shape.chunks;
  for (int64_t slot = 0; slot < per_stage + shape.num_stages - 1; ++slot) {
    int64_t longest = 0;
    for (int64_t stage = 0; stage < shape.num_stages; ++stage) {
      const int64_t number = slot - stage;
      if (number < 0 || number >= per_stage) continue;
      const int64_t chunk = number % shape.num_chunks() / shape.num_stages * shape.num_stages + stage;
      longest = std::max(longest, passes[static_cast<std::size_t>(chunk)]);
    }
    sum += longest;
  }
  return sum;
}

TEST(SlotsTest, ASlotIsAsLongAsItsLongestPass) {
  // Two stages of two chunks of 10, 20, 30 and 40: 10, 20, 30, 40 with each the chunk before, and 40 again at the end.
  EXPECT_EQ(SlotsPs(std::vector<int64_t>{10, 20, 30, 40}, {2, 2, 2}), 10 + 20 + 30 + 40 + 40);
  // Of two more micro-batches the first chunk comes beside the last one.
  EXPECT_EQ(SlotsPs(std::vector<int64_t>{10, 20, 30, 40}, {2, 2, 4}), 10 + 20 + 30 + 40 + 40 + 20 + 30 + 40 + 40);
}

TEST(SlotsTest, AreThoseWrittenOut) {
  for (uint64_t seed = 0; seed < NumCases(2'000); ++seed) {
    RandomStream random(seed, 1);
    const SlotShape shape = RandomShape(random);
    const std::vector<int64_t> passes = RandomPasses(random, shape);
    ASSERT_EQ(SlotsPs(passes, shape), WrittenOut(passes, shape)) << "seed " << seed;
  }
}

TEST(SlotsTest, NoStepTakesLonger) {
  double slots = 0;
  double steps = 0;
  for (uint64_t seed = 0; seed < NumCases(2'000); ++seed) {
    RandomStream random(seed, 2);
    const SlotShape shape = RandomShape(random);
    const std::vector<int64_t> forward = RandomPasses(random, shape);
    const std::vector<int64_t> backward = RandomPasses(random, shape);
    PipelineTimes times(static_cast<std::size_t>(shape.num_stages));
    for (std::size_t chunk = 0; chunk < forward.size(); ++chunk) {
      times[chunk % times.size()].push_back({forward[chunk], backward[chunk], 0});
    }
    const std::vector<int64_t> ends = SimulateStep(times, PipelineOrder::kInterleaved, shape.micro_batches);
    const int64_t step = *std::max_element(ends.begin(), ends.end());
    const int64_t own = SlotsPs(forward, shape) + SlotsPs(backward, shape);
    ASSERT_LE(step, own) << "seed " << seed;
    slots += static_cast<double>(own);
    steps += static_cast<double>(step);
  }
  // Chunks of 1 to 100 are as unlike as can be.
  EXPECT_LE(slots, 1.25 * steps);
}

TEST(SlotsTest, ChunksAlikeTakeWhatTheStepTakes) {
  for (const int64_t groups : {1, 3}) {
    const SlotShape shape{4, 3, 4 * groups};
    const std::vector<int64_t> forward(12, 10);
    const std::vector<int64_t> backward(12, 20);
    const PipelineTimes times(4, std::vector<ChunkTimes>(3, {10, 20, 0}));
    const std::vector<int64_t> ends = SimulateStep(times, PipelineOrder::kInterleaved, shape.micro_batches);
    EXPECT_EQ(SlotsPs(forward, shape) + SlotsPs(backward, shape), *std::max_element(ends.begin(), ends.end()));
  }
}

TEST(SlotsTest, SaturateInsteadOfOverflow) {
  const std::vector<int64_t> passes(8, int64_t{1} << 61);
  EXPECT_EQ(SlotsPs(passes, {2, 4, 1'000}), kMaxQuantity);
  EXPECT_EQ(LeastSlotsPs(kMaxQuantity, kMaxQuantity, {2, 4, 1'000}), kMaxQuantity);
}

TEST(SlotsTest, MicroBatchesBeyondTheLastGroupCountInProportion) {
  const std::vector<int64_t> passes(4, 10);
  const int64_t one = SlotsPs(passes, {2, 2, 4}) - SlotsPs(passes, {2, 2, 2});
  EXPECT_EQ(SlotsPs(passes, {2, 2, 3}), SlotsPs(passes, {2, 2, 2}) + one / 2);
}

TEST(LeastSlotsTest, NoChunksOfSuchWorkTakeLess) {
  double ratios = 0;
  const uint64_t cases = NumCases(2'000);
  for (uint64_t seed = 0; seed < cases; ++seed) {
    RandomStream random(seed, 3);
    const SlotShape shape = RandomShape(random);
    std::vector<int64_t> forward = RandomPasses(random, shape);
    // Often all but one are alike.
    if (random.Below(2) == 0) std::fill(forward.begin() + 1, forward.end(), forward.front());
    const std::vector<int64_t> backward = RandomPasses(random, shape);
    int64_t work = 0;
    int64_t longest = 0;
    for (std::size_t chunk = 0; chunk < forward.size(); ++chunk) {
      work += forward[chunk] + backward[chunk];
      longest = std::max(longest, forward[chunk] + backward[chunk]);
    }
    const int64_t slots = SlotsPs(forward, shape) + SlotsPs(backward, shape);
    ASSERT_LE(LeastSlotsPs(work, longest, shape), slots) << "seed " << seed;
    ASSERT_LE(LeastSlotsPs(work, 0, shape), LeastSlotsPs(work, longest, shape)) << "seed " << seed;
    ratios += static_cast<double>(slots) / static_cast<double>(LeastSlotsPs(work, longest, shape));
  }
  EXPECT_LE(ratios, 1.6 * static_cast<double>(cases));
}

TEST(LeastSlotsTest, IsReachedByChunksAlikeAndByOneThatIsLonger) {
  const SlotShape shape{3, 2, 6};
  std::vector<int64_t> passes(6, 10);
  EXPECT_EQ(LeastSlotsPs(60, 0, shape), SlotsPs(passes, shape));
  passes.front() = 25;
  EXPECT_EQ(LeastSlotsPs(75, 25, shape), SlotsPs(passes, shape));
}

// The least of all ways to deal layers out to chunks with one end in the first and one in the last.
struct Deal {
  SlotShape shape;
  int64_t layer = 1;
  int64_t first = 0;
  int64_t last = 0;
};

int64_t LeastOfAll(const Deal& deal, int64_t layers, std::vector<int64_t>& chunks) {
  const auto num_chunks = static_cast<std::size_t>(deal.shape.num_chunks());
  if (chunks.size() + 1 == num_chunks) {
    std::vector<int64_t> passes = chunks;
    passes.push_back(layers);
    for (int64_t& pass : passes) pass *= deal.layer;
    passes.front() += deal.first;
    passes.back() += deal.last;
    return SlotsPs(passes, deal.shape);
  }
  int64_t least = std::numeric_limits<int64_t>::max();
  const auto behind = static_cast<int64_t>(num_chunks - chunks.size()) - 2;
  for (int64_t own = chunks.empty() ? 0 : 1; own + behind <= layers; ++own) {
    chunks.push_back(own);
    least = std::min(least, LeastOfAll(deal, layers - own, chunks));
    chunks.pop_back();
  }
  return least;
}

TEST(EvenPassesTest, TheLeastOfThemIsTheLeastOfAllDivisions) {
  for (uint64_t seed = 0; seed < NumCases(300); ++seed) {
    RandomStream random(seed, 4);
    const int64_t stages = random.Between(2, 3);
    const int64_t chunks = stages == 2 ? random.Between(2, 3) : 2;
    const Deal deal{{stages, chunks, stages * random.Between(1, 4)},
                    random.Between(5, 60),
                    random.Between(0, 150),
                    random.Between(0, 150)};
    const int64_t others = deal.shape.num_chunks() - 2;
    const int64_t layers = random.Between(others, others + 7);
    int64_t least = std::numeric_limits<int64_t>::max();
    for (int64_t first = 0; first + others <= layers; ++first) {
      for (int64_t last = 0; first + last + others <= layers; ++last) {
        const int64_t each = (layers - first - last) / others;
        const EvenPasses even{deal.first + first * deal.layer, deal.last + last * deal.layer, each * deal.layer,
                              (each + 1) * deal.layer, (layers - first - last) % others};
        least = std::min(least, LeastEvenSlotsPs(even, deal.shape));
      }
    }
    std::vector<int64_t> none;
    ASSERT_EQ(least, LeastOfAll(deal, layers, none)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace planwright
