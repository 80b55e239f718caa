#include "core/planner/replanning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/interruption.h"
#include "core/cost/plan_costing.h"
#include "core/model/problem.h"
#include "core/planner/planner.h"
#include "tests/support/builders.h"
#include "tests/support/small_models.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<OperatorId> Operators(std::vector<std::size_t> indices) {
  std::vector<OperatorId> operators;
  for (const std::size_t index : indices) operators.emplace_back(index);
  return operators;
}

Placement::Stage StageOn(std::vector<std::size_t> operators, std::vector<std::size_t> devices) {
  Placement::Stage stage;
  stage.operators = Operators(std::move(operators));
  for (const std::size_t device : devices) stage.devices.emplace_back(device);
  return stage;
}

TEST(CountMovedStagesTest, AStageMovesWhereADeviceMustLoadWeights) {
  const Placement before{{StageOn({0, 1}, {0, 1}), StageOn({2, 3}, {2, 3})}};
  EXPECT_EQ(CountMovedStages(before, before), 0);
  // Fewer replicas, and a part of a stage, are there already.
  EXPECT_EQ(CountMovedStages(before, {{StageOn({0}, {1}), StageOn({3, 2}, {3})}}), 0);
  EXPECT_EQ(CountMovedStages(before, {{StageOn({0, 1}, {1, 7}), StageOn({2, 3}, {2, 3})}}), 1);
  EXPECT_EQ(CountMovedStages(before, {{StageOn({0, 1, 2}, {0}), StageOn({3}, {2})}}), 1);
  EXPECT_EQ(CountMovedStages(before, {{StageOn({0, 1}, {2}), StageOn({2, 3}, {0})}}), 2);
}

// Six operators of 10 ms in a row, transfers of 1 ms.
struct ReplannedRequest {
  ReplannedRequest() {
    for (std::size_t i = 0; i < 6; ++i) {
      graph.operators.push_back(MeasuredOperator("op" + std::to_string(i), 10));
      graph.operators.back().memory_bytes = 1;
      if (i > 0) graph.tensors.push_back(TimedTensor("t" + std::to_string(i), i - 1, {i}, 1));
    }
  }

  absl::StatusOr<Plan> Make() const {
    TaskArena arena(1);
    PlannerObserver observer;
    return MakePlan({graph, cluster, problem, options}, ModelLimits(), SolveLimits(), arena, observer);
  }

  OperatorGraph graph;
  Cluster cluster = SmallCluster(4, 0, UniformInterconnect());
  PlanningProblem problem;
  SolverOptions options;
};

TEST(ReplanningTest, NothingMovesWhereNothingHasChanged) {
  ReplannedRequest request;
  request.problem.start_from = Placement{{StageOn({0, 1}, {2}), StageOn({2, 3}, {0}), StageOn({4, 5}, {1})}};
  const absl::StatusOr<Plan> plan = request.Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_TRUE(plan->replanning.has_value());
  EXPECT_EQ(plan->replanning->moved_stages, 0);
  EXPECT_EQ(plan->replanning->kept_stages, 3);
  // Four stages, two of them of 21 ms, are less than 5 % faster.
  EXPECT_EQ(plan->objective, Milliseconds(22));
  EXPECT_EQ(plan->replanning->best_objective, Milliseconds(21));
}

TEST(ReplanningTest, AnIdleDeviceTakesTheStageOfOneThatFailed) {
  ReplannedRequest request;
  request.problem.start_from = Placement{{StageOn({0, 1}, {2}), StageOn({2, 3}, {0}), StageOn({4, 5}, {1})}};
  request.problem.devices_to_use.excluded_devices = {DeviceId(0)};
  const absl::StatusOr<Plan> plan = request.Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->replanning->moved_stages, 1);
  EXPECT_EQ(plan->replanning->kept_stages, 2);
  EXPECT_THAT(plan->stages[1].operators, ElementsAre(OperatorId(2), OperatorId(3)));
  EXPECT_EQ(plan->stages[1].replicas[0].device, DeviceId(3));
}

// Device 0 has failed, and 3 and 4 are idle: what is found before the time is over, by objectives that were asked for.
TEST(ReplanningTest, WhatIsFoundStandsWhenTheTimeIsOver) {
  ReplannedRequest request;
  request.cluster = SmallCluster(5, 0, UniformInterconnect());
  request.problem.start_from = Placement{{StageOn({0, 1}, {2}), StageOn({2, 3}, {0}), StageOn({4, 5}, {1})}};
  request.problem.devices_to_use.excluded_devices = {DeviceId(0)};
  const ResolvedProblem problem = ResolveProblem(request.graph, request.problem);
  const CostTable costs(request.graph, request.cluster, problem.workload);
  const SearchRequest search{request.graph, request.cluster, problem, costs, request.options, Algorithm::kAuto, {}};
  for (const bool is_cut : {true, false}) {
    int asked = 0;
    SearchCallbacks callbacks;
    callbacks.objective = [&](const Placement& placement) {
      // The second one is that of a trial.
      if (is_cut && ++asked == 2) throw Interrupted(Interruption::kDeadline);
      return CostPlan({request.graph, request.cluster, problem, costs}, placement).objective;
    };
    callbacks.objection = [](const Placement&) { return std::string(); };
    const Repairs repaired = RepairedPlacements(search, callbacks);
    EXPECT_EQ(repaired.is_cut, is_cut);
    const auto has_filled = [](const SearchStart& start) {
      const std::vector<Placement::Stage>& stages = start.placement.stages;
      return stages.size() == 3 && stages[1].devices == std::vector{DeviceId(3)};
    };
    // Not the device of the trial.
    EXPECT_TRUE(std::any_of(repaired.starts.begin(), repaired.starts.end(), has_filled));
    EXPECT_EQ(repaired.starts.size() == 1, is_cut);
  }
}

// Without a spare device, either all moves, or one stage does twice the work.
TEST(ReplanningTest, TheToleranceSaysWhatFewMovesMayCost) {
  ReplannedRequest request;
  request.problem.start_from =
      Placement{{StageOn({0}, {0}), StageOn({1, 2}, {1}), StageOn({3}, {2}), StageOn({4, 5}, {3})}};
  request.problem.devices_to_use.excluded_devices = {DeviceId(0)};
  request.problem.replan_tolerance = 1;
  absl::StatusOr<Plan> plan = request.Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->replanning->moved_stages, 1);
  EXPECT_EQ(plan->replanning->kept_stages, 2);
  EXPECT_GT(plan->objective, plan->replanning->best_objective);
  EXPECT_FALSE(plan->provenance.proven_optimal);
  request.problem.replan_tolerance = 0;
  plan = request.Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, plan->replanning->best_objective);
  EXPECT_EQ(plan->objective, Milliseconds(22));
}

TEST(ReplanningTest, EqualReplicasShrinkTogether) {
  ReplannedRequest request;
  request.problem.replication = Replication::kUniform;
  request.problem.start_from = Placement{{StageOn({0, 1, 2}, {0, 1}), StageOn({3, 4, 5}, {2, 3})}};
  request.problem.num_stages = 2;
  request.options.work_limit = 100'000;
  request.problem.devices_to_use.excluded_devices = {DeviceId(2)};
  const absl::StatusOr<Plan> plan = request.Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->replanning->moved_stages, 0);
  EXPECT_EQ(plan->replanning->kept_stages, 2);
  // The copy that is whole.
  EXPECT_EQ(plan->stages[0].replicas[0].device, DeviceId(1));
  EXPECT_EQ(plan->stages[1].replicas[0].device, DeviceId(3));
}

// Copies of different stages belong together, those of devices that have gone too.
TEST(ReplanningTest, CopiesThatAreLeftStayTogether) {
  ReplannedRequest request;
  request.problem.replication = Replication::kUniform;
  request.problem.start_from = Placement{{StageOn({0, 1, 2}, {3}), StageOn({3, 4, 5}, {0, 1})}};
  request.problem.absent_devices = {{0, 0, "gone"}};
  request.problem.num_stages = 2;
  request.problem.num_replicas = 1;
  request.problem.replan_tolerance = 0.5;
  request.options.work_limit = 100'000;
  const absl::StatusOr<Plan> plan = request.Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->replanning->moved_stages, 0);
  EXPECT_EQ(plan->stages[0].replicas[0].device, DeviceId(3));
  EXPECT_EQ(plan->stages[1].replicas[0].device, DeviceId(1));
  EXPECT_THAT(plan->warnings,
              testing::Contains("of problem.start_from, gone is not in this cluster: what it held moves"));
}

// Twenty-four operators of 10 ms in six stages, one of which must be divided among the others.
TEST(ReplanningTest, NeighboursShareTheStageOfADeviceThatFailed) {
  ReplannedRequest request;
  request.cluster = SmallCluster(6, 0, UniformInterconnect());
  request.graph = {};
  for (std::size_t i = 0; i < 24; ++i) {
    request.graph.operators.push_back(MeasuredOperator("op" + std::to_string(i), 10));
    request.graph.operators.back().memory_bytes = 1;
    if (i > 0) request.graph.tensors.push_back(TimedTensor("t" + std::to_string(i), i - 1, {i}, 0));
  }
  Placement before;
  for (std::size_t stage = 0; stage < 6; ++stage) {
    const std::size_t first = 4 * stage;
    before.stages.push_back(StageOn({first, first + 1, first + 2, first + 3}, {5 - stage}));
  }
  request.problem.start_from = before;
  request.problem.devices_to_use.excluded_devices = {DeviceId(3)};
  // Five stages take 50 ms at best. One of 60 ms beside 40 ms takes half of what failed.
  request.problem.replan_tolerance = 0.2;
  absl::StatusOr<Plan> plan = request.Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->replanning->best_objective, Milliseconds(50));
  EXPECT_EQ(plan->objective, Milliseconds(60));
  EXPECT_EQ(plan->replanning->moved_stages, 2);
  request.problem.replan_tolerance = 1;
  EXPECT_EQ(request.Make()->replanning->moved_stages, 1);
}

// The tensors of ReplannedRequest by size: 1 ms over 10^6 bytes per second.
ReplannedRequest SizedRequest(Interconnect interconnect) {
  ReplannedRequest request;
  request.cluster = SmallCluster(4, 0, std::move(interconnect));
  for (std::size_t i = 0; i < request.graph.tensors.size(); ++i) {
    request.graph.tensors[i] = SizedTensor("t" + std::to_string(i + 1), i, {i + 1}, 1'000);
  }
  request.options.work_limit = 100'000;
  return request;
}

LinksInterconnect Row() {
  LinksInterconnect row;
  for (std::size_t i = 0; i < 3; ++i) row.links.push_back({DeviceId(i), DeviceId(i + 1), 1e6, Picoseconds(0)});
  return row;
}

TEST(ReplanningTest, AnIdleDeviceStepsInWhateverJoinsThem) {
  const std::vector<Interconnect> interconnects = {
      GridInterconnect{{2, 2}, true, 1e6, Picoseconds(0), GridInterconnect::NonAdjacent::kDividedByHops},
      GridInterconnect{{4}, false, 1e6, Picoseconds(0), GridInterconnect::NonAdjacent::kLinkBandwidth},
      Row(),
      MatrixInterconnect{std::vector<double>(16, 1e6), Picoseconds(0)},
  };
  for (const Interconnect& interconnect : interconnects) {
    SCOPED_TRACE(InterconnectName(interconnect));
    ReplannedRequest request = SizedRequest(interconnect);
    request.problem.start_from = Placement{{StageOn({0, 1}, {2}), StageOn({2, 3}, {0}), StageOn({4, 5}, {1})}};
    request.problem.devices_to_use.excluded_devices = {DeviceId(0)};
    request.problem.replan_tolerance = 0.5;
    const absl::StatusOr<Plan> plan = request.Make();
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->replanning->moved_stages, 1);
    EXPECT_EQ(plan->stages[1].replicas[0].device, DeviceId(3));
  }
}

// The only way between both devices leads through one that the plan may not use.
TEST(ReplanningTest, RoutesLeadThroughDevicesThatAreLeftOut) {
  LinksInterconnect row = Row();
  for (auto& link : row.links) link.latency = Milliseconds(2);
  ReplannedRequest request = SizedRequest(row);
  request.problem.devices_to_use.devices = {DeviceId(0), DeviceId(2)};
  const absl::StatusOr<Plan> plan = request.Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->stages.size(), 2U);
  // 30 ms of work, 1 ms for the bytes, and the latencies of both links.
  EXPECT_EQ(plan->objective, Milliseconds(35));
  EXPECT_LE(plan->lower_bound, plan->objective);
}

TEST(ReplanningTest, PlansWithoutAStartSayNothingOfMoves) {
  const absl::StatusOr<Plan> plan = ReplannedRequest().Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_FALSE(plan->replanning.has_value());
}

TEST(ReplanningTest, TheVerifierCountsAgain) {
  ReplannedRequest request;
  request.problem.start_from = Placement{{StageOn({0, 1}, {2}), StageOn({2, 3}, {0}), StageOn({4, 5}, {1})}};
  const absl::StatusOr<Plan> plan = request.Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto refused = [&](const auto& change) {
    Plan changed = *plan;
    change(changed);
    Violations violations;
    VerifyPlan(request.graph, request.cluster, changed, violations);
    std::vector<std::string> paths;
    for (const Violation& violation : violations.listed()) paths.push_back(violation.path);
    return paths;
  };
  EXPECT_THAT(refused([](Plan&) {}), IsEmpty());
  EXPECT_THAT(refused([](Plan& p) { p.replanning.reset(); }), ElementsAre("plan.replanning"));
  EXPECT_THAT(refused([](Plan& p) { ++p.replanning->moved_stages; }), ElementsAre("plan.replanning.moved_stages"));
  EXPECT_THAT(refused([](Plan& p) { --p.replanning->kept_stages; }), ElementsAre("plan.replanning.kept_stages"));
  EXPECT_THAT(refused([](Plan& p) { p.replanning->best_objective = p.objective + Picoseconds(1); }),
              ElementsAre("plan.replanning.best_objective_ms"));
  EXPECT_THAT(refused([](Plan& p) { p.replanning->best_objective = p.objective / 2; }),
              ElementsAre("plan.replanning.best_objective_ms"));
}

}  // namespace
}  // namespace planwright
