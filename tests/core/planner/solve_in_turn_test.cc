// Several algorithms for one request, through MakePlan.
#include "core/planner/solve_in_turn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/infeasibility.h"
#include "tests/core/planner/planner_request.h"
#include "tests/support/builders.h"

namespace planwright {
namespace {

using ::testing::HasSubstr;

// Wider than enumeration looks at, on devices that no exact program knows.
PlannerRequest Wide(int branches) {
  PlannerRequest request;
  request.cluster = MakeCluster(6, 0);
  MatrixInterconnect matrix;
  for (std::size_t a = 0; a < 6; ++a) {
    for (std::size_t b = 0; b < 6; ++b) matrix.bandwidth_bytes_per_second.push_back(a / 2 == b / 2 ? 1e11 : 2e10);
  }
  request.cluster.interconnect = matrix;
  const OperatorId source = AddOperator(request.graph, "source", 10, 10);
  const OperatorId sink = AddOperator(request.graph, "sink", 10, 10);
  for (int i = 0; i < branches; ++i) {
    const OperatorId op = AddOperator(request.graph, "op" + std::to_string(i), 100 + 7 * i, 100);
    for (const auto& [from, to] : {std::pair(source, op), std::pair(op, sink)}) {
      AddTensor(request.graph, from, {to}, 1);
      request.graph.tensors.back().transfer.reset();
      request.graph.tensors.back().size_bytes = 1 + i % 3;
    }
  }
  return request;
}

TEST(SolveInTurnTest, SmallProblemsAreProvenInEveryMode) {
  PlannerRequest request = Wide(4);
  for (const Replication replication : {Replication::kNone, Replication::kUniform, Replication::kPerStage}) {
    request.problem.replication = replication;
    const absl::StatusOr<Plan> plan = Make(request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_TRUE(plan->provenance.proven_optimal);
    EXPECT_EQ(plan->provenance.stop_reason, StopReason::kOptimal);
  }
}

TEST(SolveInTurnTest, IsNoWorseThanAnyOfTheAlgorithms) {
  const PlannerRequest request = Wide(14);
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (const Algorithm algorithm : {Algorithm::kParmesan, Algorithm::kSequenceDp, Algorithm::kStageAnnealing}) {
    PlannerRequest alone = request;
    alone.options.algorithm = algorithm;
    alone.options.work_limit = 200'000;
    const absl::StatusOr<Plan> other = Make(alone);
    ASSERT_TRUE(other.ok()) << other.status();
    EXPECT_LE(plan->objective, other->objective) << other->provenance.algorithm;
    EXPECT_GE(plan->objective, other->lower_bound) << other->provenance.algorithm;
  }
}

TEST(SolveInTurnTest, NamesTheAlgorithmThatMadeThePlanAndTheLimitThatEndedTheSearch) {
  PlannerRequest request = Wide(14);
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_FALSE(plan->provenance.proven_optimal);
  EXPECT_EQ(plan->provenance.stop_reason, StopReason::kWorkLimit);
  EXPECT_EQ(plan->provenance.incumbents.back().algorithm, plan->provenance.algorithm);
  EXPECT_EQ(plan->provenance.incumbents.back().objective, plan->objective);
  EXPECT_EQ(plan->bounds.back().value, plan->lower_bound);
  request.limits.deadline = SolveLimits::Clock::now();
  const absl::StatusOr<Plan> late = Make(request);
  ASSERT_TRUE(late.ok()) << late.status();
  EXPECT_EQ(late->provenance.stop_reason, StopReason::kTimeLimit);
}

TEST(SolveInTurnTest, IsTheSameForAnyNumberOfThreads) {
  PlannerObserver observer;
  const PlannerRequest request = Wide(12);
  const absl::StatusOr<Plan> one = Make(request, observer, 1);
  const absl::StatusOr<Plan> three = Make(request, observer, 3);
  ASSERT_TRUE(one.ok() && three.ok());
  EXPECT_EQ(one->objective, three->objective);
  EXPECT_EQ(one->lower_bound, three->lower_bound);
  EXPECT_EQ(one->provenance.algorithm, three->provenance.algorithm);
  EXPECT_EQ(one->provenance.counters, three->provenance.counters);
}

TEST(SolveInTurnTest, ImprovesOnlyWhatItReports) {
  class Watcher : public PlannerObserver {
   public:
    void OnIncumbent(const Incumbent& incumbent) override { incumbents.push_back(incumbent); }
    std::vector<Incumbent> incumbents;
  };
  Watcher watcher;
  ASSERT_TRUE(Make(Wide(14), watcher).ok());
  for (std::size_t i = 1; i < watcher.incumbents.size(); ++i) {
    EXPECT_LT(watcher.incumbents[i].objective, watcher.incumbents[i - 1].objective);
    EXPECT_GE(watcher.incumbents[i].lower_bound, watcher.incumbents[i - 1].lower_bound);
    EXPECT_GE(watcher.incumbents[i].work, watcher.incumbents[i - 1].work);
  }
}

// How often each search began.
class PhaseCounter : public PlannerObserver {
 public:
  void OnPhase(std::string_view phase) override { ++phases[std::string(phase)]; }
  std::map<std::string, int> phases;
};

TEST(SolveInTurnTest, AnnealsWithOtherSeedsWhereLittleIsProven) {
  PhaseCounter counter;
  PlannerRequest request = Wide(16);
  const absl::StatusOr<Plan> plan = Make(request, counter);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_GT(RelativeGap(plan->objective, plan->lower_bound), 0.01);
  EXPECT_GT(counter.phases["stage_annealing"], 1);
  request.options.work_limit = 100'000;
  PhaseCounter limited;
  ASSERT_TRUE(Make(request, limited).ok());
  EXPECT_EQ(limited.phases["stage_annealing"], 1);
}

// Bytes that fill the devices exactly in few ways only, too many to be looked at.
PlannerRequest Filled(int branches) {
  PlannerRequest request = Wide(branches);
  for (Operator& op : request.graph.operators) op.memory_bytes = 1000;
  for (std::size_t i = 0; i < request.graph.operators.size(); ++i)
    *request.graph.operators[i].memory_bytes += 1 << (i % 10);
  int64_t total = 0;
  for (const Operator& op : request.graph.operators) total += *op.memory_bytes;
  request.cluster.device_classes[0].memory_bytes = (total + 5) / 6;
  return request;
}

TEST(SolveInTurnTest, WithoutAPlanNoOtherSeedsAreTried) {
  PhaseCounter counter;
  const absl::StatusOr<Plan> plan = Make(Filled(10), counter);
  ASSERT_TRUE(IsNoPlanFound(plan.status())) << plan.status();
  EXPECT_EQ(counter.phases["stage_annealing"], 1);
}

TEST(SolveInTurnTest, SaysWhichLimitEndedASearchWithoutAPlan) {
  PlannerRequest request = Filled(14);
  request.options.work_limit = 1000;
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_FALSE(plan.ok());
  ASSERT_TRUE(IsNoPlanFound(plan.status())) << plan.status();
  EXPECT_EQ(SpentLimitOf(plan.status()), SpentLimit::kWork);
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("work"));
}

TEST(SolveInTurnTest, OperatorsAreNeverWorseThanLayers) {
  PlannerRequest request = Wide(14);
  for (std::size_t i = 0; i < request.graph.operators.size(); ++i) {
    request.graph.operators[i].layer = "layer" + std::to_string(i / 3);
  }
  const absl::StatusOr<Plan> operators = Make(request);
  request.problem.granularity = Granularity::kLayer;
  const absl::StatusOr<Plan> layers = Make(request);
  ASSERT_TRUE(operators.ok() && layers.ok());
  EXPECT_LE(operators->objective, layers->objective);
}

TEST(SolveInTurnTest, AClusterThatHoldsAnotherOneIsNoWorse) {
  Picoseconds before = Picoseconds::max();
  for (const std::size_t nodes : {1U, 2U, 3U}) {
    PlannerRequest request = Wide(10);
    request.cluster = MakeCluster(static_cast<int>(2 * nodes), 0);
    request.cluster.interconnect =
        HierarchyInterconnect{{{2, 1e11, Picoseconds(0)}, {static_cast<int32_t>(nodes), 2e8, Picoseconds(0)}}};
    const absl::StatusOr<Plan> plan = Make(request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_LE(plan->objective, before) << nodes;
    before = plan->objective;
  }
}

}  // namespace
}  // namespace planwright
