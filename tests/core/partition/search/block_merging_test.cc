#include "core/partition/search/block_merging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "tests/core/partition/block_oracle.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;

// The instance whose blocks are the sets of blocks with the same label, renumbered in a topological order.
BlockInstance Contract(const BlockInstance& instance, const std::vector<int32_t>& labels) {
  const int32_t size = *std::max_element(labels.begin(), labels.end()) + 1;
  std::vector<Digraph::Edge> edges;
  for (const auto& [from, to] : instance.precedence.edges()) {
    edges.emplace_back(labels[static_cast<std::size_t>(from)], labels[static_cast<std::size_t>(to)]);
  }
  BlockInstance merged = EmptyBlockInstance(size);
  AddEdges(merged, edges);
  for (const Net& net : instance.nets) {
    std::vector<int32_t> blocks;
    for (const int32_t block : net.blocks) blocks.push_back(labels[static_cast<std::size_t>(block)]);
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    if (blocks.size() > 1) AddNet(merged, blocks, net.weight, net.buffer_bytes);
  }
  merged.memory.parameter_factor = instance.memory.parameter_factor;
  merged.memory.reserved = instance.memory.reserved;
  for (const DevicePool& pool : instance.pools) {
    DevicePool& copy = merged.pools.emplace_back(pool);
    copy.time.assign(static_cast<std::size_t>(size), 0);
    copy.supported.assign(static_cast<std::size_t>(size), true);
  }
  for (std::size_t block = 0; block < labels.size(); ++block) {
    const auto to = static_cast<std::size_t>(labels[block]);
    merged.memory.linear[to] += instance.memory.linear[block];
    merged.memory.parameters[to] += instance.memory.parameters[block];
    merged.memory.workspace[to] = std::max(merged.memory.workspace[to], instance.memory.workspace[block]);
    for (std::size_t pool = 0; pool < instance.pools.size(); ++pool) {
      merged.pools[pool].time[to] += instance.pools[pool].time[block];
      if (!instance.pools[pool].supported[block]) merged.pools[pool].supported[to] = false;
    }
  }
  return merged;
}

// Mostly free blocks, some of them with memory.
BlockInstance MakeMostlyFree(bool with_memory, RandomStream& random) {
  BlockInstance instance = MakeBlockInstance({.num_blocks = 7, .constrained = true}, random);
  for (std::size_t block = 0; block < instance.operators.size(); ++block) {
    if (random.Unit() < 0.4) continue;
    for (DevicePool& pool : instance.pools) pool.time[block] = 0;
    if (with_memory && random.Unit() < 0.5) continue;
    instance.memory.linear[block] = instance.memory.parameters[block] = instance.memory.workspace[block] = 0;
  }
  for (Net& net : instance.nets) {
    if (random.Unit() < 0.5) continue;
    net.weight = net.buffer_bytes = 0;
  }
  // As AddNets does: nets that cost nothing are none.
  BlockInstance trimmed = instance;
  trimmed.nets.clear();
  for (auto& nets : trimmed.nets_of) nets.clear();
  for (const Net& net : instance.nets) {
    if (net.weight != 0 || net.buffer_bytes != 0) AddNet(trimmed, net.blocks, net.weight, net.buffer_bytes);
  }
  return trimmed;
}

void WithoutMemoryLimits(BlockInstance& instance) {
  for (DevicePool& pool : instance.pools) pool.memory_bytes.reset();
}

TEST(MergeFreeBlocksTest, KeepsTheOptimumAndFeasibility) {
  RandomStream random(1);
  int merged = 0;
  int infeasible = 0;
  for (int i = 0; i < 500; ++i) {
    const BlockInstance instance = MakeMostlyFree(/*with_memory=*/true, random);
    const std::vector<int32_t> labels = MergeFreeBlocks(instance, MergeRule::kExact);
    const std::optional<int64_t> optimum = NaiveOptimum(instance);
    const BlockInstance contracted = Contract(instance, labels);
    ASSERT_EQ(NaiveOptimum(contracted), optimum) << i;
    if (contracted.num_blocks() < instance.num_blocks()) ++merged;
    if (!optimum.has_value()) ++infeasible;
  }
  EXPECT_GT(merged, 200);
  EXPECT_GT(infeasible, 20);
}

TEST(MergeFreeBlocksTest, IgnoringMemoryKeepsTheOptimumWithoutMemoryLimits) {
  RandomStream random(2);
  int merged_more = 0;
  for (int i = 0; i < 500; ++i) {
    BlockInstance instance = MakeMostlyFree(/*with_memory=*/true, random);
    const std::vector<int32_t> labels = MergeFreeBlocks(instance, MergeRule::kIgnoreMemory);
    if (labels != MergeFreeBlocks(instance, MergeRule::kExact)) ++merged_more;
    WithoutMemoryLimits(instance);
    ASSERT_EQ(NaiveOptimum(Contract(instance, labels)), NaiveOptimum(instance)) << i;
  }
  EXPECT_GT(merged_more, 100);
}

// A split of the coarser blocks must be one of the finer ones.
TEST(MergeFreeBlocksTest, IgnoringMemoryTearsNoBlockOfTheExactRuleApart) {
  RandomStream random(3);
  for (int i = 0; i < 2000; ++i) {
    const BlockInstance instance = MakeMostlyFree(/*with_memory=*/true, random);
    const std::vector<int32_t> fine = MergeFreeBlocks(instance, MergeRule::kExact);
    const std::vector<int32_t> coarse = MergeFreeBlocks(instance, MergeRule::kIgnoreMemory);
    std::map<int32_t, int32_t> coarse_of;
    for (std::size_t block = 0; block < fine.size(); ++block) {
      ASSERT_EQ(coarse_of.emplace(fine[block], coarse[block]).first->second, coarse[block]) << i;
    }
  }
}

// 0 -> 1 -> 2 with a free block in the middle, on two devices.
BlockInstance FreeMiddle() {
  BlockInstance instance = EmptyBlockInstance(3);
  AddEdges(instance, {{0, 1}, {1, 2}});
  AddNet(instance, {0, 1}, 1);
  AddPool(instance, 2, {10, 0, 10});
  return instance;
}

TEST(MergeFreeBlocksTest, JoinsThePredecessorFirst) {
  EXPECT_THAT(MergeFreeBlocks(FreeMiddle(), MergeRule::kExact), ElementsAre(0, 0, 1));
}

TEST(MergeFreeBlocksTest, NeedsSupportWhereverTheOtherRuns) {
  BlockInstance instance = FreeMiddle();
  instance.pools.clear();
  DevicePool& first = AddPool(instance, 1, {10, 0, 0});
  first.supported = {true, false, false};
  first.supports_all = false;
  DevicePool& second = AddPool(instance, 1, {0, 0, 10});
  second.supported = {false, true, true};
  second.supports_all = false;
  EXPECT_THAT(MergeFreeBlocks(instance, MergeRule::kExact), ElementsAre(0, 1, 2));
  // Joined with block 0 it would run nowhere.
  EXPECT_EQ(NaiveOptimum(instance), 11);
  EXPECT_EQ(NaiveOptimum(Contract(instance, {0, 0, 1})), std::nullopt);
}

TEST(MergeFreeBlocksTest, NeedsTheOtherInEveryNet) {
  BlockInstance instance = EmptyBlockInstance(3);
  AddEdges(instance, {{0, 1}, {1, 2}});
  AddNet(instance, {1, 2}, 100);
  AddPool(instance, 2, {10, 0, 10});
  // Joined with block 0 it would cut the net wherever the work is divided.
  EXPECT_THAT(MergeFreeBlocks(instance, MergeRule::kExact), ElementsAre(0, 1, 1));
  EXPECT_EQ(NaiveOptimum(Contract(instance, {0, 1, 1})), NaiveOptimum(instance));
  EXPECT_GT(NaiveOptimum(Contract(instance, {0, 0, 1})), NaiveOptimum(instance));
}

TEST(MergeFreeBlocksTest, NeedsToBeBoundToOneNeighbourOnly) {
  // A free block between two that precede it and two that follow.
  BlockInstance instance = EmptyBlockInstance(5);
  AddEdges(instance, {{0, 2}, {1, 2}, {2, 3}, {2, 4}});
  AddPool(instance, 4, {10, 10, 0, 10, 10});
  EXPECT_THAT(MergeFreeBlocks(instance, MergeRule::kExact), ElementsAre(0, 1, 2, 3, 4));
  AddEdges(instance, {{0, 1}, {0, 2}, {1, 2}, {2, 3}, {2, 4}});
  // Joined with block 0, block 2 would order 1 both before and after it.
  EXPECT_THAT(MergeFreeBlocks(instance, MergeRule::kExact), ElementsAre(0, 1, 2, 3, 4));
}

TEST(MergeFreeBlocksTest, NeedsBlocksWithoutMemoryUnlessToldToIgnoreIt) {
  BlockInstance instance = FreeMiddle();
  instance.memory.linear = {5, 5, 0};
  instance.pools[0].memory_bytes = 5;
  EXPECT_THAT(MergeFreeBlocks(instance, MergeRule::kExact), ElementsAre(0, 1, 2));
  EXPECT_THAT(MergeFreeBlocks(instance, MergeRule::kIgnoreMemory), ElementsAre(0, 0, 1));
  EXPECT_EQ(NaiveOptimum(instance), 11);
  EXPECT_EQ(NaiveOptimum(Contract(instance, {0, 0, 1})), std::nullopt);
}

TEST(MergeFreeBlocksTest, IsolatedBlocksJoinABlockOfTheirNet) {
  BlockInstance instance = EmptyBlockInstance(4);
  AddNet(instance, {1, 2}, 7);
  AddPool(instance, 2, {10, 0, 10, 0});
  // Block 3 has neither net nor neighbour to join.
  EXPECT_THAT(MergeFreeBlocks(instance, MergeRule::kExact), ElementsAre(0, 1, 1, 2));
}

TEST(MergeFreeBlocksTest, ChainsOfFreeBlocksCollapse) {
  constexpr int32_t kLength = 50;
  BlockInstance instance = EmptyBlockInstance(kLength);
  std::vector<Digraph::Edge> edges;
  for (int32_t block = 1; block < kLength; ++block) edges.emplace_back(block - 1, block);
  AddEdges(instance, edges);
  std::vector<int64_t> times(kLength, 0);
  times[20] = times[40] = 1;
  AddPool(instance, 2, times);
  const std::vector<int32_t> labels = MergeFreeBlocks(instance, MergeRule::kExact);
  EXPECT_EQ(labels.front(), 0);
  EXPECT_EQ(labels[20], 0);
  EXPECT_EQ(labels[40], 1);
  EXPECT_EQ(labels.back(), 1);
}

}  // namespace
}  // namespace planwright
