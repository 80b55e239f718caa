#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/base/random.h"
#include "core/partition/search/block_merging.h"

namespace planwright {
namespace {

// A chain of blocks with these times; net i joins the blocks i and i + 1 and has weights[i].
BlockInstance MakeChain(const std::vector<int64_t>& times, const std::vector<int64_t>& weights) {
  BlockInstance instance;
  instance.operators.resize(times.size());
  instance.nets_of.resize(times.size());
  instance.pools.emplace_back().time = times;
  instance.pools.front().supported.assign(times.size(), true);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    Net& net = instance.nets.emplace_back();
    net.blocks = {static_cast<int32_t>(i), static_cast<int32_t>(i + 1)};
    net.weight = weights[i];
    for (const int32_t block : net.blocks) {
      instance.nets_of[static_cast<std::size_t>(block)].push_back(static_cast<int32_t>(i));
    }
  }
  return instance;
}

std::vector<int32_t> Natural(std::size_t size) {
  std::vector<int32_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

TEST(RunsOfTest, CutsWhereLeastIsSent) {
  const BlockInstance chain = MakeChain({5, 5, 5, 5, 5, 5}, {9, 1, 9, 9, 2});
  EXPECT_EQ(RunsOf(chain, Natural(6), 3), (std::vector<int32_t>{0, 0, 1, 1, 1, 2}));
}

TEST(RunsOfTest, LeavesShortOrdersWhole) {
  const BlockInstance chain = MakeChain({5, 1, 7}, {1, 1});
  EXPECT_EQ(RunsOf(chain, Natural(3), 1), (std::vector<int32_t>{0, 0, 0}));
}

TEST(RunsOfTest, AscendsAlongTheOrderAndHasAtMostSoManyRuns) {
  RandomStream random(7);
  for (int round = 0; round < 100; ++round) {
    std::vector<int64_t> times(static_cast<std::size_t>(random.Below(200)) + 1);
    std::vector<int64_t> weights(times.size() - 1);
    for (int64_t& time : times) time = static_cast<int64_t>(random.Below(50));
    for (int64_t& weight : weights) weight = static_cast<int64_t>(random.Below(50));
    const auto max_runs = static_cast<std::size_t>(random.Below(20)) + 1;
    const std::vector<int32_t> runs = RunsOf(MakeChain(times, weights), Natural(times.size()), max_runs);
    ASSERT_EQ(runs.front(), 0);
    for (std::size_t i = 1; i < runs.size(); ++i) {
      ASSERT_TRUE(runs[i] == runs[i - 1] || runs[i] == runs[i - 1] + 1);
    }
    ASSERT_LT(static_cast<std::size_t>(runs.back()), max_runs);
  }
}

}  // namespace
}  // namespace planwright
