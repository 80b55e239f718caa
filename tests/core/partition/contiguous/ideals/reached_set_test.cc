#include "core/partition/contiguous/ideals/reached_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/partition/search/load_windows.h"
#include "tests/core/partition/block_oracle.h"

namespace planwright {
namespace {

// Enough for 16 chains, which is more than any of these instances has.
constexpr std::size_t kWords = 2;

// A random instance with all of its ideals.
struct Lattice {
  BlockInstance instance;
  ChainLayout layout;
  IdealTable<kWords> table;
  std::vector<BlockSet> sets;
};

Lattice MakeLattice(const BlockInstanceShape& shape, RandomStream& random) {
  BlockInstance instance = MakeBlockInstance(shape, random);
  std::vector<int32_t> order(instance.operators.size());
  std::iota(order.begin(), order.end(), 0);
  ChainLayout layout(instance.precedence, order);
  const LoadWindows windows(instance);
  TaskArena arena(1);
  IdealTable<kWords> table;
  EXPECT_EQ(EnumerateIdeals<kWords>(instance, layout, windows, windows.At(TrivialLoadBound(instance)),
                                    /*with_memory=*/true, {}, {}, arena, table),
            EnumerationEnd::kComplete);
  std::vector<BlockSet> sets;
  for (const ChainCode<kWords>& code : table.codes) {
    BlockSet& set = sets.emplace_back(0);
    for (int32_t block = 0; block < instance.num_blocks(); ++block) {
      if (layout.Contains(code, block)) set |= BlockSet{1} << static_cast<unsigned>(block);
    }
  }
  return {std::move(instance), std::move(layout), std::move(table), std::move(sets)};
}

// The first start with the least load of the stage to `ideal`.
std::optional<std::pair<uint32_t, int64_t>> NaiveBestStart(const Lattice& lattice, const std::vector<uint32_t>& starts,
                                                           std::size_t ideal, std::size_t pool, int64_t replicas) {
  std::optional<std::pair<uint32_t, int64_t>> best;
  for (const uint32_t start : starts) {
    if ((lattice.sets[start] & ~lattice.sets[ideal]) != 0) continue;
    const BlockSet stage = lattice.sets[ideal] & ~lattice.sets[start];
    if (!NaiveFits(lattice.instance, pool, stage)) continue;
    const int64_t load = NaiveLoad(lattice.instance, pool, stage, replicas);
    if (load == LoadRule::kNone) continue;
    if (!best.has_value() || load < best->second) best = {start, load};
  }
  return best;
}

// Asks a set of about `size` random ideals for every `stride`-th other ideal, at the least load and just below.
// Returns how many ideals had a start.
int CheckQueries(const Lattice& lattice, std::size_t size, std::size_t stride, RandomStream& random) {
  std::vector<uint32_t> starts;
  std::vector<bool> is_start(lattice.table.size(), false);
  for (uint32_t ideal = 0; ideal < lattice.table.size(); ++ideal) {
    if (random.Below(lattice.table.size()) >= size) continue;
    starts.push_back(ideal);
    is_start[ideal] = true;
  }
  const StageCosts<kWords> costs(lattice.instance, lattice.layout);
  const SolveLimits limits;
  Poller poller(limits);
  const ReachedSet<kWords> reached(costs, lattice.table, starts, poller);
  EXPECT_EQ(reached.ideals(), starts);
  int found = 0;
  for (std::size_t ideal = 0; ideal < lattice.table.size(); ideal += stride) {
    if (is_start[ideal]) continue;
    for (std::size_t pool = 0; pool < lattice.instance.pools.size(); ++pool) {
      const int64_t replicas = random.Between(1, lattice.instance.max_replicas(pool));
      const auto best = NaiveBestStart(lattice, starts, ideal, pool, replicas);
      StageQuery<kWords> query(costs, lattice.table, ideal, pool, replicas);
      const int64_t bound = TrivialLoadBound(lattice.instance);
      const auto start = reached.BestStart(costs, lattice.table, query, bound);
      EXPECT_EQ(start.has_value(), best.has_value());
      EXPECT_EQ(reached.Reaches(costs, lattice.table, query, bound, 0), best.has_value());
      if (!best.has_value() || !start.has_value()) continue;
      ++found;
      EXPECT_EQ(*start, best->first);
      EXPECT_TRUE(reached.Reaches(costs, lattice.table, query, best->second, 0));
      EXPECT_FALSE(reached.Reaches(costs, lattice.table, query, best->second - 1, 0));
      EXPECT_FALSE(reached.BestStart(costs, lattice.table, query, best->second - 1).has_value());
      if (::testing::Test::HasFailure()) return found;
    }
  }
  return found;
}

TEST(ReachedSetTest, ScansSmallSets) {
  RandomStream random(1);
  int found = 0;
  for (int i = 0; i < 100 && !HasFailure(); ++i) {
    const Lattice lattice = MakeLattice(
        {.num_blocks = 8, .edge_probability = 0.2, .constrained = i % 2 == 1, .any_rule = i % 4 > 1}, random);
    found += CheckQueries(lattice, lattice.table.size() / 3, 1, random);
  }
  EXPECT_GT(found, 1000);
}

TEST(ReachedSetTest, SearchesTheTreeOfLargeSets) {
  RandomStream random(2);
  int found = 0;
  int trees = 0;
  for (int i = 0; i < 24 && !HasFailure(); ++i) {
    const Lattice lattice = MakeLattice(
        {.num_blocks = 14, .edge_probability = 0.07, .constrained = i % 2 == 1, .any_rule = i % 4 > 1}, random);
    if (lattice.table.size() < 1000) continue;
    ++trees;
    found += CheckQueries(lattice, 500, lattice.table.size() / 300 + 1, random);
  }
  EXPECT_GT(trees, 10);
  EXPECT_GT(found, 2000);
}

TEST(StageQueryTest, SeparatesTheLoadOfEveryStage) {
  RandomStream random(3);
  for (int i = 0; i < 60; ++i) {
    const Lattice lattice = MakeLattice({.num_blocks = 7}, random);
    const StageCosts<kWords> costs(lattice.instance, lattice.layout);
    for (std::size_t to = 0; to < lattice.table.size(); ++to) {
      StageQuery<kWords> query(costs, lattice.table, to, 0);
      for (std::size_t from = 0; from < lattice.table.size(); ++from) {
        if ((lattice.sets[from] & ~lattice.sets[to]) != 0) continue;
        const int64_t load = query.base() + lattice.table.borders[from] - lattice.table.times[0][from] -
                             query.Correction(lattice.table.codes[from]);
        ASSERT_EQ(load, NaiveLoad(lattice.instance, 0, lattice.sets[to] & ~lattice.sets[from]));
      }
    }
  }
}

TEST(StageCostsTest, TellsWhetherMemoryEverRefused) {
  BlockInstance instance = EmptyBlockInstance(2);
  AddEdges(instance, {{0, 1}});
  AddPool(instance, 2, {1, 1}).memory_bytes = 10;
  instance.memory.linear = {6, 6};
  const std::vector<int32_t> order = {0, 1};
  const ChainLayout layout(instance.precedence, order);
  const LoadWindows windows(instance);
  TaskArena arena(1);
  IdealTable<kWords> table;
  ASSERT_EQ(EnumerateIdeals<kWords>(instance, layout, windows, windows.At(2), true, {}, {}, arena, table),
            EnumerationEnd::kComplete);
  const StageCosts<kWords> costs(instance, layout);
  EXPECT_TRUE(costs.NeedsMemory());
  EXPECT_TRUE(costs.IsConstrained(0));
  EXPECT_TRUE(costs.Fits(table, 0, 1, 0));
  EXPECT_FALSE(costs.has_refused_memory());
  EXPECT_FALSE(costs.Fits(table, 0, 2, 0));
  EXPECT_TRUE(costs.has_refused_memory());
  instance.pools[0].memory_bytes = 12;
  EXPECT_FALSE(StageCosts<kWords>(instance, layout).NeedsMemory());
}

}  // namespace
}  // namespace planwright
