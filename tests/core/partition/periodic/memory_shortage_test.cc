
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "core/partition/periodic/contiguous_optimum.h"
#include "tests/core/partition/periodic/chain_case.h"

namespace planwright {
namespace {

// 23 bytes on each of 2 devices hold the last layer with its buffer, and the first one with its own; the middle one
// would need both buffers, or two layers on a device.
TEST(MemoryShortageTest, NamesTheLayerThatIsLeftOver) {
  const Chain chain = MakeThreeLayers();
  EXPECT_EQ(ShortageOfContiguous(chain, {.count = 2, .memory_bytes = 23}), (MemoryShortage{0, 34, 23}));
  EXPECT_EQ(ShortageOfContiguous(chain, {.count = 2, .memory_bytes = 19}), (MemoryShortage{1, 23, 19}));
  EXPECT_EQ(ShortageOfContiguous(chain, {.count = 2, .memory_bytes = 34}), std::nullopt);
  EXPECT_EQ(ShortageOfContiguous(chain, {.count = 2, .memory_bytes = std::nullopt}), std::nullopt);
}

TEST(MemoryShortageTest, IsThereExactlyWhereNothingFits) {
  int short_of_memory = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    ChainCase instance = MakeChainCase(seed, 8);
    if (instance.devices.memory_bytes.has_value()) *instance.devices.memory_bytes /= 2;
    const auto shortage = ShortageOfContiguous(instance.chain, instance.devices);
    EXPECT_EQ(shortage.has_value(), !ContiguousOptimum(instance.chain, instance.devices).has_value());
    if (!shortage.has_value()) continue;
    EXPECT_GT(shortage->needed_bytes, shortage->available_bytes);
    ++short_of_memory;
  }
  EXPECT_GT(short_of_memory, 50);
}

}  // namespace
}  // namespace planwright
