#include "core/partition/periodic/general_allocations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/base/index.h"
#include "core/partition/periodic/allocation_annealer.h"
#include "core/partition/periodic/allocation_bound.h"
#include "core/partition/periodic/contiguous_optimum.h"
#include "core/partition/periodic/stage_costs.h"
#include "core/schedule/pattern_search.h"
#include "tests/core/partition/periodic/chain_case.h"
#include "tests/support/pattern_oracle.h"
#include "tests/support/random_chain.h"

namespace planwright {
namespace {

GeneralAllocationOutcome Find(const ChainCase& instance, int64_t work, std::vector<ChainAllocation> starts = {},
                              int threads = 1) {
  TaskArena arena(threads);
  SolveLimits limits;
  limits.work = work;
  return FindGeneralAllocation({instance.chain, instance.devices, 4, std::move(starts), 1}, limits, arena,
                               [](const ScheduledAllocation&) {});
}

// Every allocation with at most 4 stages per device, devices by first use, that may be shorter than the best.
class Enumeration {
 public:
  explicit Enumeration(const ChainCase& instance)
      : instance_(instance),
        sums_(instance.chain),
        energy_(instance.chain, sums_, instance.devices),
        searcher_(instance.chain, sums_, instance.devices) {}

  std::optional<Picoseconds> Best() {
    Extend(0);
    return best_;
  }

 private:
  void Extend(int32_t first) {
    if (first == sums_.num_layers()) {
      Judge();
      return;
    }
    int32_t used = 0;
    for (const ChainStage& stage : stages_) used = std::max(used, stage.device + 1);
    for (int32_t device = 0; device < std::min(used + 1, instance_.devices.count); ++device) {
      const auto is_there = [device](const ChainStage& stage) { return stage.device == device; };
      if (std::count_if(stages_.begin(), stages_.end(), is_there) == 4) continue;
      for (int32_t last = first; last < sums_.num_layers(); ++last) {
        stages_.push_back({first, last, device});
        Extend(last + 1);
        stages_.pop_back();
      }
    }
  }

  void Judge() {
    const Picoseconds target = best_.value_or(PeriodsOf(instance_.chain, instance_.devices).high) - Picoseconds(1);
    if (target.count() < 1 || (best_.has_value() && energy_.Of(stages_, target) > 0)) return;
    searcher_.SetAllocation(stages_);
    const PatternOutcome found = best_.has_value() ? searcher_.FindShortest({}, target) : searcher_.FindShortest({});
    EXPECT_TRUE(found.is_proven || !found.pattern.has_value());
    if (found.pattern.has_value()) best_ = found.pattern->period;
  }

  const ChainCase& instance_;
  const ChainSums sums_;
  AllocationEnergy energy_;
  PatternSearcher searcher_;
  ChainAllocation stages_;
  std::optional<Picoseconds> best_;
};

TEST(AllocationEnergyTest, IsZeroWhereAPatternExists) {
  int patterns = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    RandomStream random(seed, 2);
    const ChainCase instance = MakeChainCase(seed, 9);
    const auto layers = static_cast<int32_t>(instance.chain.layers.size());
    const ChainAllocation allocation = MakeRandomAllocation(layers, instance.devices.count, 4, random);
    const PatternOutcome outcome = PatternSearch(instance.chain, instance.devices, allocation, {});
    if (!outcome.pattern.has_value()) continue;
    ++patterns;
    const ChainSums sums(instance.chain);
    AllocationEnergy energy(instance.chain, sums, instance.devices);
    EXPECT_EQ(energy.Of(allocation, outcome.pattern->period), 0) << seed;
    EXPECT_EQ(energy.Of(allocation, 2 * outcome.pattern->period), 0) << seed;
  }
  EXPECT_GT(patterns, 300);
}

TEST(GeneralAllocationsTest, FindsValidPatternsNeverWorseThanContiguousOnes) {
  int shorter = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const ChainCase instance = MakeChainCase(seed, 14);
    const std::optional<PeriodicAllocation> contiguous = ContiguousOptimum(instance.chain, instance.devices);
    const GeneralAllocationOutcome outcome = Find(instance, 20'000);
    ASSERT_TRUE(outcome.best.has_value() || !contiguous.has_value());
    if (!outcome.best.has_value()) continue;
    const auto& [allocation, pattern] = *outcome.best;
    EXPECT_EQ(FaultOf(instance.chain, instance.devices, allocation, pattern), "");
    if (instance.devices.memory_bytes.has_value()) {
      const std::vector<int64_t> peaks = SweptPeaks(instance.chain, instance.devices, allocation, pattern);
      EXPECT_LE(*std::max_element(peaks.begin(), peaks.end()), *instance.devices.memory_bytes);
    }
    EXPECT_GE(pattern.period, outcome.lower_bound.value());
    if (!contiguous.has_value()) continue;
    EXPECT_LE(pattern.period, contiguous->period);
    if (pattern.period < contiguous->period) ++shorter;
  }
  EXPECT_GT(shorter, 10);
}

TEST(GeneralAllocationsTest, EqualsEnumerationAlmostAlways) {
  int compared = 0;
  int equal = 0;
  int provable = 0;
  int proven = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RandomStream random(seed, 3);
    ChainCase instance = MakeChainCase(seed, 7);
    if (instance.chain.layers.size() < 5) continue;
    instance.devices.count = static_cast<int32_t>(random.Between(2, 3));
    const std::optional<Picoseconds> shortest = Enumeration(instance).Best();
    const GeneralAllocationOutcome outcome = Find(instance, 100'000);
    ++compared;
    if (!StagesReceive(instance.chain)) ++provable;
    if (outcome.best.has_value()) {
      EXPECT_GE(outcome.best->pattern.period, shortest.value()) << seed;
      EXPECT_LE(outcome.lower_bound.value(), shortest.value()) << seed;
    }
    const bool is_equal = outcome.best.has_value() == shortest.has_value() &&
                          (!shortest.has_value() || outcome.best->pattern.period == *shortest);
    if (is_equal) ++equal;
    if (outcome.best.has_value() ? outcome.lower_bound == outcome.best->pattern.period
                                 : !outcome.lower_bound.has_value()) {
      EXPECT_TRUE(is_equal) << seed;
      ++proven;
    }
  }
  EXPECT_GT(compared, 20);
  EXPECT_GE(equal, 0.95 * compared);
  EXPECT_GE(proven, 0.9 * provable);
}

TEST(GeneralAllocationsTest, DoesNotDependOnThreads) {
  for (uint64_t seed = 2; seed < 12; ++seed) {
    const ChainCase instance = MakeChainCase(seed, 14);
    const GeneralAllocationOutcome one = Find(instance, 20'000);
    const GeneralAllocationOutcome three = Find(instance, 20'000, {}, 3);
    ASSERT_EQ(one.best.has_value(), three.best.has_value());
    EXPECT_EQ(one.work.units, three.work.units);
    if (!one.best.has_value()) continue;
    EXPECT_EQ(one.best->allocation, three.best->allocation);
    EXPECT_EQ(one.best->pattern, three.best->pattern);
  }
}

TEST(GeneralAllocationsTest, NeverGetsWorseWithMoreMemoryAndTheLastPlan) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    ChainCase instance = MakeChainCase(seed, 14);
    std::optional<Picoseconds> before;
    std::vector<ChainAllocation> starts;
    for (int64_t memory = 20; memory < 400; memory += memory / 3) {
      instance.devices.memory_bytes = memory;
      const GeneralAllocationOutcome outcome = Find(instance, 4'000, starts);
      ASSERT_TRUE(outcome.best.has_value() || !before.has_value()) << seed << " " << memory;
      if (!outcome.best.has_value()) continue;
      EXPECT_LE(outcome.best->pattern.period, before.value_or(outcome.best->pattern.period)) << seed << " " << memory;
      before = outcome.best->pattern.period;
      starts = {outcome.best->allocation};
    }
  }
}

TEST(GeneralAllocationsTest, ProvesChainsOfTwelveLayers) {
  int proven = 0;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    RandomStream random(seed, 5);
    ChainCase instance{MakeRandomChain({.layers = 12, .max_time = 1'000'000}, random), {}};
    instance.devices.count = static_cast<int32_t>(random.Between(2, 3));
    instance.devices.memory_bytes = random.Between(150, 250);
    const GeneralAllocationOutcome outcome = Find(instance, kGeneralAllocationWork);
    ASSERT_TRUE(outcome.best.has_value()) << seed;
    if (outcome.lower_bound == outcome.best->pattern.period) ++proven;
  }
  EXPECT_GE(proven, 4);
}

// Where the optimum is proven, no plan has to be handed on.
TEST(GeneralAllocationsTest, NeverGetsWorseWithMoreMemoryOnShortChains) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    ChainCase instance = MakeChainCase(seed, 9);
    instance.devices.count = std::min(instance.devices.count, 3);
    std::optional<Picoseconds> before;
    for (int64_t memory = 20; memory < 300; memory += memory / 4) {
      instance.devices.memory_bytes = memory;
      const GeneralAllocationOutcome outcome = Find(instance, 60'000);
      ASSERT_TRUE(outcome.best.has_value() || !before.has_value()) << seed << " " << memory;
      if (!outcome.best.has_value()) continue;
      EXPECT_LE(outcome.best->pattern.period, before.value_or(outcome.best->pattern.period)) << seed << " " << memory;
      before = outcome.best->pattern.period;
    }
  }
}

TEST(AllocationBoundTest, HoldsForEveryPattern) {
  int binding = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    RandomStream random(seed, 4);
    const ChainCase instance = MakeChainCase(seed, 9);
    const auto layers = static_cast<int32_t>(instance.chain.layers.size());
    const ChainAllocation allocation = MakeRandomAllocation(layers, instance.devices.count, 4, random);
    const PatternOutcome outcome = PatternSearch(instance.chain, instance.devices, allocation, {});
    const std::optional<Picoseconds> bound = AllocationBound(instance.chain, instance.devices);
    if (bound.has_value() && *bound > PeriodsOf(instance.chain, instance.devices).low) ++binding;
    if (!outcome.pattern.has_value()) continue;
    ASSERT_TRUE(bound.has_value()) << seed;
    EXPECT_LE(*bound, outcome.pattern->period) << seed;
  }
  EXPECT_GT(binding, 50);
}

TEST(GeneralAllocationsTest, StopsWhenAsked) {
  const ChainCase instance = MakeChainCase(3, 14);
  const std::stop_source source;
  source.request_stop();
  SolveLimits limits;
  limits.stop = source.get_token();
  TaskArena arena(1);
  const GeneralAllocationOutcome outcome =
      FindGeneralAllocation({instance.chain, instance.devices, 4, {}, 1}, limits, arena, [](const auto&) {});
  EXPECT_LE(outcome.work.moves, 8 * 64);
}

}  // namespace
}  // namespace planwright
