#include "core/partition/periodic/madpipe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/base/index.h"
#include "core/cost/chain/chain_costs.h"
#include "core/partition/periodic/stage_costs.h"
#include "core/schedule/pattern_search.h"
#include "tests/core/partition/periodic/chain_case.h"

namespace planwright {
namespace {

struct LoadedStage {
  int32_t first = 0;
  int32_t last = 0;
  bool is_special = false;
};

// Whether the paper's conditions hold for these stages at `period`, written down as it prints them.
bool IsPossible(const ChainCase& instance, const std::vector<LoadedStage>& stages, bool tight, int64_t period) {
  const ChainSums sums(instance.chain);
  const auto num_layers = static_cast<int32_t>(instance.chain.layers.size());
  const auto ceil_of = [&](int64_t time) { return (time + period - 1) / period; };
  // A task that takes no time meets nobody.
  const auto plus = [&](int64_t x, int64_t there, int64_t back) {
    const int64_t y = there + back;
    const bool stays = x == 0 || there == 0 || back == 0 || ceil_of(x) == ceil_of(x + y);
    return stays ? x + y : period * ceil_of(x) + y;
  };
  int64_t delay = 0;
  int64_t special_load = 0;
  int64_t special_bytes = 0;
  int64_t largest = 0;
  for (std::size_t i = stages.size(); i-- > 0;) {
    const auto& [first, last, is_special] = stages[i];
    const int64_t load = sums.compute(first, last).count();
    if (load > period) return false;
    const int64_t batches = instance.chain.has_backward ? std::max<int64_t>(1, ceil_of(delay + load)) : 1;
    int64_t bytes = sums.static_bytes(first, last);
    if (first > 0) bytes += instance.chain.cuts[Index(first) - 1].buffer_bytes;
    if (last + 1 < num_layers) bytes += instance.chain.cuts[Index(last)].buffer_bytes;
    const int64_t stored = sums.stored_bytes(first, last);
    const int64_t workspace = sums.workspace_bytes(first, last);
    if (is_special) {
      special_load += load;
      special_bytes += bytes + (batches - 1) * stored;
      largest = std::max(largest, (tight ? stored : 0) + workspace);
    } else if (bytes + workspace + batches * stored > instance.devices.memory_bytes.value_or(kMaxQuantity)) {
      return false;
    }
    delay = plus(delay, sums.forward(first, last).count(), sums.backward(first, last).count());
    if (first == 0) continue;
    const ChainCut& cut = instance.chain.cuts[Index(first) - 1];
    const int64_t there = cut.send_forward.count();
    const int64_t back = cut.send_backward.count();
    if ((instance.devices.full_duplex ? std::max(there, back) : there + back) > period) return false;
    delay = instance.devices.full_duplex ? delay + there + back : plus(delay, there, back);
  }
  return special_load <= period && special_bytes + largest <= instance.devices.memory_bytes.value_or(kMaxQuantity);
}

// Over all cuts and all choices of special stages.
std::optional<int64_t> BestByMadpipe(const ChainCase& instance, bool tight) {
  const auto num_layers = static_cast<int32_t>(instance.chain.layers.size());
  const int64_t longest = PeriodsOf(instance.chain, instance.devices).high.count();
  std::optional<int64_t> best;
  for (const std::vector<int32_t>& cuts : AllCuts(num_layers)) {
    for (uint32_t special = 0; special < uint32_t{1} << (cuts.size() + 1); ++special) {
      std::vector<LoadedStage> stages;
      int32_t normal = 0;
      for (std::size_t i = 0; i <= cuts.size(); ++i) {
        const bool is_special = (special >> i & 1) != 0;
        stages.push_back({i == 0 ? 0 : cuts[i - 1], i == cuts.size() ? num_layers - 1 : cuts[i] - 1, is_special});
        if (!is_special) ++normal;
      }
      if (normal >= instance.devices.count) continue;
      // A longer period is possible where a shorter one is.
      int64_t low = 0;
      int64_t high = best.value_or(longest + 1);
      while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        (IsPossible(instance, stages, tight, middle) ? high : low) = middle;
      }
      if (high <= longest) best = high;
    }
  }
  return best;
}

TEST(MadpipeTest, EqualsEnumeration) {
  int feasible = 0;
  int above_load = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const ChainCase instance = MakeChainCase(seed, 6);
    for (const SpecialMemory memory : {SpecialMemory::kPaper, SpecialMemory::kTight}) {
      const auto optimum = MadpipeOptimum(instance.chain, instance.devices, memory);
      const std::optional<int64_t> expected = BestByMadpipe(instance, memory == SpecialMemory::kTight);
      ASSERT_EQ(optimum.has_value(), expected.has_value());
      if (!optimum.has_value()) continue;
      EXPECT_EQ(optimum->period.count(), *expected);
      ++feasible;
      if (optimum->period > PeriodsOf(instance.chain, instance.devices).low) ++above_load;
    }
  }
  EXPECT_GT(feasible, 300);
  EXPECT_GT(above_load, 100);
}

// Stages of the chain in order; one device has any number of them, the others have one.
void ExpectHasOneSpecialDevice(const ChainCase& instance, const ChainAllocation& allocation) {
  std::vector<int> stages_of(Index(instance.devices.count), 0);
  int32_t next = 0;
  for (const ChainStage& stage : allocation) {
    EXPECT_EQ(stage.first_layer, next);
    next = stage.last_layer + 1;
    ASSERT_LT(stage.device, instance.devices.count);
    ++stages_of[Index(stage.device)];
  }
  EXPECT_EQ(next, static_cast<int32_t>(instance.chain.layers.size()));
  EXPECT_LE(std::count_if(stages_of.begin(), stages_of.end(), [](int count) { return count > 1; }), 1);
}

TEST(MadpipeTest, LiesBetweenTheLoadAndTheContiguousOptimum) {
  int below = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const ChainCase instance = MakeChainCase(seed, 14);
    const auto contiguous = ContiguousOptimum(instance.chain, instance.devices);
    const auto paper = MadpipeOptimum(instance.chain, instance.devices, SpecialMemory::kPaper);
    const auto tight = MadpipeOptimum(instance.chain, instance.devices, SpecialMemory::kTight);
    if (contiguous.has_value()) {
      ASSERT_TRUE(tight.has_value());
      EXPECT_LE(tight->period, contiguous->period);
      if (tight->period < contiguous->period) ++below;
    }
    if (!tight.has_value()) continue;
    ASSERT_TRUE(paper.has_value());
    EXPECT_LE(paper->period, tight->period);
    EXPECT_GE(paper->period, PeriodsOf(instance.chain, instance.devices).low);
    ExpectHasOneSpecialDevice(instance, paper->allocation);
    ExpectHasOneSpecialDevice(instance, tight->allocation);
  }
  EXPECT_GT(below, 20);
}

TEST(MadpipeTest, DecidesWhereItsOptimumLies) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const ChainCase instance = MakeChainCase(seed, 10);
    const auto optimum = MadpipeOptimum(instance.chain, instance.devices, SpecialMemory::kTight);
    if (!optimum.has_value()) continue;
    const auto at = [&](Picoseconds period) {
      return MadpipeAllocation(instance.chain, instance.devices, SpecialMemory::kTight, period);
    };
    EXPECT_TRUE(at(optimum->period).has_value()) << seed;
    if (optimum->period > Picoseconds(1)) {
      EXPECT_FALSE(at(optimum->period - Picoseconds(1)).has_value()) << seed;
    }
  }
}

// What it says of memory is a lower bound, so no pattern of its allocations is shorter.
TEST(MadpipeTest, NoPatternBeatsIt) {
  int scheduled = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const ChainCase instance = MakeChainCase(seed, 8);
    const auto optimum = MadpipeOptimum(instance.chain, instance.devices, SpecialMemory::kTight);
    if (!optimum.has_value() || optimum->allocation.size() > 8) continue;
    SolveLimits limits;
    limits.work = 1000;
    const PatternOutcome outcome = PatternSearch(instance.chain, instance.devices, optimum->allocation, limits);
    if (!outcome.pattern.has_value()) continue;
    ++scheduled;
    EXPECT_GE(outcome.pattern->period, optimum->period) << seed;
  }
  EXPECT_GT(scheduled, 30);
}

TEST(MadpipeTest, MoreMemoryNeverHurts) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    ChainCase instance = MakeChainCase(seed, 12);
    std::optional<Picoseconds> before;
    for (int64_t bytes = 0; bytes < 400; bytes += 40) {
      instance.devices.memory_bytes = bytes;
      const auto optimum = MadpipeOptimum(instance.chain, instance.devices, SpecialMemory::kTight);
      ASSERT_TRUE(optimum.has_value() || !before.has_value()) << seed << " " << bytes;
      if (!optimum.has_value()) continue;
      EXPECT_LE(optimum->period, before.value_or(optimum->period)) << seed << " " << bytes;
      before = optimum->period;
    }
  }
}

TEST(MadpipeTest, MoreWorkNeverHurts) {
  int cut_short = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const ChainCase instance = MakeChainCase(seed, 14);
    const auto optimum = MadpipeOptimum(instance.chain, instance.devices, SpecialMemory::kTight);
    std::optional<Picoseconds> before;
    for (const int64_t work : {0, 20, 80, 320, 1280, 1'000'000}) {
      SolveLimits limits;
      limits.work = work;
      const auto found = MadpipeOptimum(instance.chain, instance.devices, SpecialMemory::kTight, limits);
      ASSERT_TRUE(found.has_value() || !before.has_value()) << seed << " " << work;
      if (!found.has_value()) continue;
      ASSERT_TRUE(optimum.has_value());
      EXPECT_LE(found->period, before.value_or(found->period)) << seed << " " << work;
      if (found->period > optimum->period) ++cut_short;
      before = found->period;
    }
    EXPECT_EQ(before.has_value(), optimum.has_value()) << seed;
    if (before.has_value()) {
      EXPECT_EQ(*before, optimum->period) << seed;
    }
  }
  EXPECT_GT(cut_short, 0);
}

TEST(MadpipeTest, StopsWhenTold) {
  const ChainCase instance = MakeChainCase(1, 14);
  const std::stop_source source;
  source.request_stop();
  SolveLimits limits;
  limits.stop = source.get_token();
  EXPECT_FALSE(MadpipeOptimum(instance.chain, instance.devices, SpecialMemory::kPaper, limits).has_value());
}

}  // namespace
}  // namespace planwright
