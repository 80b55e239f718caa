#include "core/schedule/pattern_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/base/index.h"
#include "core/base/random.h"
#include "core/cost/chain/periodic_costing.h"
#include "core/schedule/one_f_one_b_star.h"
#include "tests/support/pattern_oracle.h"
#include "tests/support/random_chain.h"

namespace planwright {
namespace {

struct SearchedCase {
  Chain chain;
  ChainDevices devices;
  ChainAllocation allocation;
};

// Memory binds in most cases.
SearchedCase MakeSearchedCase(uint64_t seed, const RandomChainOptions& options, int32_t most_stages) {
  RandomStream random(seed);
  SearchedCase made{MakeRandomChain(options, random), {}, {}};
  made.devices.count = static_cast<int32_t>(random.Between(1, 3));
  made.devices.full_duplex = random.Below(3) == 0;
  made.allocation = MakeRandomAllocation(options.layers, made.devices.count, most_stages, random);
  made.devices.memory_bytes = BytesWithBatches(made.chain, made.devices, made.allocation, 0.8 + 1.4 * random.Unit());
  if (random.Below(10) == 0) made.devices.memory_bytes.reset();
  return made;
}

int64_t TotalTime(const SearchedCase& instance) {
  int64_t time = 0;
  for (const ChainLayer& layer : instance.chain.layers) time += (layer.forward + layer.backward).count();
  for (const ChainCut& cut : instance.chain.cuts) time += (cut.send_forward + cut.send_backward).count();
  return time;
}

void ExpectIsPattern(const SearchedCase& instance, const PeriodicPattern& pattern) {
  EXPECT_EQ(FaultOf(instance.chain, instance.devices, instance.allocation, pattern), "");
  const std::vector<int64_t> peaks = SweptPeaks(instance.chain, instance.devices, instance.allocation, pattern);
  EXPECT_EQ(
      MemoryOf(instance.chain, ChainSums(instance.chain), instance.devices, instance.allocation, pattern).peak_bytes,
      peaks);
  if (instance.devices.memory_bytes.has_value()) {
    EXPECT_LE(*std::max_element(peaks.begin(), peaks.end()), *instance.devices.memory_bytes);
  }
}

TEST(PatternSearchTest, FindsTheShortestPeriodThatEnumerationFinds) {
  int feasible = 0;
  int infeasible = 0;
  int above_load = 0;
  for (uint64_t seed = 0; seed < 800; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed, 1);
    const RandomChainOptions options{
        .layers = static_cast<int32_t>(random.Between(2, 4)), .max_time = 3, .has_backward = random.Below(8) != 0};
    const SearchedCase instance = MakeSearchedCase(seed, options, 2);
    const ChainSums sums(instance.chain);
    const PatternConstraints constraints = ConstraintsOf(instance.chain, sums, instance.devices, instance.allocation);
    const PatternOutcome outcome = PatternSearch(instance.chain, instance.devices, instance.allocation, {});
    EXPECT_TRUE(outcome.is_proven);
    const int64_t tried = outcome.pattern.has_value() ? outcome.pattern->period.count() - 1 : TotalTime(instance);
    // As many ways to start as enumeration can go through.
    if (std::pow(static_cast<double>(tried), constraints.num_steps() - 1) > 1e6) continue;
    EXPECT_FALSE(tried > 0 && ExistsPattern(instance.chain, instance.devices, instance.allocation, tried));
    if (!outcome.pattern.has_value()) {
      EXPECT_FALSE(outcome.lower_bound.has_value());
      ++infeasible;
      continue;
    }
    ++feasible;
    ExpectIsPattern(instance, *outcome.pattern);
    const int64_t period = outcome.pattern->period.count();
    EXPECT_EQ(outcome.lower_bound, outcome.pattern->period);
    if (period > constraints.load) ++above_load;
  }
  EXPECT_GT(feasible, 300);
  EXPECT_GT(infeasible, 30);
  EXPECT_GT(above_load, 10);
}

TEST(PatternSearchTest, FindsPatternsOfManyStages) {
  int feasible = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const SearchedCase instance =
        MakeSearchedCase(seed, {.layers = 12, .max_time = 1000, .has_backward = seed % 9 != 0}, 4);
    SolveLimits limits;
    limits.work = 2000;
    const PatternOutcome outcome = PatternSearch(instance.chain, instance.devices, instance.allocation, limits);
    if (!outcome.pattern.has_value()) continue;
    ++feasible;
    ExpectIsPattern(instance, *outcome.pattern);
    EXPECT_LE(*outcome.lower_bound, outcome.pattern->period);
    EXPECT_EQ(outcome.is_proven, *outcome.lower_bound == outcome.pattern->period);
  }
  EXPECT_GT(feasible, 150);
}

TEST(PatternSearchTest, EqualsOneFOneBStarOnContiguousAllocations) {
  int compared = 0;
  int above_load = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed);
    const RandomChainOptions options{.layers = 10, .max_time = 1'000'000, .has_backward = seed % 12 != 0};
    const Chain chain = MakeRandomChain(options, random);
    ChainDevices devices{8, std::nullopt, seed % 3 == 0};
    const ChainAllocation allocation = MakeRandomContiguousAllocation(options.layers, devices.count, random);
    devices.memory_bytes = BytesWithBatches(chain, devices, allocation, 0.9 + 2 * random.Unit());
    const PatternOutcome outcome = PatternSearch(chain, devices, allocation, {});
    const std::optional<Picoseconds> expected = SmallestPeriod(chain, allocation, devices);
    ASSERT_TRUE(outcome.is_proven);
    ASSERT_EQ(outcome.pattern.has_value(), expected.has_value());
    if (!expected.has_value()) continue;
    const PatternConstraints constraints = ConstraintsOf(chain, ChainSums(chain), devices, allocation);
    EXPECT_EQ(outcome.pattern->period, *expected);
    ++compared;
    if (expected->count() > constraints.load) ++above_load;
  }
  EXPECT_GT(compared, 400);
  EXPECT_GT(above_load, 150);
}

TEST(PatternSearchTest, KeepsWhatLongerPeriodsAllow) {
  int decided = 0;
  for (uint64_t seed = 0; seed < 80; ++seed) {
    RandomStream random(seed, 1);
    const SearchedCase instance = MakeSearchedCase(seed, {.layers = 8, .max_time = 100}, 3);
    const ChainSums sums(instance.chain);
    PatternSearcher searcher(instance.chain, sums, instance.devices);
    searcher.SetAllocation(instance.allocation);
    const PatternOutcome outcome = searcher.FindShortest({});
    if (!outcome.pattern.has_value()) continue;
    for (int probe = 0; probe < 10; ++probe) {
      const Picoseconds period(random.Between(1, 2 * TotalTime(instance)));
      const bool is_long_enough = period >= outcome.pattern->period;
      EXPECT_EQ(searcher.Decide(period, {}), is_long_enough ? PatternAnswer::kFeasible : PatternAnswer::kInfeasible)
          << seed << " " << period.count();
      if (is_long_enough) ++decided;
    }
  }
  EXPECT_GT(decided, 200);
}

TEST(PatternSearchTest, NeverNeedsLongerForAStageCutInTwoOnItsDevice) {
  int shorter = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    RandomStream random(seed, 1);
    SearchedCase instance = MakeSearchedCase(seed, {.layers = 8, .max_time = 100}, 2);
    const PatternOutcome whole = PatternSearch(instance.chain, instance.devices, instance.allocation, {});
    const std::size_t stage = random.Below(instance.allocation.size());
    ChainStage& front = instance.allocation[stage];
    if (!whole.pattern.has_value() || front.first_layer == front.last_layer) continue;
    ChainStage back = front;
    front.last_layer = static_cast<int32_t>(random.Between(front.first_layer, front.last_layer - 1));
    back.first_layer = front.last_layer + 1;
    instance.allocation.insert(instance.allocation.begin() + static_cast<std::ptrdiff_t>(stage) + 1, back);
    const PatternOutcome cut = PatternSearch(instance.chain, instance.devices, instance.allocation, {});
    ASSERT_TRUE(cut.pattern.has_value()) << seed;
    EXPECT_LE(cut.pattern->period, whole.pattern->period) << seed;
    if (cut.pattern->period < whole.pattern->period) ++shorter;
  }
  EXPECT_GT(shorter, 3);
}

TEST(PatternSearchTest, ScalesWithTime) {
  for (uint64_t seed = 0; seed < 80; ++seed) {
    SearchedCase instance = MakeSearchedCase(seed, {.layers = 8, .max_time = 100}, 3);
    const PatternOutcome before = PatternSearch(instance.chain, instance.devices, instance.allocation, {});
    for (ChainLayer& layer : instance.chain.layers) {
      layer.forward *= 1000;
      layer.backward *= 1000;
    }
    for (ChainCut& cut : instance.chain.cuts) {
      cut.send_forward *= 1000;
      cut.send_backward *= 1000;
    }
    const PatternOutcome after = PatternSearch(instance.chain, instance.devices, instance.allocation, {});
    ASSERT_EQ(before.pattern.has_value(), after.pattern.has_value());
    if (!before.pattern.has_value()) continue;
    // The period of integer times is rounded up to whole picoseconds.
    EXPECT_LE(after.pattern->period, 1000 * before.pattern->period) << seed;
    EXPECT_GT(after.pattern->period, 1000 * (before.pattern->period - Picoseconds(1))) << seed;
  }
}

TEST(PatternSearchTest, SaysWhatItKnowsWhenItHasToStop) {
  const std::stop_source source;
  source.request_stop();
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const SearchedCase instance = MakeSearchedCase(seed, {.layers = 12, .max_time = 1000}, 4);
    const PatternOutcome whole = PatternSearch(instance.chain, instance.devices, instance.allocation, {});
    SolveLimits limits;
    limits.work = 1;
    limits.stop = source.get_token();
    const PatternOutcome cut = PatternSearch(instance.chain, instance.devices, instance.allocation, limits);
    ASSERT_EQ(cut.pattern.has_value(), whole.pattern.has_value()) << seed;
    if (!whole.pattern.has_value()) continue;
    ExpectIsPattern(instance, *cut.pattern);
    EXPECT_GE(cut.pattern->period, whole.pattern->period) << seed;
    EXPECT_LE(*cut.lower_bound, whole.pattern->period) << seed;
  }
}

// A node of a thousand steps takes many seconds, and the tree may not keep many of them (the time limit of the suite is
// what would tell).
TEST(PatternSearchTest, StopsWithinANodeOfVeryManySteps) {
  constexpr int32_t kLayers = 260;
  RandomStream random(7);
  SearchedCase instance{MakeRandomChain({.layers = kLayers}, random), {}, {}};
  instance.devices.count = 65;
  for (int32_t layer = 0; layer < kLayers; ++layer) instance.allocation.push_back({layer, layer, layer % 65});
  instance.devices.memory_bytes = BytesWithBatches(instance.chain, instance.devices, instance.allocation, 4);
  const ChainSums sums(instance.chain);
  PatternSearcher searcher(instance.chain, sums, instance.devices);
  searcher.SetAllocation(instance.allocation);
  SolveLimits limits;
  limits.deadline = SolveLimits::Clock::now() + std::chrono::milliseconds(20);
  EXPECT_NE(searcher.Decide(Picoseconds(TotalTime(instance) / 8), limits), PatternAnswer::kInfeasible);
}

}  // namespace
}  // namespace planwright
