#include "core/partition/periodic/contiguous_optimum.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/index.h"
#include "core/partition/periodic/stage_costs.h"
#include "core/schedule/one_f_one_b_star.h"
#include "tests/core/partition/periodic/chain_case.h"

namespace planwright {
namespace {

// Every way to cut the chain, each scheduled by 1F1B*.
std::optional<Picoseconds> BestContiguous(const ChainCase& instance) {
  const auto num_layers = static_cast<int32_t>(instance.chain.layers.size());
  std::optional<Picoseconds> best;
  for (const std::vector<int32_t>& cuts : AllCuts(num_layers)) {
    if (static_cast<int32_t>(cuts.size()) >= instance.devices.count) continue;
    ChainAllocation allocation = {{0, num_layers - 1, 0}};
    for (const int32_t cut : cuts) {
      allocation.back().last_layer = cut - 1;
      allocation.push_back({cut, num_layers - 1, allocation.back().device + 1});
    }
    const std::optional<Picoseconds> period = SmallestPeriod(instance.chain, allocation, instance.devices);
    if (period.has_value() && *period <= best.value_or(*period)) best = period;
  }
  return best;
}

TEST(ContiguousOptimumTest, EqualsBruteForce) {
  int feasible = 0;
  int above_load = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const ChainCase instance = MakeChainCase(seed, 9);
    const std::optional<PeriodicAllocation> optimum = ContiguousOptimum(instance.chain, instance.devices);
    const std::optional<Picoseconds> expected = BestContiguous(instance);
    ASSERT_EQ(optimum.has_value(), expected.has_value());
    if (!optimum.has_value()) continue;
    EXPECT_EQ(optimum->period, *expected);
    EXPECT_EQ(SmallestPeriod(instance.chain, optimum->allocation, instance.devices), optimum->period);
    EXPECT_LE(optimum->allocation.size(), Index(instance.devices.count));
    ++feasible;
    if (optimum->period > PeriodsOf(instance.chain, instance.devices).low) ++above_load;
  }
  EXPECT_GT(feasible, 300);
  EXPECT_GT(above_load, 150);
}

TEST(ContiguousOptimumTest, MoreMemoryNeverHurts) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    ChainCase instance = MakeChainCase(seed, 12);
    std::optional<Picoseconds> before;
    for (int64_t memory = 0; memory < 400; memory += 20) {
      instance.devices.memory_bytes = memory;
      const std::optional<PeriodicAllocation> optimum = ContiguousOptimum(instance.chain, instance.devices);
      ASSERT_TRUE(optimum.has_value() || !before.has_value()) << seed << " " << memory;
      if (!optimum.has_value()) continue;
      EXPECT_LE(optimum->period, before.value_or(optimum->period)) << seed << " " << memory;
      before = optimum->period;
    }
  }
}

TEST(ContiguousOptimumTest, ScalesWithTime) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    ChainCase instance = MakeChainCase(seed, 9);
    instance.devices.full_duplex = false;
    const std::optional<PeriodicAllocation> optimum = ContiguousOptimum(instance.chain, instance.devices);
    ScaleTimes(1000, instance.chain);
    const std::optional<PeriodicAllocation> scaled = ContiguousOptimum(instance.chain, instance.devices);
    ASSERT_EQ(optimum.has_value(), scaled.has_value());
    // The work shared evenly is rounded up.
    if (optimum.has_value()) {
      EXPECT_LE(scaled->period, 1000 * optimum->period) << seed;
      EXPECT_GT(scaled->period, 1000 * (optimum->period - Picoseconds(1))) << seed;
    }
  }
}

TEST(ContiguousOptimumTest, ALayerOfNothingChangesNothing) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    ChainCase instance = MakeChainCase(seed, 9);
    if (instance.chain.cuts.empty()) continue;
    const std::optional<PeriodicAllocation> before = ContiguousOptimum(instance.chain, instance.devices);
    const std::size_t cut = seed % instance.chain.cuts.size();
    const ChainCut across = instance.chain.cuts[cut];
    instance.chain.cuts.insert(instance.chain.cuts.begin() + static_cast<std::ptrdiff_t>(cut), across);
    instance.chain.layers.insert(instance.chain.layers.begin() + static_cast<std::ptrdiff_t>(cut) + 1, ChainLayer{});
    const std::optional<PeriodicAllocation> after = ContiguousOptimum(instance.chain, instance.devices);
    ASSERT_EQ(before.has_value(), after.has_value()) << seed;
    if (before.has_value()) {
      EXPECT_EQ(before->period, after->period) << seed;
    }
  }
}

TEST(ContiguousOptimumTest, BearsExtremes) {
  Chain chain;
  chain.layers = {{.forward = Picoseconds(3), .backward = Picoseconds(4), .static_bytes = 5, .stored_bytes = 2}};
  std::optional<PeriodicAllocation> optimum = ContiguousOptimum(chain, {.count = 7, .memory_bytes = 7});
  ASSERT_TRUE(optimum.has_value());
  EXPECT_EQ(optimum->allocation, (ChainAllocation{{0, 0, 0}}));
  EXPECT_EQ(optimum->period, Picoseconds(7));
  EXPECT_FALSE(ContiguousOptimum(chain, {.count = 7, .memory_bytes = 6}).has_value());

  // Layers without any time.
  chain.layers.assign(3, {.stored_bytes = 1});
  chain.cuts.resize(2);
  optimum = ContiguousOptimum(chain, {.count = 2, .memory_bytes = 2});
  ASSERT_TRUE(optimum.has_value());
  EXPECT_EQ(optimum->period, Picoseconds(1));
  EXPECT_EQ(optimum->allocation.size(), 2U);
}

}  // namespace
}  // namespace planwright
