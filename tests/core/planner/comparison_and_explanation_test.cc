// What a plan says about simpler plans and about its own limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/planner/planner.h"
#include "tests/support/builders.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct ComparedRequest {
  OperatorGraph graph;
  Cluster cluster = MakeCluster(2, 0);
  PlanningProblem problem;
  SolverOptions options;

  absl::StatusOr<Plan> Make() const {
    TaskArena arena(1);
    PlannerObserver observer;
    return MakePlan({graph, cluster, problem, options}, ModelLimits(), SolveLimits(), arena, observer);
  }
};

// A chain of operators with these times and a transfer between neighbours.
ComparedRequest ComparedChain(const std::vector<int64_t>& times, int64_t transfer) {
  ComparedRequest request;
  std::optional<OperatorId> last;
  for (const int64_t time : times) {
    const OperatorId op = AddOperator(request.graph, "op" + std::to_string(request.graph.operators.size()), time, time);
    request.graph.operators.back().memory_bytes = 1;
    if (last.has_value()) AddTensor(request.graph, *last, {op}, transfer);
    last = op;
  }
  return request;
}

auto BaselineRow(const std::string& algorithm, std::optional<Picoseconds> objective, bool admissible) {
  return AllOf(Field(&Baseline::algorithm, algorithm), Field(&Baseline::objective, objective),
               Field(&Baseline::admissible, admissible));
}

TEST(BaselineComparisonTest, ListsCheapBaselines) {
  const absl::StatusOr<Plan> plan = ComparedChain({10, 10, 10, 10}, 1).Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(21));
  EXPECT_THAT(plan->baselines, ElementsAre(BaselineRow("single_device", Picoseconds(40), true),
                                           BaselineRow("data_parallel", Picoseconds(20), false),
                                           BaselineRow("greedy", Picoseconds(21), true)));
}

// 20 ps without transfers beat 21 with one, but only copies can do that.
TEST(BaselineComparisonTest, WarnsOfABetterPlanThatTheProblemForbids) {
  ComparedRequest request = ComparedChain({10, 10, 10, 10}, 1);
  const absl::StatusOr<Plan> plan = request.Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->warnings, ::testing::Contains(HasSubstr("data_parallel would take 2e-08 ms")));
  request.problem.replication = Replication::kPerStage;
  const absl::StatusOr<Plan> replicated = request.Make();
  ASSERT_TRUE(replicated.ok()) << replicated.status();
  EXPECT_EQ(replicated->objective, Picoseconds(20));
  EXPECT_THAT(replicated->warnings, ::testing::Not(::testing::Contains(HasSubstr("data_parallel"))));
}

TEST(BaselineComparisonTest, SaysWhyOneCannotRun) {
  ComparedRequest request = ComparedChain({10, 10, 10, 10}, 1);
  request.cluster = MakeCluster(2, 0, /*accelerator_memory_bytes=*/2);
  const absl::StatusOr<Plan> plan = request.Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_FALSE(plan->baselines.empty());
  EXPECT_THAT(plan->baselines[0], BaselineRow("single_device", std::nullopt, false));
  EXPECT_THAT(plan->baselines[0].reason, HasSubstr("single_device makes no plan that the problem allows"));
}

TEST(BaselineComparisonTest, BaselinesAreNotComparedWithThemselves) {
  ComparedRequest request = ComparedChain({10, 10}, 1);
  request.options.algorithm = Algorithm::kSingleDevice;
  const absl::StatusOr<Plan> plan = request.Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(20));
  EXPECT_THAT(plan->baselines, IsEmpty());
}

TEST(ExplanationTest, IsThereOnlyWhereItIsAskedFor) {
  const absl::StatusOr<Plan> plan = ComparedChain({10, 10}, 1).Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->explanation.bottleneck, IsEmpty());
}

// 30 + 2 and 20 + 2 on two devices; a third takes 20 from the first; half the transfer saves 1. Memory is unlimited.
TEST(ExplanationTest, NamesTheBottleneckAndWhatReliefBrings) {
  ComparedRequest request = ComparedChain({10, 20, 20}, 2);
  request.options.explain = true;
  const absl::StatusOr<Plan> plan = request.Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(32));
  EXPECT_THAT(plan->explanation.bottleneck, HasSubstr("device acc0"));
  EXPECT_EQ(plan->explanation.slack, Picoseconds(10));
  ASSERT_EQ(plan->explanation.relief.size(), 2U);
  EXPECT_EQ(plan->explanation.relief[0].resource, "device");
  EXPECT_EQ(plan->explanation.relief[0].amount, "one more device of class accelerator");
  EXPECT_EQ(plan->explanation.relief[0].predicted_objective, Picoseconds(24));
  EXPECT_EQ(plan->explanation.relief[1].resource, "bandwidth");
  EXPECT_EQ(plan->explanation.relief[1].predicted_objective, Picoseconds(31));
}

// Two bytes a device force a cut in the middle; with four, the three short operators share one.
TEST(ExplanationTest, KnowsWhatMemoryForces) {
  ComparedRequest request = ComparedChain({10, 10, 10, 40}, 1);
  request.cluster = MakeCluster(2, 0, /*accelerator_memory_bytes=*/2);
  request.options.explain = true;
  const absl::StatusOr<Plan> plan = request.Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(51));
  ASSERT_EQ(plan->explanation.relief.size(), 3U);
  EXPECT_EQ(plan->explanation.relief[1].resource, "memory");
  EXPECT_EQ(plan->explanation.relief[1].predicted_objective, Picoseconds(41));
}

}  // namespace
}  // namespace planwright
