#include "core/partition/contiguous/ideals/lane_prefix_sums.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/base/random.h"

namespace planwright {
namespace {

// Sums of any ideal and searches in a lane, against adding block by block; values of 0 included.
TEST(LanePrefixSumsTest, AddUpWhatTheLanesHold) {
  constexpr int32_t kChains = 3;
  constexpr int32_t kLength = 9;
  std::vector<Digraph::Edge> edges;
  for (int32_t v = 0; v < kChains * kLength; ++v) {
    if ((v + 1) % kLength != 0) edges.emplace_back(v, v + 1);
  }
  std::vector<int32_t> order(kChains * kLength);
  std::iota(order.begin(), order.end(), 0);
  const ChainLayout layout(Digraph(kChains * kLength, edges), order);
  RandomStream random(1);
  std::vector<int64_t> values(order.size());
  for (int64_t& value : values) value = random.Between(0, 3);
  const LanePrefixSums sums(layout, values);
  for (int i = 0; i < 200; ++i) {
    ChainCode<1> code{};
    int64_t total = 0;
    for (std::size_t lane = 0; lane < layout.num_lanes(); ++lane) {
      const std::vector<int32_t>& blocks = layout.lane(lane);
      const std::size_t count = random.Below(blocks.size() + 1);
      layout.Set(code, lane, count);
      int64_t sum = 0;
      for (std::size_t b = 0; b < count; ++b) sum += values[static_cast<std::size_t>(blocks[b])];
      ASSERT_EQ(sums.Of(lane, count), sum);
      total += sum;
      const std::size_t first = sums.FirstAtLeast(sum, lane, 0, blocks.size() + 1);
      ASSERT_LE(first, count);
      ASSERT_EQ(sums.Of(lane, first), sum);
      ASSERT_EQ(sums.FirstAtLeast(sum + 1000, lane, 0, count), count);
    }
    ASSERT_EQ(sums.Below(layout, code), total);
  }
}

}  // namespace
}  // namespace planwright
