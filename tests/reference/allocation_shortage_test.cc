#include "tests/reference/allocation_shortage.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "core/partition/periodic/contiguous_optimum.h"
#include "core/partition/periodic/madpipe.h"
#include "tests/core/partition/periodic/chain_case.h"

namespace planwright {
namespace {

TEST(AllocationShortageTest, NamesTheLayerThatMissesMost) {
  Chain chain = MakeThreeLayers();
  chain.layers[1].workspace_bytes = 7;
  chain.layers[2].workspace_bytes = 7;
  EXPECT_EQ(ShortageOfAnyAllocation(chain, {.count = 3, .memory_bytes = 14}), (AllocationShortage{1, 22, 14}));
  EXPECT_EQ(ShortageOfAnyAllocation(chain, {.count = 3, .memory_bytes = 21}), (AllocationShortage{1, 22, 21}));
  EXPECT_EQ(ShortageOfAnyAllocation(chain, {.count = 3, .memory_bytes = 22}), std::nullopt);
  EXPECT_EQ(ShortageOfAnyAllocation(chain, {.count = 1, .memory_bytes = std::nullopt}), std::nullopt);
}

TEST(AllocationShortageTest, NamesAllLayersWhereEachOneFits) {
  EXPECT_EQ(ShortageOfAnyAllocation(MakeThreeLayers(), {.count = 2, .memory_bytes = 22}),
            (AllocationShortage{std::nullopt, 45, 44}));
}

TEST(AllocationShortageTest, IsNotThereWhereOnlyContiguousStagesAreShort) {
  const Chain chain = MakeThreeLayers();
  EXPECT_EQ(ShortageOfAnyAllocation(chain, {.count = 2, .memory_bytes = 23}), std::nullopt);
}

TEST(AllocationShortageTest, RulesContiguousStagesOutAsWell) {
  int short_for_any = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    ChainCase instance = MakeChainCase(seed, 8);
    if (instance.devices.memory_bytes.has_value()) *instance.devices.memory_bytes /= 2;
    const auto any = ShortageOfAnyAllocation(instance.chain, instance.devices);
    if (!any.has_value()) continue;
    EXPECT_TRUE(ShortageOfContiguous(instance.chain, instance.devices).has_value());
    // Of a special device with several stages less is counted than they need together.
    if (any->layer.has_value()) {
      EXPECT_FALSE(MadpipeOptimum(instance.chain, instance.devices, SpecialMemory::kTight).has_value());
    }
    ++short_for_any;
  }
  EXPECT_GT(short_for_any, 50);
}

}  // namespace
}  // namespace planwright
