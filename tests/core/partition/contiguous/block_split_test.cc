#include "core/partition/contiguous/block_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "core/base/random.h"
#include "tests/core/partition/block_oracle.h"

namespace planwright {
namespace {

TEST(SplitLoadTest, ChargesANetOncePerPayingDevice) {
  BlockInstance instance = EmptyBlockInstance(4);
  AddNet(instance, {0, 1, 2}, 10);
  AddNet(instance, {2, 3}, 100);
  AddPool(instance, 2, {1, 2, 3, 4});
  AddPool(instance, 1, {1, 2, 3, 4000}).pays_transfers = false;
  // {0, 1}: 3 + 10; {2, 3}: 7 + 10.
  EXPECT_EQ(SplitLoad(instance, {{{0, {0, 1}}, {0, {2, 3}}}, 0}), 17);
  // {0, 1, 2}: 6 + 100; {3} on the pool that does not pay.
  EXPECT_EQ(SplitLoad(instance, {{{0, {0, 1, 2}}, {1, {3}}}, 0}), 4000);
  EXPECT_EQ(SplitLoad(instance, {}), 0);
}

TEST(SplitLoadTest, EqualsTheNaiveLoadOfRandomStages) {
  RandomStream random(1);
  for (int i = 0; i < 300; ++i) {
    const BlockInstance instance = MakeBlockInstance({}, random);
    BlockSplit split;
    int64_t expected = 0;
    for (std::size_t pool = 0; pool < instance.pools.size(); ++pool) {
      BlockSplit::Stage& stage = split.stages.emplace_back();
      stage.pool = pool;
      const auto set = static_cast<BlockSet>(random.Below(FullSet(instance) + 1));
      for (int32_t block = 0; block < instance.num_blocks(); ++block) {
        if ((set >> static_cast<unsigned>(block) & 1U) != 0) stage.blocks.push_back(block);
      }
      expected = std::max(expected, NaiveLoad(instance, pool, set));
    }
    ASSERT_EQ(SplitLoad(instance, split), expected);
  }
}

}  // namespace
}  // namespace planwright
