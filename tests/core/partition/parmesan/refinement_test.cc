#include "core/partition/parmesan/refinement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/random.h"
#include "core/partition/noncontiguous/net_instance.h"
#include "core/partition/search/block_instance.h"
#include "tests/support/random_instance.h"

namespace planwright {
namespace {

// Problem number `seed` on a uniform interconnect, its blocks cut into stages, one for each device, at random.
struct RefinementCase {
  explicit RefinementCase(uint64_t seed) : random(seed) {
    Instance instance = MakeRandomInstance(seed, 14);
    instance.cluster.interconnect = UniformInterconnect{1e12, Picoseconds(0)};
    instance.problem.split = Split::kContiguous;
    const ResolvedProblem problem = ResolveProblem(instance.graph, instance.problem);
    const CostTable costs(instance.graph, instance.cluster, problem.workload);
    blocks = BuildBlockInstance({instance.graph, instance.cluster, problem, costs}, MergeRule::kNever);
    nets = NetInstanceOf({instance.graph, instance.cluster, problem}, blocks);
  }

  // Every stage has a block; blocks are numbered in a topological order. nullopt: fewer blocks than stages, or a stage
  // cannot run on its device.
  std::optional<std::vector<int32_t>> RandomStages() {
    const auto stages = static_cast<int32_t>(nets.devices.size());
    std::vector<int32_t> stage_of;
    for (int32_t block = 0; block < blocks.num_blocks(); ++block) {
      const int32_t drawn = block < stages ? block : static_cast<int32_t>(random.Between(0, stages - 1));
      stage_of.push_back(drawn);
    }
    if (blocks.num_blocks() < stages) return std::nullopt;
    std::sort(stage_of.begin(), stage_of.end());
    for (std::size_t block = 0; block < stage_of.size(); ++block) {
      if (!nets.may_run[block][Index(stage_of[block])]) return std::nullopt;
    }
    return stage_of;
  }

  RandomStream random;
  BlockInstance blocks;
  NetInstance nets;
};

std::vector<int64_t> SortedLoads(const NetState& state) {
  std::vector<int64_t> loads;
  for (int32_t stage = 0; stage < state.tables().num_devices(); ++stage) loads.push_back(state.load(stage));
  std::sort(loads.rbegin(), loads.rend());
  return loads;
}

TEST(RefineStagesTest, NeverWorsensAndKeepsStagesValid) {
  int cases = 0;
  int moves = 0;
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    RefinementCase given(seed);
    const std::optional<std::vector<int32_t>> stages = given.RandomStages();
    if (!stages.has_value()) continue;
    const NetTables tables(given.nets);
    NetState state(tables, {*stages, {}});
    if (!state.fits_memory()) continue;
    ++cases;
    std::vector<int64_t> before = SortedLoads(state);
    // One move at a time: each lowers the loads, sorted, lexicographically.
    while (RefineStages(given.blocks.precedence, 1, SolveLimits(), state) == 1) {
      ++moves;
      const std::vector<int64_t> after = SortedLoads(state);
      ASSERT_LT(after, before) << seed;
      before = after;
      ASSERT_TRUE(state.fits_memory()) << seed;
      ASSERT_EQ(SortedLoads(NetState(tables, state.assignment())), after) << seed;
      for (const auto& [from, to] : given.blocks.precedence.edges()) {
        ASSERT_LE(state.device_of(from), state.device_of(to)) << seed;
      }
      for (int32_t stage = 0; stage < tables.num_devices(); ++stage) {
        ASSERT_NE(std::count(state.assignment().device_of.begin(), state.assignment().device_of.end(), stage), 0)
            << seed;
      }
    }
  }
  EXPECT_GT(cases, 100);
  EXPECT_GT(moves, 100);
}

TEST(RefineStagesTest, MakesNoMoreMovesThanAskedFor) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    RefinementCase given(seed);
    const std::optional<std::vector<int32_t>> stages = given.RandomStages();
    if (!stages.has_value()) continue;
    const NetTables tables(given.nets);
    NetState state(tables, {*stages, {}});
    EXPECT_EQ(RefineStages(given.blocks.precedence, 0, SolveLimits(), state), 0);
    EXPECT_EQ(state.assignment().device_of, *stages);
  }
}

}  // namespace
}  // namespace planwright
