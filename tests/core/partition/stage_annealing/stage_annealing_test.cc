#include "core/partition/stage_annealing/stage_annealing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/infeasibility.h"
#include "tests/core/partition/stage_annealing/annealing_case.h"
#include "tests/property/brute_force.h"
#include "tests/property/cases.h"
#include "tests/support/builders.h"
#include "tests/support/mode_instance.h"

namespace planwright {
namespace {

struct ModeCase {
  std::string name;
  InstanceMode mode;
  int max_operators;
};

class StageAnnealingModeTest : public ::testing::TestWithParam<ModeCase> {};

// How often the search finds the optimum, and what it misses.
class Tally {
 public:
  void Add(Picoseconds optimum, const absl::StatusOr<SearchOutcome>& outcome) {
    ++cases_;
    if (outcome.ok() && outcome->objective <= optimum) {
      ++found_;
    } else if (!outcome.ok() || optimum == Picoseconds(0)) {
      lost_ += 1;
    } else {
      lost_ += static_cast<double>(outcome->objective.count()) / static_cast<double>(optimum.count()) - 1;
    }
  }
  double share_found() const { return static_cast<double>(found_) / cases_; }
  double mean_loss() const { return lost_ / cases_; }

 private:
  int cases_ = 0;
  int found_ = 0;
  double lost_ = 0;
};

TEST_P(StageAnnealingModeTest, FindsTheOptimumOfBruteForceFromNothing) {
  Tally tally;
  for (uint64_t seed = 0; seed < NumCases(20); ++seed) {
    AnnealingCase search(MakeModeInstance(GetParam().mode, seed, GetParam().max_operators));
    search.options.work_limit = 500'000;
    const absl::StatusOr<SearchOutcome> outcome = search.Solve();
    const std::optional<Picoseconds> optimum = OptimumOf(GetParam().mode, seed, GetParam().max_operators);
    if (optimum.has_value()) tally.Add(*optimum, outcome);
    if (!outcome.ok()) continue;
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(search.instance));
    EXPECT_TRUE(search.IsFeasible(outcome->placement));
    EXPECT_EQ(search.ObjectiveOf(outcome->placement), outcome->objective);
    EXPECT_TRUE(outcome->bounds.empty());
  }
  EXPECT_GE(tally.share_found(), 0.95);
  EXPECT_LE(tally.mean_loss(), 0.005);
}

INSTANTIATE_TEST_SUITE_P(Modes, StageAnnealingModeTest,
                         ::testing::Values(ModeCase{"Contiguous", InstanceMode::kContiguous, 9},
                                           ModeCase{"Replicated", InstanceMode::kReplicated, 8},
                                           ModeCase{"Hierarchy", InstanceMode::kHierarchy, 8},
                                           ModeCase{"Topology", InstanceMode::kTopology, 7},
                                           ModeCase{"Steps", InstanceMode::kSteps, 7}),
                         [](const auto& tested) { return tested.param.name; });

// A chain of operators on devices in two groups.
Instance Chain(int operators, int devices, Replication replication) {
  Instance instance;
  RandomStream random(5);
  instance.cluster = MakeCluster(devices, 0);
  instance.cluster.interconnect = HierarchyInterconnect{{{devices / 2, 4e9, Picoseconds(5)}, {2, 1e9, Picoseconds(9)}}};
  for (int i = 0; i < operators; ++i) {
    AddOperator(instance.graph, absl::StrCat("op", i), 1'000'000 * random.Between(1, 99), 1);
    instance.graph.operators.back().costs[0].backward = Picoseconds(1'000'000 * random.Between(1, 99));
    instance.graph.operators.back().parameter_bytes = random.Between(1, 99'000);
    if (i == 0) continue;
    AddTensor(instance.graph, OperatorId(static_cast<std::size_t>(i) - 1), {OperatorId(static_cast<std::size_t>(i))}, 0,
              1'000 * random.Between(1, 20));
  }
  instance.problem.replication = replication;
  return instance;
}

Placement OnDevice(const Instance& instance, DeviceId device) {
  Placement placement;
  placement.stages.push_back({{}, {device}});
  for (std::size_t op = 0; op < instance.graph.operators.size(); ++op) placement.stages[0].operators.emplace_back(op);
  return placement;
}

TEST(StageAnnealingTest, IsNeverWorseThanItsStarts) {
  for (uint64_t seed = 0; seed < NumCases(60); ++seed) {
    AnnealingCase search(MakeModeInstance(InstanceMode::kSteps, seed, 9));
    RandomStream random(seed);
    std::optional<Picoseconds> best;
    for (int start = 0; start < 4; ++start) {
      const Placement placement = MakeModePlacement(search.instance, random);
      if (!search.IsFeasible(placement)) continue;
      search.request.starts.push_back({placement, "start"});
      best = std::min(best.value_or(search.ObjectiveOf(placement)), search.ObjectiveOf(placement));
    }
    if (!best.has_value()) continue;
    search.options.work_limit = static_cast<int64_t>(random.Below(5'000));
    const absl::StatusOr<SearchOutcome> outcome = search.Solve();
    ASSERT_TRUE(outcome.ok());
    EXPECT_LE(outcome->objective, *best);
  }
}

TEST(StageAnnealingTest, MendsAPipelineOfManyStages) {
  AnnealingCase search(Chain(100, 16, Replication::kPerStage));
  search.request.starts.push_back({OnDevice(search.instance, DeviceId(3)), "single_device"});
  search.options.work_limit = 3'000'000;
  const absl::StatusOr<SearchOutcome> outcome = search.Solve();
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(search.IsFeasible(outcome->placement));
  EXPECT_LT(outcome->objective * 10, search.ObjectiveOf(search.request.starts[0].placement));
}

TEST(StageAnnealingTest, MakesTheSamePlanWithAnyNumberOfThreads) {
  for (const Replication replication : {Replication::kNone, Replication::kUniform, Replication::kPerStage}) {
    AnnealingCase search(Chain(40, 8, replication));
    search.options.work_limit = 800'000;
    const absl::StatusOr<SearchOutcome> one = search.Solve(1);
    ASSERT_TRUE(one.ok());
    for (const int threads : {2, 8}) {
      const absl::StatusOr<SearchOutcome> several = search.Solve(threads);
      ASSERT_TRUE(several.ok());
      EXPECT_EQ(several->objective, one->objective);
      EXPECT_EQ(several->counters, one->counters);
      ASSERT_EQ(several->placement.stages.size(), one->placement.stages.size());
      for (std::size_t i = 0; i < one->placement.stages.size(); ++i) {
        EXPECT_EQ(several->placement.stages[i].operators, one->placement.stages[i].operators);
        EXPECT_EQ(several->placement.stages[i].devices, one->placement.stages[i].devices);
        EXPECT_EQ(several->placement.stages[i].ring, one->placement.stages[i].ring);
      }
    }
  }
}

TEST(StageAnnealingTest, StopsAtTheWorkLimitAndSaysSo) {
  AnnealingCase search(Chain(40, 8, Replication::kNone));
  search.options.work_limit = 100'000;
  const absl::StatusOr<SearchOutcome> outcome = search.Solve();
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->stop_reason, StopReason::kWorkLimit);
  EXPECT_GE(outcome->counters.at("work"), 100'000);
  // A run ends with the move that goes beyond.
  EXPECT_LT(outcome->counters.at("work"), 110'000);
}

TEST(StageAnnealingTest, ReturnsTheBestStartWhenItIsStopped) {
  AnnealingCase search(Chain(40, 8, Replication::kNone));
  search.request.starts.push_back({OnDevice(search.instance, DeviceId(0)), "single_device"});
  const std::stop_source stop;
  stop.request_stop();
  SolveLimits cancelled;
  cancelled.stop = stop.get_token();
  const absl::StatusOr<SearchOutcome> outcome = search.Solve(1, cancelled);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->stop_reason, StopReason::kCancelled);
  EXPECT_EQ(outcome->placement.stages.size(), 1U);
}

TEST(StageAnnealingTest, SaysThatTimeRanOutBeforeItFoundAnything) {
  const AnnealingCase search(Chain(40, 8, Replication::kNone));
  SolveLimits late;
  late.deadline = SolveLimits::Clock::now() - std::chrono::seconds(1);
  EXPECT_EQ(SpentLimitOf(search.Solve(1, late).status()), SpentLimit::kTime);
}

TEST(StageAnnealingTest, SaysThatNothingWasFoundWhereNothingFits) {
  Instance instance = Chain(4, 4, Replication::kNone);
  for (Operator& op : instance.graph.operators) op.memory_bytes = 9;
  instance.cluster.device_classes[0].memory_bytes = 8;
  const AnnealingCase search(std::move(instance));
  const absl::Status status = search.Solve().status();
  EXPECT_TRUE(IsNoPlanFound(status)) << status;
  EXPECT_EQ(SpentLimitOf(status), SpentLimit::kNone);
}

TEST(StageAnnealingTest, UsesNoMoreDevicesThanTheRequestAllows) {
  for (const Replication replication : {Replication::kNone, Replication::kUniform, Replication::kPerStage}) {
    AnnealingCase search(Chain(20, 8, replication));
    DeviceLimit limit{.devices = {}, .most = 3};
    for (std::size_t device = 0; device < 8; ++device) limit.devices.emplace_back(device);
    search.request.device_limits = {limit};
    search.options.work_limit = 300'000;
    const absl::StatusOr<SearchOutcome> outcome = search.Solve();
    ASSERT_TRUE(outcome.ok());
    std::set<DeviceId> used;
    for (const Placement::Stage& stage : outcome->placement.stages) {
      used.insert(stage.devices.begin(), stage.devices.end());
    }
    EXPECT_EQ(used.size(), 3U);
  }
}

}  // namespace
}  // namespace planwright
