#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/index.h"
#include "core/partition/periodic/contiguous_optimum.h"
#include "core/partition/periodic/stage_costs.h"
#include "core/schedule/one_f_one_b_star.h"
#include "tests/core/partition/periodic/chain_case.h"

namespace planwright {
namespace {

// The largest load over all cuts that obey the memory rule.
std::optional<Picoseconds> BestByPipedream(const ChainCase& instance) {
  const ChainStageCosts costs(instance.chain, instance.devices);
  std::optional<Picoseconds> best;
  for (std::vector<int32_t> starts : AllCuts(costs.num_layers())) {
    starts.insert(starts.begin(), 0);
    const auto num_stages = static_cast<int32_t>(starts.size());
    if (num_stages > instance.devices.count) continue;
    starts.push_back(costs.num_layers());
    Picoseconds load(1);
    bool fits = true;
    for (int32_t stage = 0; stage < num_stages; ++stage) {
      const int32_t first = starts[Index(stage)];
      const int32_t last = starts[Index(stage) + 1] - 1;
      fits = fits && costs.Fits(first, last, num_stages - stage);
      load = std::max(load, costs.Load(first, last));
      if (first > 0) load = std::max(load, costs.LinkLoad(first));
    }
    if (fits && load <= best.value_or(load)) best = load;
  }
  return best;
}

TEST(PipedreamPartitionTest, EqualsBruteForce) {
  int feasible = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const ChainCase instance = MakeChainCase(seed, 9);
    const auto partition = PipedreamPartition(instance.chain, instance.devices);
    const std::optional<Picoseconds> expected = BestByPipedream(instance);
    ASSERT_EQ(partition.has_value(), expected.has_value());
    if (!partition.has_value()) continue;
    ++feasible;
    EXPECT_EQ(partition->period, *expected);
  }
  EXPECT_GT(feasible, 150);
}

// What fits by its rule fits with one micro-batch, so 1F1B* can run it; no partition beats the best one.
TEST(PipedreamPartitionTest, IsScheduledNoBetterThanTheContiguousOptimum) {
  int slower = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const ChainCase instance = MakeChainCase(seed, 12);
    const auto partition = PipedreamPartition(instance.chain, instance.devices);
    if (!partition.has_value()) continue;
    const auto period = SmallestPeriod(instance.chain, partition->allocation, instance.devices);
    const auto optimum = ContiguousOptimum(instance.chain, instance.devices);
    ASSERT_TRUE(period.has_value() && optimum.has_value()) << seed;
    EXPECT_GE(*period, partition->period) << seed;
    EXPECT_GE(*period, optimum->period) << seed;
    if (*period > optimum->period) ++slower;
  }
  EXPECT_GT(slower, 3);
}

}  // namespace
}  // namespace planwright
