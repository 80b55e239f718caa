#include "core/partition/contiguous/ideals/ideal_enumeration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <stop_token>
#include <vector>

#include "core/base/random.h"
#include "core/partition/search/load_windows.h"
#include "tests/core/partition/block_oracle.h"

namespace planwright {
namespace {

ChainLayout LayoutOf(const BlockInstance& instance) {
  std::vector<int32_t> order(instance.operators.size());
  std::iota(order.begin(), order.end(), 0);
  return {instance.precedence, order};
}

BlockSet SetOf(const ChainLayout& layout, const ChainCode<1>& code) {
  BlockSet set = 0;
  for (std::size_t lane = 0; lane < layout.num_lanes(); ++lane) {
    for (uint64_t i = 0; i < layout.Get(code, lane); ++i) {
      set |= BlockSet{1} << static_cast<unsigned>(layout.lane(lane)[i]);
    }
  }
  return set;
}

template <std::size_t W>
EnumerationEnd Enumerate(const BlockInstance& instance, int64_t max_load, IdealTable<W>& table, int threads = 1,
                         const EnumerationLimits& enumeration_limits = {}, const SolveLimits& limits = {}) {
  const LoadWindows load_windows(instance);
  TaskArena arena(threads);
  return EnumerateIdeals<W>(instance, LayoutOf(instance), load_windows, load_windows.At(max_load),
                            /*with_memory=*/true, enumeration_limits, limits, arena, table);
}

bool IsAdmitted(const BlockInstance& instance, const LoadWindows& load_windows, const std::vector<LoadWindow>& windows,
                BlockSet set) {
  int64_t weight = 0;
  for (int32_t block = 0; block < instance.num_blocks(); ++block) {
    if ((set >> static_cast<unsigned>(block) & 1U) != 0) weight += load_windows.weight(block);
  }
  const int64_t border = NaiveBorder(instance, set);
  return std::any_of(windows.begin(), windows.end(), [&](const LoadWindow& window) {
    return weight >= window.min_weight && weight <= window.max_weight && weight + border <= window.max_before &&
           load_windows.total_weight() - weight + border <= window.max_after;
  });
}

// Every sum of every ideal against a fresh one.
void ExpectFreshSums(const BlockInstance& instance, const ChainLayout& layout, const IdealTable<1>& table) {
  const LoadWindows load_windows(instance);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const BlockSet set = SetOf(layout, table.codes[i]);
    int64_t weight = 0;
    MemorySums memory;
    for (std::size_t block = 0; block < instance.operators.size(); ++block) {
      if ((set >> block & 1U) == 0) continue;
      weight += load_windows.weight(static_cast<int32_t>(block));
      memory.Add(instance.memory, block);
    }
    ASSERT_EQ(table.weights[i], weight);
    ASSERT_EQ(table.memory[i].linear, memory.linear);
    ASSERT_EQ(table.memory[i].parameters, memory.parameters);
    ASSERT_EQ(table.borders[i], NaiveBorder(instance, set));
    int64_t cut_weight = 0;
    for (const int32_t net : table.CutNets(i)) cut_weight += instance.nets[static_cast<std::size_t>(net)].weight;
    ASSERT_EQ(cut_weight, table.borders[i]);
    for (std::size_t pool = 0; pool < instance.pools.size(); ++pool) {
      ASSERT_EQ(table.times[pool][i], NaiveTime(instance, pool, set));
      int32_t unsupported = 0;
      for (std::size_t block = 0; block < instance.operators.size(); ++block) {
        if ((set >> block & 1U) != 0 && !instance.pools[pool].supported[block]) ++unsupported;
      }
      ASSERT_EQ(instance.pools[pool].supports_all ? 0 : table.unsupported[pool][i], unsupported);
    }
  }
}

TEST(EnumerateIdealsTest, ListsEachIdealOnceWithItsSums) {
  RandomStream random(1);
  for (int i = 0; i < 200; ++i) {
    const BlockInstance instance = MakeBlockInstance(
        {.num_blocks = static_cast<int32_t>(random.Between(1, 9)), .constrained = i % 2 == 1}, random);
    const ChainLayout layout = LayoutOf(instance);
    IdealTable<1> table;
    ASSERT_EQ(Enumerate(instance, TrivialLoadBound(instance), table), EnumerationEnd::kComplete);
    std::vector<BlockSet> sets;
    for (const ChainCode<1>& code : table.codes) sets.push_back(SetOf(layout, code));
    EXPECT_EQ(sets.front(), 0U);
    EXPECT_EQ(sets.back(), FullSet(instance));
    std::sort(sets.begin(), sets.end());
    // Blocks that a pool cannot run may rule ideals out even at the largest load.
    if (i % 2 == 0) {
      ASSERT_EQ(sets, AllIdeals(instance)) << i;
    }
    ExpectFreshSums(instance, layout, table);
    for (std::size_t k = 1; k < table.size(); ++k) {
      ASSERT_LE(table.weights[k - 1], table.weights[k]);
      ASSERT_TRUE(table.weights[k - 1] < table.weights[k] || table.codes[k - 1] < table.codes[k]);
    }
    const std::set<uint32_t> ranks(table.spatial_ranks.begin(), table.spatial_ranks.end());
    ASSERT_EQ(ranks.size(), table.size());
    ASSERT_EQ(*ranks.rbegin(), table.size() - 1);
  }
}

TEST(EnumerateIdealsTest, ListsTheIdealsThatAWindowAdmits) {
  RandomStream random(2);
  int left_out = 0;
  for (int i = 0; i < 300; ++i) {
    const BlockInstance instance = MakeBlockInstance({.num_blocks = 8, .edge_probability = 0.2}, random);
    const ChainLayout layout = LayoutOf(instance);
    const LoadWindows load_windows(instance);
    const int64_t bound = load_windows.WorkBound(TrivialLoadBound(instance));
    const int64_t max_load = bound + random.Between(0, 10);
    IdealTable<1> table;
    ASSERT_EQ(Enumerate(instance, max_load, table), EnumerationEnd::kComplete);
    std::set<BlockSet> sets;
    for (const ChainCode<1>& code : table.codes) sets.insert(SetOf(layout, code));
    ASSERT_EQ(sets.size(), table.size());
    for (const BlockSet ideal : AllIdeals(instance)) {
      const bool expected = ideal == 0 || IsAdmitted(instance, load_windows, load_windows.At(max_load), ideal);
      ASSERT_EQ(sets.contains(ideal), expected) << i;
      if (!expected) ++left_out;
    }
    ASSERT_TRUE(sets.contains(FullSet(instance)));
    ExpectFreshSums(instance, layout, table);
  }
  EXPECT_GT(left_out, 1000);
}

// Towers with (length + 1)^width ideals: more than one search takes on before it is cut into branches.
BlockInstance LargeTowers() {
  constexpr int32_t kWidth = 5;
  constexpr int32_t kLength = 10;
  BlockInstance instance = EmptyBlockInstance(kWidth * kLength);
  std::vector<Digraph::Edge> edges;
  std::vector<int64_t> times;
  RandomStream random(3);
  for (int32_t block = 0; block < instance.num_blocks(); ++block) {
    times.push_back(random.Between(1, 100));
    if ((block + 1) % kLength == 0) continue;
    edges.emplace_back(block, block + 1);
    AddNet(instance, {block, block + 1}, random.Between(1, 9));
  }
  AddEdges(instance, edges);
  AddPool(instance, 2, times);
  return instance;
}

TEST(EnumerateIdealsTest, FindsTheSameInBranches) {
  const BlockInstance instance = LargeTowers();
  const int64_t max_load = TrivialLoadBound(instance);
  IdealTable<1> alone;
  ASSERT_EQ(Enumerate(instance, max_load, alone), EnumerationEnd::kComplete);
  ASSERT_EQ(alone.size(), 161'051U);
  for (std::size_t i = 1; i < alone.size(); ++i) {
    ASSERT_TRUE(alone.weights[i - 1] < alone.weights[i] ||
                (alone.weights[i - 1] == alone.weights[i] && alone.codes[i - 1] < alone.codes[i]));
  }
  ExpectFreshSums(instance, LayoutOf(instance), alone);
  IdealTable<1> together;
  ASSERT_EQ(Enumerate(instance, max_load, together, /*threads=*/4), EnumerationEnd::kComplete);
  EXPECT_EQ(alone.codes, together.codes);
  EXPECT_EQ(alone.cut_nets, together.cut_nets);
  EXPECT_EQ(alone.spatial_ranks, together.spatial_ranks);
  // The same code in wider words.
  IdealTable<2> wide;
  ASSERT_EQ(Enumerate(instance, max_load, wide), EnumerationEnd::kComplete);
  EXPECT_EQ(alone.weights, wide.weights);
  EXPECT_EQ(alone.borders, wide.borders);
}

TEST(EnumerateIdealsTest, EndsAtItsLimits) {
  const BlockInstance instance = LargeTowers();
  const int64_t max_load = TrivialLoadBound(instance);
  IdealTable<1> table;
  EXPECT_EQ(Enumerate(instance, max_load, table, 2, {.max_ideals = 161'051}), EnumerationEnd::kComplete);
  EXPECT_EQ(Enumerate(instance, max_load, table, 2, {.max_ideals = 160'000}), EnumerationEnd::kTooMany);
  EXPECT_EQ(Enumerate(instance, max_load, table, 2, {.max_ideals = 100}), EnumerationEnd::kTooMany);
  EXPECT_EQ(Enumerate(instance, max_load, table, 2, {.max_bytes = 1'000'000}), EnumerationEnd::kTooLarge);
  SolveLimits past_deadline;
  past_deadline.deadline = SolveLimits::Clock::now();
  EXPECT_EQ(Enumerate(instance, max_load, table, 2, {}, past_deadline), EnumerationEnd::kInterrupted);
  const std::stop_source stop;
  stop.request_stop();
  SolveLimits stopped;
  stopped.stop = stop.get_token();
  EXPECT_EQ(Enumerate(instance, max_load, table, 2, {}, stopped), EnumerationEnd::kInterrupted);
}

}  // namespace
}  // namespace planwright
