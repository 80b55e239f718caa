#include "core/partition/latency/min_latency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/base/infeasibility.h"
#include "core/cost/terms/cost_table.h"
#include "core/planner/planner.h"
#include "tests/core/partition/latency/latency_oracle.h"
#include "tests/support/builders.h"

namespace planwright {
namespace {

using ::testing::HasSubstr;

struct Effort {
  int threads = 1;
  int64_t work_limit = 2'000'000;
  int64_t seed = 1;
  SolveLimits limits;
};

// Through the planner, whose verifier shares no code with the search: a wrong plan or number is an error here.
absl::StatusOr<Plan> MakeLatencyPlan(const Instance& made, Effort effort = {}) {
  PlannerObserver observer;
  TaskArena arena(effort.threads);
  SolverOptions options;
  options.algorithm = Algorithm::kLatencyAnnealing;
  options.seed = effort.seed;
  effort.limits.work = effort.work_limit;
  return MakePlan({made.graph, made.cluster, made.problem, options}, ModelLimits(), effort.limits, arena, observer);
}

LatencyInstance BuildAsGiven(const Instance& made) {
  const ResolvedProblem problem = ResolveProblem(made.graph, made.problem);
  return BuildLatencyInstance(
      {made.graph, made.cluster, problem, CostTable(made.graph, made.cluster, problem.workload)});
}

class MinLatencyTest : public testing::TestWithParam<int32_t> {};

TEST_P(MinLatencyTest, FindsTheLeastLatencyOfSmallGraphs) {
  const int32_t slots_per_pass = GetParam();
  int plans = 0;
  int proven = 0;
  for (uint64_t seed = 0; seed < (slots_per_pass == 1 ? 200U : 120U); ++seed) {
    const Instance made = MakeLatencyInstance(seed, slots_per_pass == 1 ? 8 : 5, slots_per_pass);
    const std::optional<int64_t> least = LeastLatency(BuildAsGiven(made), slots_per_pass);
    const absl::StatusOr<Plan> plan = MakeLatencyPlan(made);
    ASSERT_EQ(plan.ok(), least.has_value()) << plan.status() << "\n" << Describe(made);
    if (!least.has_value()) {
      EXPECT_TRUE(InfeasibilityOf(plan.status()).has_value() || IsNoPlanFound(plan.status())) << plan.status();
      continue;
    }
    ++plans;
    EXPECT_EQ(plan->objective.count(), *least) << Describe(made);
    EXPECT_LE(plan->lower_bound, plan->objective);
    if (plan->provenance.proven_optimal) ++proven;
  }
  EXPECT_GT(plans, 60);
  EXPECT_GT(proven, plans / 3);
}

INSTANTIATE_TEST_SUITE_P(SubgraphsPerDevice, MinLatencyTest, testing::Values(1, 2));

// Layers of four operators between which everything is connected, with memory for a third of them on each accelerator.
Instance LayeredInstance() {
  Instance made;
  RandomStream random(5);
  constexpr std::size_t kLayers = 15;
  constexpr std::size_t kWidth = 4;
  for (std::size_t i = 0; i < kLayers * kWidth; ++i) {
    const int64_t time = random.Between(1, 100);
    const OperatorId op = AddOperator(made.graph, std::to_string(i), time, 10 * time);
    made.graph.operators[op.index()].memory_bytes = random.Between(1, 10);
  }
  for (std::size_t i = 0; i < (kLayers - 1) * kWidth; ++i) {
    std::vector<OperatorId> consumers;
    for (std::size_t j = 0; j < kWidth; ++j) {
      if (random.Below(2) == 0) consumers.emplace_back((i / kWidth + 1) * kWidth + j);
    }
    AddTensor(made.graph, OperatorId(i), consumers, random.Between(0, 40));
  }
  made.cluster = MakeCluster(4, 2, 120);
  made.problem.objective = Objective::kMinLatency;
  return made;
}

std::vector<std::vector<std::size_t>> ShapeOf(const Plan& plan) {
  std::vector<std::vector<std::size_t>> shape;
  for (const Stage& stage : plan.stages) {
    std::vector<std::size_t>& members = shape.emplace_back();
    members.push_back(stage.replicas.front().device.index());
    for (const OperatorId op : stage.operators) members.push_back(op.index());
  }
  return shape;
}

TEST(MinLatencyTest, IsTheSameForAnyNumberOfThreads) {
  Instance made = LayeredInstance();
  for (const int32_t q : {1, 2}) {
    made.problem.max_subgraphs_per_device = q;
    const absl::StatusOr<Plan> one = MakeLatencyPlan(made, {.threads = 1, .work_limit = 20'000'000, .limits = {}});
    ASSERT_TRUE(one.ok()) << one.status();
    for (const int threads : {2, 8}) {
      const absl::StatusOr<Plan> other =
          MakeLatencyPlan(made, {.threads = threads, .work_limit = 20'000'000, .limits = {}});
      ASSERT_TRUE(other.ok()) << other.status();
      EXPECT_EQ(other->objective, one->objective);
      EXPECT_EQ(ShapeOf(*other), ShapeOf(*one));
      EXPECT_EQ(other->provenance.counters, one->provenance.counters);
    }
  }
}

TEST(MinLatencyTest, MoreSubgraphsPerDeviceAreNotWorse) {
  Instance made = LayeredInstance();
  const absl::StatusOr<Plan> one = MakeLatencyPlan(made, {.work_limit = 20'000'000, .limits = {}});
  made.problem.max_subgraphs_per_device = 2;
  const absl::StatusOr<Plan> two = MakeLatencyPlan(made, {.work_limit = 20'000'000, .limits = {}});
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_LE(two->objective, one->objective);
}

TEST(MinLatencyTest, EndsByItsWorkLimit) {
  const absl::StatusOr<Plan> plan = MakeLatencyPlan(LayeredInstance(), {.work_limit = 1'000'000, .limits = {}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->provenance.stop_reason, StopReason::kWorkLimit);
  EXPECT_GT(plan->provenance.counters.at("moves"), 1'000);
}

TEST(MinLatencyTest, GivesWhatItHasWhenStopped) {
  Effort effort{.work_limit = 1'000'000'000'000, .limits = {}};
  effort.limits.deadline = SolveLimits::Clock::now() + std::chrono::milliseconds(100);
  const absl::StatusOr<Plan> plan = MakeLatencyPlan(LayeredInstance(), effort);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->provenance.stop_reason, StopReason::kTimeLimit);
}

TEST(MinLatencyTest, HonoursPinsAndProhibitions) {
  Instance made = LayeredInstance();
  made.problem.pinned = {{OperatorId(0), DeviceId(2)}, {OperatorId(59), DeviceId(5)}};
  made.problem.forbidden = {{OperatorId(30), DeviceId(0)}, {OperatorId(30), DeviceId(1)}};
  const absl::StatusOr<Plan> plan = MakeLatencyPlan(made);
  ASSERT_TRUE(plan.ok()) << plan.status();
}

TEST(MinLatencyTest, KeepsLayersTogether) {
  Instance made = LayeredInstance();
  for (std::size_t i = 0; i < made.graph.operators.size(); ++i) {
    made.graph.operators[i].layer = std::to_string(i / 6);
  }
  made.problem.granularity = Granularity::kLayer;
  made.problem.max_subgraphs_per_device = 2;
  const absl::StatusOr<Plan> plan = MakeLatencyPlan(made);
  ASSERT_TRUE(plan.ok()) << plan.status();
}

// No CPU, and greedy filling in any order of the chain leaves an operator over: 3 + 3 does not fit beside 2 in 4.
TEST(MinLatencyTest, RepairsStartsThatDoNotFit) {
  Instance made;
  for (const int64_t bytes : {3, 2, 2, 3, 1, 1}) {
    const OperatorId op = AddOperator(made.graph, std::to_string(made.graph.operators.size()), 10, 100);
    made.graph.operators[op.index()].memory_bytes = bytes;
  }
  made.cluster = MakeCluster(3, 0, 4);
  made.problem.objective = Objective::kMinLatency;
  const absl::StatusOr<Plan> plan = MakeLatencyPlan(made);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(20));
}

TEST(MinLatencyTest, RefusesTrainingByBackwardTimes) {
  Instance made;
  AddOperator(made.graph, "a", 1, 10);
  made.graph.operators[0].costs[0].backward = Picoseconds(2);
  made.cluster = MakeCluster(1, 1);
  made.problem.objective = Objective::kMinLatency;
  const absl::StatusOr<Plan> plan = MakeLatencyPlan(made);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(plan.status().message(), HasSubstr("problem.workload"));
}

TEST(MinLatencyTest, SaysWhatIsMissingWhereNoPlanExists) {
  Instance made = LayeredInstance();
  made.cluster = MakeCluster(2, 0, 100);
  const absl::StatusOr<Plan> plan = MakeLatencyPlan(made);
  ASSERT_TRUE(InfeasibilityOf(plan.status()).has_value()) << plan.status();
  EXPECT_THAT(plan.status().message(), HasSubstr("bytes are missing"));
}

}  // namespace
}  // namespace planwright
