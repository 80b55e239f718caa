#include "core/partition/mip/throughput_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/partition/mip/mip_solver.h"
#include "tests/core/partition/block_oracle.h"

namespace planwright {
namespace {

NetInstance Wrap(BlockInstance blocks) {
  NetInstance instance;
  instance.blocks = std::move(blocks);
  for (std::size_t pool = 0; pool < instance.blocks.pools.size(); ++pool) {
    for (const DeviceId device : instance.blocks.pools[pool].devices) instance.devices.push_back({device, pool});
  }
  for (std::size_t group = 0; group < instance.blocks.operators.size(); ++group) {
    std::vector<bool>& may_run = instance.may_run.emplace_back();
    for (const NetDevice& device : instance.devices) {
      may_run.push_back(instance.blocks.pools[device.pool].supported[group]);
    }
  }
  return instance;
}

std::vector<BlockSet> SetsOf(const NetInstance& instance, const std::vector<int32_t>& device_of) {
  std::vector<BlockSet> sets(instance.devices.size(), 0);
  for (std::size_t group = 0; group < device_of.size(); ++group) {
    sets[static_cast<std::size_t>(device_of[group])] |= BlockSet{1} << group;
  }
  return sets;
}

// The max load of an assignment; nullopt: it does not fit.
std::optional<int64_t> MaxLoad(const NetInstance& instance, const std::vector<int32_t>& device_of) {
  const std::vector<BlockSet> sets = SetsOf(instance, device_of);
  int64_t load = 0;
  for (std::size_t device = 0; device < sets.size(); ++device) {
    const std::size_t pool = instance.devices[device].pool;
    if (sets[device] == 0) continue;
    if (!NaiveFits(instance.blocks, pool, sets[device])) return std::nullopt;
    load = std::max(load, NaiveLoad(instance.blocks, pool, sets[device]));
  }
  return load;
}

std::optional<int64_t> NaiveNonContiguousOptimum(const NetInstance& instance) {
  std::vector<int32_t> device_of(instance.blocks.operators.size(), 0);
  std::optional<int64_t> best;
  const std::function<void(std::size_t)> place = [&](std::size_t group) {
    if (group == device_of.size()) {
      const std::optional<int64_t> load = MaxLoad(instance, device_of);
      if (load.has_value() && (!best.has_value() || *load < *best)) best = load;
      return;
    }
    for (std::size_t device = 0; device < instance.devices.size(); ++device) {
      if (!instance.may_run[group][device]) continue;
      device_of[group] = static_cast<int32_t>(device);
      place(group + 1);
    }
  };
  place(0);
  return best;
}

int64_t GenerousLoad(const NetInstance& instance) {
  int64_t load = 1;
  for (const DevicePool& pool : instance.blocks.pools) {
    for (const int64_t time : pool.time) load += time;
  }
  for (const Net& net : instance.blocks.nets) load += 2 * net.weight;
  return load;
}

class ThroughputProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasMipSolver()) GTEST_SKIP() << "this build has no solver";
  }
};

TEST_F(ThroughputProgramTest, HasTheNonContiguousOptimum) {
  RandomStream random(11, 0);
  int feasible = 0;
  for (int round = 0; round < 60; ++round) {
    BlockInstanceShape shape;
    shape.num_blocks = 6;
    shape.constrained = round % 2 == 1;
    const NetInstance instance = Wrap(MakeBlockInstance(shape, random));
    const std::optional<int64_t> optimum = NaiveNonContiguousOptimum(instance);
    const ThroughputProgram model = BuildThroughputProgram(
        instance, /*is_contiguous=*/false, Picoseconds(GenerousLoad(instance)), Picoseconds(GenerousLoad(instance)));
    const MipOutcome outcome = SolveIntegerProgram({.program = model.program});
    ASSERT_EQ(outcome.end, MipEnd::kFinished);
    ASSERT_EQ(outcome.solution.empty(), !optimum.has_value()) << "round " << round;
    if (!optimum.has_value()) continue;
    ++feasible;
    EXPECT_EQ(MaxLoad(instance, model.DeviceOf(outcome.solution)), optimum) << "round " << round;
    EXPECT_NEAR(outcome.bound * static_cast<double>(model.unit.count()), static_cast<double>(*optimum), 1e-3);
  }
  EXPECT_GT(feasible, 30);
}

TEST_F(ThroughputProgramTest, HasTheContiguousOptimum) {
  RandomStream random(12, 0);
  int feasible = 0;
  for (int round = 0; round < 60; ++round) {
    BlockInstanceShape shape;
    shape.num_blocks = 6;
    shape.constrained = round % 2 == 1;
    const NetInstance instance = Wrap(MakeBlockInstance(shape, random));
    const std::optional<int64_t> optimum = NaiveOptimum(instance.blocks);
    const ThroughputProgram model = BuildThroughputProgram(
        instance, /*is_contiguous=*/true, Picoseconds(GenerousLoad(instance)), Picoseconds(GenerousLoad(instance)));
    const MipOutcome outcome = SolveIntegerProgram({.program = model.program});
    ASSERT_EQ(outcome.end, MipEnd::kFinished);
    ASSERT_EQ(outcome.solution.empty(), !optimum.has_value()) << "round " << round;
    if (!optimum.has_value()) continue;
    ++feasible;
    const std::vector<int32_t> device_of = model.DeviceOf(outcome.solution);
    EXPECT_EQ(MaxLoad(instance, device_of), optimum) << "round " << round;
    // Along the order of the devices the blocks make a chain of ideals.
    const std::vector<BlockSet> sets = SetsOf(instance, device_of);
    BlockSet before = 0;
    for (const int32_t device : model.DeviceOrder(outcome.solution)) {
      before |= sets[static_cast<std::size_t>(device)];
      EXPECT_TRUE(IsIdeal(instance.blocks, before)) << "round " << round;
    }
  }
  EXPECT_GT(feasible, 30);
}

// Definition 3.1 alone would allow {0, 1} and {2, 3} with load 8 here, although each needs the other.
TEST_F(ThroughputProgramTest, DoesNotLetContiguousStagesNeedEachOther) {
  BlockInstance blocks = EmptyBlockInstance(4);
  AddEdges(blocks, {{0, 2}, {3, 1}});
  AddPool(blocks, 2, {1, 7, 5, 3});
  const NetInstance instance = Wrap(std::move(blocks));
  const ThroughputProgram model =
      BuildThroughputProgram(instance, /*is_contiguous=*/true, Picoseconds(16), Picoseconds(16));
  const MipOutcome outcome = SolveIntegerProgram({.program = model.program});
  EXPECT_EQ(MaxLoad(instance, model.DeviceOf(outcome.solution)), 9);
}

TEST_F(ThroughputProgramTest, FindsNothingBelowTheOptimum) {
  BlockInstance blocks = EmptyBlockInstance(3);
  AddPool(blocks, 2, {10, 10, 7});
  const NetInstance instance = Wrap(std::move(blocks));
  const ThroughputProgram model =
      BuildThroughputProgram(instance, /*is_contiguous=*/false, Picoseconds(16), Picoseconds(16));
  const MipOutcome outcome = SolveIntegerProgram({.program = model.program, .cutoff = 1});
  EXPECT_EQ(outcome.end, MipEnd::kFinished);
  EXPECT_TRUE(outcome.solution.empty());
  EXPECT_EQ(outcome.bound, 1);
}

TEST_F(ThroughputProgramTest, FindsWhatPreprocessingDecidesAlone) {
  BlockInstance blocks = EmptyBlockInstance(1);
  AddPool(blocks, 1, {10});
  ThroughputProgram model =
      BuildThroughputProgram(Wrap(std::move(blocks)), /*is_contiguous=*/false, Picoseconds(16), Picoseconds(16));
  model.program.columns.front().upper = IntegerProgram::kInfinity;
  const MipOutcome outcome = SolveIntegerProgram({.program = model.program});
  EXPECT_EQ(outcome.end, MipEnd::kFinished);
  ASSERT_FALSE(outcome.solution.empty());
  EXPECT_NEAR(outcome.bound * 16, 10, 1e-6);
}

// Many equal blocks on a ring of nets: hopeless for a linear relaxation.
NetInstance MakeHardInstance(int32_t num_blocks) {
  BlockInstance blocks = EmptyBlockInstance(num_blocks);
  AddPool(blocks, 7, std::vector<int64_t>(static_cast<std::size_t>(num_blocks), 1000));
  for (int32_t block = 0; block < num_blocks; ++block) {
    const int32_t other = (block + 7) % num_blocks;
    AddNet(blocks, {std::min(block, other), std::max(block, other)}, 37 + block % 11);
  }
  return Wrap(std::move(blocks));
}

TEST_F(ThroughputProgramTest, StopsWhenToldTo) {
  const NetInstance instance = MakeHardInstance(90);
  const ThroughputProgram model =
      BuildThroughputProgram(instance, /*is_contiguous=*/false, Picoseconds(90'000), Picoseconds(90'000));
  const std::stop_source source;
  source.request_stop();
  MipRequest request{.program = model.program};
  request.limits.stop = source.get_token();
  EXPECT_EQ(SolveIntegerProgram(request).end, MipEnd::kStopped);
  request.limits.stop = {};
  request.limits.deadline = SolveLimits::Clock::now() + std::chrono::milliseconds(300);
  const MipOutcome outcome = SolveIntegerProgram(request);
  EXPECT_EQ(outcome.end, MipEnd::kStopped);
  EXPECT_LE(outcome.bound * static_cast<double>(model.unit.count()), 14'000);
}

TEST_F(ThroughputProgramTest, DoesTheSameWithinTheSameNodes) {
  const NetInstance instance = MakeHardInstance(30);
  const ThroughputProgram model =
      BuildThroughputProgram(instance, /*is_contiguous=*/false, Picoseconds(20'000), Picoseconds(20'000));
  MipRequest request{.program = model.program};
  request.limits.work = 2;
  const MipOutcome first = SolveIntegerProgram(request);
  const MipOutcome second = SolveIntegerProgram(request);
  EXPECT_EQ(first.end, MipEnd::kNodeLimit);
  EXPECT_EQ(first.nodes, second.nodes);
  EXPECT_EQ(first.bound, second.bound);
  EXPECT_EQ(first.solution, second.solution);
}

}  // namespace
}  // namespace planwright
