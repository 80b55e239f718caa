#include "core/partition/contiguous/phase_sweep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/random.h"
#include "tests/core/partition/block_oracle.h"

namespace planwright {
namespace {

BlockInstance MakePhasedInstance(int i, RandomStream& random) {
  BlockInstance instance;
  do {
    instance = MakeBlockInstance({.num_blocks = 5, .constrained = i % 2 == 1, .max_time = 8, .any_rule = true}, random);
  } while (!instance.rule.has_phases);
  instance.rule.forward_cap.reset();
  return instance;
}

// Every cap on the forward loads, with the least backward load under it.
std::optional<int64_t> NaiveLeastSum(BlockInstance instance) {
  std::optional<int64_t> least;
  instance.rule.forward_cap = 10'000;
  if (!NaiveOptimum(instance).has_value()) return least;
  for (int64_t cap = 0; !least.has_value() || cap <= *least; ++cap) {
    instance.rule.forward_cap = cap;
    const std::optional<int64_t> backward = NaiveOptimum(instance);
    if (backward.has_value()) least = std::min(least.value_or(kMaxQuantity), cap + *backward);
  }
  return least;
}

int64_t SumOf(const BlockInstance& instance, const BlockSplit& split) {
  BlockInstance capped = instance;
  for (int64_t cap = 0;; ++cap) {
    capped.rule.forward_cap = cap;
    const int64_t backward = SplitLoad(capped, split);
    if (backward != LoadRule::kNone) return cap + backward;
  }
}

struct FoundBySweep {
  PhaseSweepOutcome outcome;
  int64_t best = kMaxQuantity;
  std::vector<int64_t> bounds;
};

FoundBySweep SweepAll(const BlockInstance& instance, const SolveLimits& limits = {}) {
  FoundBySweep found;
  TaskArena arena(1);
  const PhaseSweepListener listener{[&](const BlockSplit& split) {
                                      found.best = std::min(found.best, SumOf(instance, split));
                                      return found.best;
                                    },
                                    [&](int64_t bound) { found.bounds.push_back(bound); }};
  found.outcome = SweepForwardCaps(instance, 0, kMaxQuantity, {}, limits, arena, listener);
  return found;
}

TEST(SweepForwardCapsTest, FindsTheLeastSumOfBothMaxima) {
  RandomStream random(1);
  int solved = 0;
  int swept = 0;
  for (int i = 0; i < 150; ++i) {
    const BlockInstance instance = MakePhasedInstance(i, random);
    const std::optional<int64_t> optimum = NaiveLeastSum(instance);
    const FoundBySweep found = SweepAll(instance);
    ASSERT_EQ(found.outcome.end, IdealDpEnd::kProven);
    ASSERT_EQ(found.best < kMaxQuantity, optimum.has_value()) << i;
    if (!optimum.has_value()) continue;
    ASSERT_EQ(found.best, *optimum) << i;
    ASSERT_EQ(found.outcome.lower_bound, *optimum) << i;
    ASSERT_TRUE(std::is_sorted(found.bounds.begin(), found.bounds.end()));
    ++solved;
    if (found.outcome.caps > 0) ++swept;
  }
  EXPECT_GT(solved, 100);
  EXPECT_GT(swept, 20);
}

TEST(SweepForwardCapsTest, BoundsHoldWhereItIsCutOff) {
  RandomStream random(2);
  for (int i = 0; i < 20; ++i) {
    const BlockInstance instance = MakePhasedInstance(0, random);
    const std::optional<int64_t> optimum = NaiveLeastSum(instance);
    if (!optimum.has_value()) continue;
    const int64_t all = SweepAll(instance).outcome.work;
    for (int64_t work = 0; work < all; work += std::max<int64_t>(1, all / 7)) {
      SolveLimits limits;
      limits.work = work;
      const FoundBySweep found = SweepAll(instance, limits);
      EXPECT_LE(found.outcome.lower_bound, *optimum);
      EXPECT_GE(found.best, *optimum);
      EXPECT_EQ(found.outcome.end, IdealDpEnd::kWorkLimit);
    }
  }
}

}  // namespace
}  // namespace planwright
