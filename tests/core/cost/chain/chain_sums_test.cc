#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/base/random.h"
#include "core/cost/chain/chain_costs.h"

namespace planwright {
namespace {

TEST(ChainSumsTest, AddsUpEveryRangeOfLayers) {
  RandomStream random(1);
  Chain chain;
  for (int i = 0; i < 11; ++i) {
    chain.layers.push_back({Picoseconds(random.Between(0, 99)), Picoseconds(random.Between(0, 99)),
                            random.Between(0, 99), random.Between(0, 99), random.Between(0, 99)});
  }
  chain.cuts.resize(10);
  const ChainSums sums(chain);
  ASSERT_EQ(sums.num_layers(), 11);
  for (int32_t first = 0; first < 11; ++first) {
    ChainLayer sum;
    for (int32_t last = first; last < 11; ++last) {
      const ChainLayer& layer = chain.layers[Index(last)];
      sum.forward += layer.forward;
      sum.backward += layer.backward;
      sum.static_bytes += layer.static_bytes;
      sum.stored_bytes += layer.stored_bytes;
      sum.workspace_bytes = std::max(sum.workspace_bytes, layer.workspace_bytes);
      EXPECT_EQ(sums.forward(first, last), sum.forward);
      EXPECT_EQ(sums.backward(first, last), sum.backward);
      EXPECT_EQ(sums.compute(first, last), sum.forward + sum.backward);
      EXPECT_EQ(sums.static_bytes(first, last), sum.static_bytes);
      EXPECT_EQ(sums.stored_bytes(first, last), sum.stored_bytes);
      EXPECT_EQ(sums.workspace_bytes(first, last), sum.workspace_bytes);
    }
  }
}

TEST(ChainSumsTest, KeepsTheStartOfAStageThatRecomputes) {
  Chain chain;
  for (int64_t i = 1; i <= 3; ++i) chain.layers.push_back({.stored_bytes = i});
  chain.cuts.resize(2);
  EXPECT_EQ(ChainSums(chain).stored_bytes(1, 2), 5);
  chain.layers[1].received_bytes = 10;
  chain.layers[2].received_bytes = 100;
  EXPECT_EQ(ChainSums(chain).stored_bytes(1, 2), 15);
  EXPECT_EQ(ChainSums(chain).stored_bytes(0, 2), 6);
}

TEST(ChainSumsTest, BytesOfManyMicroBatchesSaturate) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(StageBytes(3, 5, 7), 38);
  EXPECT_EQ(StageBytes(0, kMaxQuantity, 2), kLargest);
  EXPECT_EQ(StageBytes(kLargest - 9, 5, 2), kLargest);
}

}  // namespace
}  // namespace planwright
