#include "tests/reference/madpipe_grid.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "core/partition/periodic/madpipe.h"
#include "tests/core/partition/periodic/chain_case.h"

namespace planwright {
namespace {

TEST(MadpipeGridTest, IsNeverBelowTheExactProgram) {
  int feasible = 0;
  int above = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    ChainCase instance = MakeChainCase(seed, 10);
    ScaleTimes(1'000'000, instance.chain);
    const auto grid = MadpipeGrid(instance.chain, instance.devices);
    const auto exact = MadpipeOptimum(instance.chain, instance.devices, SpecialMemory::kPaper);
    if (!grid.has_value()) continue;
    ASSERT_TRUE(exact.has_value());
    EXPECT_GE(grid->period, exact->period);
    ++feasible;
    if (grid->period > exact->period) ++above;
    // Its allocation is one of those that the exact program looks at.
    EXPECT_TRUE(MadpipeAllocation(instance.chain, instance.devices, SpecialMemory::kPaper, grid->period).has_value());
  }
  EXPECT_GT(feasible, 30);
  EXPECT_GT(above, 10);
}

// Ten halvings leave a thousandth of the whole time, and what 50 steps of the delay cost does not matter without
// memory.
TEST(MadpipeGridTest, ComesCloseWhereMemoryIsUnlimited) {
  for (uint64_t seed = 1; seed < 60; seed += 4) {
    ChainCase instance = MakeChainCase(seed, 10);
    ScaleTimes(1'000'000, instance.chain);
    const auto grid = MadpipeGrid(instance.chain, instance.devices);
    const auto exact = MadpipeOptimum(instance.chain, instance.devices, SpecialMemory::kPaper);
    ASSERT_TRUE(grid.has_value() && exact.has_value()) << seed;
    EXPECT_LE(grid->period, exact->period * 5 / 4) << seed;
  }
}

}  // namespace
}  // namespace planwright
