// Examples 18 to 20 of docs/cost-model-examples.md.
#include "core/cost/latency_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/cost/plan_costing.h"
#include "tests/core/cost/worked_examples.h"
#include "tests/support/small_models.h"

namespace planwright {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

PlanningProblem MinLatency(int32_t subgraphs = 1) {
  PlanningProblem problem;
  problem.objective = Objective::kMinLatency;
  problem.max_subgraphs_per_device = subgraphs;
  return problem;
}

// Start of every task in milliseconds.
std::vector<double> Starts(const Plan& plan) {
  std::vector<double> starts;
  for (const ScheduledTask& task : plan.tasks) starts.push_back(ToMilliseconds(task.start));
  return starts;
}

TEST(WorkedExampleTest, No18SubgraphsOneAfterTheOther) {
  const Plan plan = Cost(Diamond(false), SmallCluster(2), Place({{0, 1}, {2}}, {0, 1}), MinLatency());
  EXPECT_THAT(Times(plan), ElementsAre(ElementsAre(0, 10, 5, 15), ElementsAre(5, 5, 0, 10)));
  EXPECT_THAT(Starts(plan), ElementsAre(0, 15));
  EXPECT_EQ(plan.objective, Milliseconds(25));
}

TEST(WorkedExampleTest, No18CpuOperatorsPayNoTransfers) {
  const Plan plan = Cost(Diamond(false), SmallCluster(1, 1), Place({{0, 1}, {2}}, {0, 1}), MinLatency());
  EXPECT_THAT(Times(plan), ElementsAre(ElementsAre(0, 10, 5, 15), ElementsAre(0, 50, 0, 50)));
  EXPECT_EQ(plan.objective, Milliseconds(65));
  ASSERT_EQ(plan.tasks.size(), 1U) << "operators on CPUs have no task";
}

TEST(WorkedExampleTest, No19SubgraphsOfOneDevicePayForWhatTheyExchange) {
  const Plan plan = Cost(Diamond(false), SmallCluster(2), Place({{0}, {1}, {2}}, {0, 1, 0}), MinLatency(2));
  EXPECT_THAT(Times(plan),
              ElementsAre(ElementsAre(0, 4, 2, 6), ElementsAre(2, 6, 3, 11), ElementsAre(2 + 3, 5, 0, 10)));
  EXPECT_THAT(Starts(plan), ElementsAre(0, 6, 17));
  EXPECT_EQ(plan.objective, Milliseconds(27));
  EXPECT_EQ(plan.devices[0].load, Milliseconds(16));
  EXPECT_EQ(plan.tasks[2].resource, "acc0");
  EXPECT_EQ(plan.tasks[2].operation, "subgraph");
}

TEST(WorkedExampleTest, No20ForwardAndBackwardSubgraphs) {
  const Plan plan = Cost(WithBackwardOperator(), SmallCluster(2), Place({{0}, {1}, {2}}, {0, 1, 0}), MinLatency());
  EXPECT_THAT(Starts(plan), ElementsAre(0, 6, 17));
  EXPECT_EQ(plan.objective, Milliseconds(17 + 3 + 8));
  EXPECT_EQ(plan.tasks[0].pass, Pass::kForward);
  EXPECT_EQ(plan.tasks[2].pass, Pass::kBackward);
}

TEST(LatencyScheduleTest, SubgraphsOfOneDeviceDoNotOverlap) {
  OperatorGraph graph;
  graph.operators = {MeasuredOperator("p", 4), MeasuredOperator("q", 5)};
  EXPECT_EQ(Cost(graph, SmallCluster(1), Place({{1}, {0}}, {0, 0}), MinLatency(2)).objective, Milliseconds(9));
  EXPECT_THAT(Starts(Cost(graph, SmallCluster(1), Place({{1}, {0}}, {0, 0}), MinLatency(2))), ElementsAre(0, 5));
  EXPECT_EQ(Cost(graph, SmallCluster(2), Place({{1}, {0}}, {0, 1}), MinLatency()).objective, Milliseconds(5));
}

// The subgraph {p, r} waits for all of its inputs, although p has none.
TEST(LatencyScheduleTest, SubgraphsStartAndEndAsAWhole) {
  OperatorGraph graph;
  graph.operators = {MeasuredOperator("p", 4), MeasuredOperator("q", 5), MeasuredOperator("r", 1),
                     MeasuredOperator("s", 2)};
  graph.tensors = {TimedTensor("x", 1, {2}, 3), TimedTensor("y", 0, {3}, 1)};
  const Plan plan = Cost(graph, SmallCluster(3), Place({{1}, {0, 2}, {3}}, {0, 1, 2}), MinLatency());
  EXPECT_THAT(Starts(plan), ElementsAre(0, 8, 8 + 3 + 5 + 1));
  EXPECT_EQ(plan.objective, Milliseconds(17 + 1 + 2));
}

TEST(LatencyScheduleTest, CpuOperatorsStartWhenTheirInputsAreThere) {
  OperatorGraph graph = Diamond(false);
  graph.tensors.pop_back();  // a feeds b and c, which run side by side
  const Plan plan = Cost(graph, SmallCluster(1, 1), Place({{0}, {1, 2}}, {0, 1}), MinLatency());
  EXPECT_EQ(plan.objective, Milliseconds(4 + 2 + 60));
  EXPECT_EQ(plan.devices[1].load, Milliseconds(60 + 50));
  EXPECT_THAT(plan.warnings, Contains(HasSubstr("up to 2 operators run on CPUs at the same time, and there is 1")));
  EXPECT_THAT(Cost(graph, SmallCluster(1, 2), Place({{0}, {1, 2}}, {0, 1}), MinLatency()).warnings,
              Not(Contains(HasSubstr("run on CPUs"))));
  EXPECT_EQ(plan.estimate.bubble_fraction, 1 - 116.0 / 132);
}

// The second of two operators on CPUs starts when the first one ends: one CPU is enough.
TEST(LatencyScheduleTest, EndsComeBeforeStarts) {
  const OperatorGraph graph = Diamond(false);
  const Plan plan = Cost(graph, SmallCluster(0, 1), Place({{0, 1}, {2}}, {0, 0}), MinLatency());
  EXPECT_EQ(plan.objective, Milliseconds(150));
  EXPECT_EQ(ScheduleForLatency(graph, SmallCluster(0, 1), CostTable(graph, SmallCluster(0, 1), Workload::kInference),
                               plan.stages)
                .peak_cpu_operators,
            1);
}

TEST(LatencyScheduleTest, MemoryOfADeviceIsTheSumOverItsSubgraphs) {
  OperatorGraph graph = Diamond(false);
  for (Operator& op : graph.operators) op.workspace_bytes = 7;
  graph.tensors[0].size_bytes = 10;
  const Plan plan = Cost(graph, SmallCluster(2), Place({{0}, {1}, {2}}, {0, 1, 0}), MinLatency(2));
  EXPECT_EQ(plan.stages[0].memory_bytes, 7 + 2 * 10);
  EXPECT_EQ(plan.devices[0].memory_bytes, 2 * (7 + 2 * 10));
}

}  // namespace
}  // namespace planwright
