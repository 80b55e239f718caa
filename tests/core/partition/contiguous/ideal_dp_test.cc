#include "core/partition/contiguous/ideal_dp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/base/random.h"
#include "core/partition/contiguous/linearized_dp.h"
#include "tests/core/partition/block_oracle.h"

namespace planwright {
namespace {

struct Solving {
  IdealDpOptions options;
  SolveLimits limits;
  int64_t lower_bound = 0;
  std::optional<BlockSplit> incumbent;
  IdealDpListener listener;
};

IdealDpOutcome Solve(const BlockInstance& instance, const Solving& solving = {}) {
  TaskArena arena(1);
  return SolveByIdealDp(instance, LoadWindows(instance), solving.lower_bound, solving.incumbent, solving.options,
                        solving.limits, arena, solving.listener);
}

// Everything on the first device.
BlockSplit OneStage(const BlockInstance& instance) {
  BlockSplit split;
  split.stages.resize(1);
  split.stages[0].blocks.resize(instance.operators.size());
  std::iota(split.stages[0].blocks.begin(), split.stages[0].blocks.end(), 0);
  split.max_load = SplitLoad(instance, split);
  return split;
}

// Parallel chains of unequal times that no early pass settles.
BlockInstance Towers(int32_t width, int32_t length) {
  BlockInstance instance = EmptyBlockInstance(width * length);
  std::vector<Digraph::Edge> edges;
  std::vector<int64_t> times;
  RandomStream random(4);
  for (int32_t block = 0; block < instance.num_blocks(); ++block) {
    times.push_back(random.Between(900, 1100));
    if ((block + 1) % length == 0) continue;
    edges.emplace_back(block, block + 1);
    AddNet(instance, {block, block + 1}, random.Between(100, 400));
  }
  AddEdges(instance, edges);
  AddPool(instance, 3, times);
  return instance;
}

TEST(SolveByIdealDpTest, FindsTheOptimumOrProvesThatThereIsNoSplit) {
  RandomStream random(1);
  int solved = 0;
  int infeasible = 0;
  for (int i = 0; i < 1200; ++i) {
    const BlockInstance instance = MakeBlockInstance(
        {.num_blocks = static_cast<int32_t>(random.Between(1, 7)), .constrained = i % 2 == 1, .any_rule = i % 4 > 1},
        random);
    const std::optional<int64_t> optimum = NaiveOptimum(instance);
    const IdealDpOutcome outcome = Solve(instance);
    ASSERT_EQ(outcome.best.has_value(), optimum.has_value()) << i;
    ASSERT_EQ(outcome.end, optimum.has_value() ? IdealDpEnd::kProven : IdealDpEnd::kInfeasible) << i;
    ++(optimum.has_value() ? solved : infeasible);
    if (!optimum.has_value()) continue;
    ASSERT_EQ(outcome.best->max_load, *optimum) << i;
    ASSERT_EQ(outcome.lower_bound, *optimum) << i;
    ASSERT_EQ(FaultOf(instance, *outcome.best), "") << i;
  }
  EXPECT_GT(solved, 300);
  EXPECT_GT(infeasible, 5);
}

TEST(SolveByIdealDpTest, DoesNotOverflowNearTheLargestQuantity) {
  RandomStream random(2);
  for (int i = 0; i < 100; ++i) {
    // Sums of 6 times and 4 transfers of each of 6 nets to 5 consumers stay below 2^62.
    const BlockInstance instance =
        MakeBlockInstance({.num_blocks = 6, .max_time = kMaxQuantity / (6 + 4 * 6 * 5)}, random);
    const IdealDpOutcome outcome = Solve(instance);
    ASSERT_EQ(outcome.end, IdealDpEnd::kProven);
    ASSERT_EQ(outcome.best->max_load, *NaiveOptimum(instance));
  }
}

TEST(SolveByIdealDpTest, TellsItsListenerOfEveryStep) {
  const BlockInstance instance = Towers(3, 5);
  std::vector<int64_t> loads;
  std::vector<int64_t> bounds;
  Solving solving;
  solving.incumbent = OneStage(instance);
  solving.listener.on_split = [&](const BlockSplit& split) {
    EXPECT_EQ(FaultOf(instance, split), "");
    loads.push_back(split.max_load);
  };
  solving.listener.on_bound = [&](int64_t bound) { bounds.push_back(bound); };
  const IdealDpOutcome outcome = Solve(instance, solving);
  ASSERT_FALSE(loads.empty());
  ASSERT_FALSE(bounds.empty());
  EXPECT_TRUE(std::is_sorted(loads.rbegin(), loads.rend()));
  EXPECT_TRUE(std::is_sorted(bounds.begin(), bounds.end()));
  EXPECT_EQ(outcome.end, IdealDpEnd::kProven);
  EXPECT_EQ(loads.back(), outcome.best->max_load);
  EXPECT_EQ(bounds.back(), outcome.lower_bound);
  EXPECT_GT(outcome.passes, 0);
  EXPECT_GT(outcome.ideals, 0);
  EXPECT_GE(outcome.work, outcome.ideals);
}

TEST(SolveByIdealDpTest, LooksForNothingBetterThanTheBound) {
  const BlockInstance instance = Towers(2, 3);
  Solving solving;
  solving.incumbent = OneStage(instance);
  solving.lower_bound = solving.incumbent->max_load;
  const IdealDpOutcome outcome = Solve(instance, solving);
  EXPECT_EQ(outcome.end, IdealDpEnd::kProven);
  EXPECT_EQ(outcome.passes, 0);
  EXPECT_EQ(outcome.best->stages.size(), 1U);
}

TEST(SolveByIdealDpTest, StopsAtTheGap) {
  const BlockInstance instance = Towers(3, 6);
  const int64_t optimum = Solve(instance).best->max_load;
  Solving solving;
  solving.options.relative_gap = 0.3;
  const IdealDpOutcome outcome = Solve(instance, solving);
  ASSERT_EQ(outcome.end, IdealDpEnd::kGapReached);
  EXPECT_LE(outcome.lower_bound, optimum);
  EXPECT_GE(outcome.best->max_load, optimum);
  EXPECT_LE(static_cast<double>(outcome.best->max_load - outcome.lower_bound),
            0.3 * static_cast<double>(outcome.best->max_load));
}

// Every limit keeps the incumbent or a better one, and a bound that holds.
TEST(SolveByIdealDpTest, KeepsWhatItKnowsAtEveryLimit) {
  const BlockInstance instance = Towers(4, 8);
  const IdealDpOutcome complete = Solve(instance);
  ASSERT_EQ(complete.end, IdealDpEnd::kProven);
  const std::stop_source stop;
  stop.request_stop();
  struct Case {
    IdealDpEnd end;
    Solving solving;
  };
  std::vector<Case> cases(7);
  cases[0].end = IdealDpEnd::kWorkLimit;
  cases[0].solving.limits.work = complete.work / 8;
  cases[1].end = IdealDpEnd::kWorkLimit;
  cases[1].solving.limits.work = 0;
  cases[2].end = IdealDpEnd::kTooManyIdeals;
  cases[2].solving.options.max_ideals = 10;
  cases[3].end = IdealDpEnd::kTooMuchMemory;
  cases[3].solving.limits.memory_bytes = 1000;
  cases[4].end = IdealDpEnd::kTooMuchMemory;
  cases[4].solving.limits.memory_bytes = 0;
  cases[5].end = IdealDpEnd::kDeadline;
  cases[5].solving.limits.deadline = SolveLimits::Clock::now();
  cases[6].end = IdealDpEnd::kCancelled;
  cases[6].solving.limits.stop = stop.get_token();
  for (Case& test : cases) {
    for (const bool has_incumbent : {false, true}) {
      if (has_incumbent) test.solving.incumbent = OneStage(instance);
      const IdealDpOutcome outcome = Solve(instance, test.solving);
      EXPECT_EQ(outcome.end, test.end);
      EXPECT_LE(outcome.lower_bound, complete.lower_bound);
      EXPECT_TRUE(outcome.best.has_value() || !has_incumbent);
      if (!outcome.best.has_value()) continue;
      EXPECT_EQ(FaultOf(instance, *outcome.best), "");
      EXPECT_GE(outcome.best->max_load, complete.lower_bound);
    }
  }
}

TEST(SolveByIdealDpTest, RefusesGraphsTooWideForAnyMemory) {
  constexpr int32_t kWidth = 16 * 8 + 1;
  BlockInstance instance = EmptyBlockInstance(kWidth);
  AddPool(instance, 2, std::vector<int64_t>(kWidth, 1));
  Solving solving;
  solving.lower_bound = 65;
  solving.incumbent = OneStage(instance);
  const IdealDpOutcome outcome = Solve(instance, solving);
  EXPECT_EQ(outcome.end, IdealDpEnd::kTooManyIdeals);
  EXPECT_EQ(outcome.lower_bound, 65);
  EXPECT_EQ(outcome.best->max_load, kWidth);
}

TEST(SolveByIdealDpTest, SaysWhenAProofWouldRestOnMemory) {
  BlockInstance instance = EmptyBlockInstance(2);
  AddEdges(instance, {{0, 1}});
  AddNet(instance, {0, 1}, 50);
  DevicePool& pool = AddPool(instance, 2, {10, 10});
  pool.memory_bytes = 15;
  instance.memory.linear = {10, 10};
  // One device would do with load 20, were it not for its memory.
  Solving solving;
  solving.options.prove_without_memory = true;
  const IdealDpOutcome without = Solve(instance, solving);
  EXPECT_EQ(without.end, IdealDpEnd::kMemoryMatters);
  EXPECT_LE(without.lower_bound, 20);
  const IdealDpOutcome with = Solve(instance);
  EXPECT_EQ(with.end, IdealDpEnd::kProven);
  EXPECT_EQ(with.lower_bound, 60);
  instance.pools[0].memory_bytes = 20;
  EXPECT_EQ(Solve(instance, solving).end, IdealDpEnd::kProven);
  EXPECT_EQ(Solve(instance, solving).best->max_load, 20);
}

TEST(SolveByIdealDpTest, IsTheSameForAnyNumberOfThreads) {
  const oneapi::tbb::global_control control(oneapi::tbb::global_control::max_allowed_parallelism, 8);
  const BlockInstance instance = Towers(5, 10);
  const LoadWindows windows(instance);
  std::vector<IdealDpOutcome> outcomes;
  for (const int threads : {1, 2, 8}) {
    TaskArena arena(threads);
    outcomes.push_back(SolveByIdealDp(instance, windows, 0, std::nullopt, {}, {}, arena, {}));
    // The comparison means something only when workers took tasks.
    EXPECT_EQ(arena.worker_cpu_time().count() > 0, threads > 1) << threads;
  }
  const IdealDpOutcome& alone = outcomes[0];
  EXPECT_EQ(alone.end, IdealDpEnd::kProven);
  for (const IdealDpOutcome& together : outcomes) {
    EXPECT_EQ(alone.end, together.end);
    EXPECT_EQ(alone.lower_bound, together.lower_bound);
    EXPECT_EQ(alone.passes, together.passes);
    EXPECT_EQ(alone.ideals, together.ideals);
    EXPECT_EQ(alone.work, together.work);
    EXPECT_EQ(alone.polish_rounds, together.polish_rounds);
    ASSERT_EQ(alone.best->stages.size(), together.best->stages.size());
    for (std::size_t i = 0; i < alone.best->stages.size(); ++i) {
      EXPECT_EQ(alone.best->stages[i].pool, together.best->stages[i].pool);
      EXPECT_EQ(alone.best->stages[i].blocks, together.best->stages[i].blocks);
    }
  }
}

}  // namespace
}  // namespace planwright
