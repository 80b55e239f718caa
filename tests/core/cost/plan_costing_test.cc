#include "core/cost/plan_costing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/cost/worked_examples.h"
#include "tests/support/small_models.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Placement kApart = Place({{0}, {1}, {2}}, {0, 1, 2});

TEST(WorkedExampleTest, No1HostStagedInference) {
  const Plan plan = Cost(Diamond(false), SmallCluster(3), kApart);
  EXPECT_THAT(Times(plan), ElementsAre(ElementsAre(0, 4, 2, 6),     // x out once, for both consumers
                                       ElementsAre(2, 6, 3, 11),    // x in, y out
                                       ElementsAre(5, 5, 0, 10)));  // x and y in
  EXPECT_EQ(plan.objective, Milliseconds(11));
  EXPECT_THAT(plan.links, IsEmpty());
}

TEST(WorkedExampleTest, No2HostStagedCpusPayNothing) {
  const Plan plan = Cost(Diamond(false), SmallCluster(2, 1), kApart);
  EXPECT_THAT(Times(plan), ElementsAre(ElementsAre(0, 4, 2, 6), ElementsAre(2, 6, 3, 11), ElementsAre(0, 50, 0, 50)));
  EXPECT_EQ(plan.objective, Milliseconds(50));
}

TEST(WorkedExampleTest, No3UniformInference) {
  const Plan plan = Cost(Diamond(false), SmallCluster(3, 0, UniformInterconnect()), kApart);
  EXPECT_THAT(Times(plan), ElementsAre(ElementsAre(0, 4, 4, 8),  // x out to each of two devices
                                       ElementsAre(2, 6, 3, 11), ElementsAre(5, 5, 0, 10)));
  EXPECT_THAT(Links(plan), ElementsAre(ElementsAre(0, 1, 2), ElementsAre(0, 2, 2), ElementsAre(1, 2, 3)));
}

TEST(WorkedExampleTest, No4UniformCpusPayLikeAnyone) {
  const Plan plan = Cost(Diamond(false), SmallCluster(2, 1, UniformInterconnect()), kApart);
  EXPECT_THAT(Times(plan), ElementsAre(ElementsAre(0, 4, 4, 8), ElementsAre(2, 6, 3, 11), ElementsAre(5, 50, 0, 55)));
}

TEST(WorkedExampleTest, No5HostStagedTrainingByBackwardTimes) {
  const Plan plan = Cost(Diamond(true), SmallCluster(3), kApart);
  EXPECT_THAT(Times(plan), ElementsAre(ElementsAre(2, 12, 2, 16),    // the gradient of x comes in once
                                       ElementsAre(5, 18, 5, 28),    // in: x, gradient of y; out: y, gradient of x
                                       ElementsAre(5, 15, 5, 25)));  // in: x, y; out: their gradients
  EXPECT_EQ(plan.objective, Milliseconds(28));
}

TEST(WorkedExampleTest, No6UniformTrainingByBackwardTimes) {
  const Plan plan = Cost(Diamond(true), SmallCluster(3, 0, UniformInterconnect()), kApart);
  EXPECT_THAT(Times(plan), ElementsAre(ElementsAre(4, 12, 4, 20),  // a gradient of x from each of two devices
                                       ElementsAre(5, 18, 5, 28), ElementsAre(5, 15, 5, 25)));
  EXPECT_THAT(Links(plan), ElementsAre(ElementsAre(0, 1, 4), ElementsAre(0, 2, 4), ElementsAre(1, 2, 6)));
}

TEST(WorkedExampleTest, No7TrainingByBackwardOperators) {
  const Plan plan = Cost(WithBackwardOperator(), SmallCluster(2), Place({{0, 2}, {1}}, {0, 1}));
  EXPECT_THAT(Times(plan), ElementsAre(ElementsAre(3, 12, 2, 17),   // g in, x out: the tensors say all
                                       ElementsAre(2, 6, 3, 11)));  // x in, g out
}

TEST(WorkedExampleTest, No7InferenceDropsTheBackwardOperator) {
  PlanningProblem problem;
  problem.workload = Workload::kInference;
  const Plan plan = Cost(WithBackwardOperator(), SmallCluster(3), Place({{0}, {1}, {2}}, {0, 1, 2}), problem);
  EXPECT_THAT(Times(plan), ElementsAre(ElementsAre(0, 4, 2, 6), ElementsAre(2, 6, 0, 8)));
  EXPECT_THAT(plan.devices[2].stages, IsEmpty());
}

TEST(WorkedExampleTest, No9MemoryCountsACrossingTensorOnceOnEachSide) {
  OperatorGraph graph = Diamond(true);
  graph.tensors[0].size_bytes = 8;
  graph.tensors[1].size_bytes = 16;
  for (std::size_t i = 0; i < 3; ++i) graph.operators[i].parameter_bytes = static_cast<int64_t>(100 * (i + 1));
  const Plan plan = Cost(graph, SmallCluster(3, 0, HostStagedInterconnect(), 5'000), Place({{0}, {1, 2}}, {2, 0}));
  // 100 x 2 + 2 x 8, and 500 x 2 + 2 x 8: y stays inside.
  EXPECT_EQ(plan.stages[0].memory_bytes, 216);
  EXPECT_EQ(plan.stages[1].memory_bytes, 1'016);
  EXPECT_EQ(plan.devices[2].memory_bytes, 216);
  EXPECT_EQ(plan.devices[1].memory_bytes, 0);
  EXPECT_EQ(plan.devices[0].memory_limit_bytes, 5'000);
  EXPECT_EQ(plan.estimate.peak_memory_bytes, 1'016);
}

TEST(CostPlanTest, TensorsInsideAStageAreFree) {
  const Plan plan = Cost(Diamond(true), SmallCluster(1), Place({{0, 1, 2}}, {0}));
  EXPECT_THAT(Times(plan), ElementsAre(ElementsAre(0, 45, 0, 45)));
}

TEST(CostPlanTest, DropsEmptyStagesAndSortsOperators) {
  const Plan plan = Cost(Diamond(false), SmallCluster(3), Place({{}, {1, 0}, {2}}, {0, 2, 1}));
  ASSERT_EQ(plan.stages.size(), 2U);
  EXPECT_THAT(plan.stages[0].operators, ElementsAre(OperatorId(0), OperatorId(1)));
  EXPECT_EQ(plan.stages[0].replicas.front().device, DeviceId(2));
  EXPECT_EQ(plan.stages[0].replicas.front().load, plan.stages[0].load);
}

TEST(CostPlanTest, ListsEveryDeviceInTheOrderOfTheCluster) {
  const Plan plan = Cost(Diamond(false), SmallCluster(3, 1), Place({{0}, {1, 2}}, {2, 0}));
  ASSERT_EQ(plan.devices.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(plan.devices[i].device, DeviceId(i));
  EXPECT_THAT(plan.devices[0].stages, ElementsAre(StageId(1)));
  EXPECT_THAT(plan.devices[1].stages, IsEmpty());
  EXPECT_THAT(plan.devices[2].stages, ElementsAre(StageId(0)));
  EXPECT_EQ(plan.devices[0].load, plan.stages[1].load);
  EXPECT_EQ(plan.devices[3].load, Picoseconds(0));
}

TEST(CostPlanTest, LinksAddUpBothDirections) {
  OperatorGraph graph = Diamond(false);
  graph.tensors[1].consumers = {OperatorId(0)};  // back to the first device: not a plan, but costed all the same
  graph.tensors[0].consumers = {OperatorId(1)};
  const Plan plan = Cost(graph, SmallCluster(2, 0, UniformInterconnect()), Place({{0, 2}, {1}}, {1, 0}));
  EXPECT_THAT(Links(plan), ElementsAre(ElementsAre(0, 1, 5)));
}

// Example 1 has loads 6, 11 and 10 of 3 x 11.
TEST(CostPlanTest, EstimatesRates) {
  OperatorGraph graph = Diamond(false);
  graph.samples_per_micro_batch = 4;
  const Plan plan = Cost(graph, SmallCluster(4), kApart);
  EXPECT_DOUBLE_EQ(plan.estimate.micro_batches_per_second, 1000.0 / 11);
  EXPECT_DOUBLE_EQ(plan.estimate.samples_per_second, 4000.0 / 11);
  EXPECT_DOUBLE_EQ(plan.estimate.bubble_fraction, 1 - 27.0 / 33);
  EXPECT_EQ(plan.estimate.step_time, Picoseconds(0));
  EXPECT_EQ(plan.estimate.estimated_operators, 0);
}

TEST(CostPlanTest, TimelessPlansHaveNoRate) {
  OperatorGraph graph;
  graph.operators = {MeasuredOperator("a", 0)};
  const Plan plan = Cost(graph, SmallCluster(1), Place({{0}}, {0}));
  EXPECT_EQ(plan.objective, Picoseconds(0));
  EXPECT_EQ(plan.estimate.micro_batches_per_second, 0);
  EXPECT_EQ(plan.estimate.bubble_fraction, 0);
}

TEST(CostPlanTest, CountsEstimatedOperatorsOnTheirOwnDevice) {
  OperatorGraph graph = Diamond(false);
  graph.operators[1].costs.pop_back();  // not measured on CPUs
  graph.operators[1].forward_flops = 1e9;
  Cluster cluster = SmallCluster(2, 1);
  cluster.device_classes[1].peak_flops = 1e12;
  EXPECT_EQ(Cost(graph, cluster, Place({{0, 1, 2}}, {0})).estimate.estimated_operators, 0);
  EXPECT_EQ(Cost(graph, cluster, Place({{0, 1, 2}}, {2})).estimate.estimated_operators, 1);
}

TEST(CostPlanTest, MicroBatchesInFlight) {
  OperatorGraph graph = Diamond(true);
  for (Operator& op : graph.operators) op.memory_bytes = 1;
  PlanningProblem problem;
  for (const Stage& stage : Cost(graph, SmallCluster(3), kApart, problem).stages) {
    EXPECT_EQ(stage.in_flight_micro_batches, 1);
  }
  problem.schedule = ScheduleKind::kOneFOneB;
  const Plan plan = Cost(graph, SmallCluster(3), kApart, problem);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(plan.stages[i].in_flight_micro_batches, static_cast<int32_t>(3 - i));
    EXPECT_EQ(plan.stages[i].memory_bytes, 1) << "DECLARED memory is never multiplied";
  }
}

TEST(CostPlanTest, TransfersFollowBytesAndBandwidth) {
  OperatorGraph graph = Diamond(false);
  graph.tensors = {SizedTensor("x", 0, {1}, 16'000'000), SizedTensor("y", 1, {2}, 1)};
  const HostStagedInterconnect host_staged{.bandwidth_bytes_per_second = 16e9, .latency = Picoseconds(5'000'000)};
  const Plan plan = Cost(graph, SmallCluster(2, 0, host_staged), Place({{0}, {1, 2}}, {0, 1}));
  EXPECT_EQ(plan.stages[0].communication_out, Picoseconds(1'005'000'000));
}

TEST(CostPlanTest, KeepsTheProblemAndLeavesProofsToTheCaller) {
  const Plan plan = Cost(Diamond(true), SmallCluster(3), kApart);
  EXPECT_EQ(plan.problem.workload, Workload::kTraining);
  EXPECT_EQ(plan.lower_bound, Picoseconds(0));
  EXPECT_THAT(plan.bounds, IsEmpty());
  EXPECT_FALSE(plan.provenance.proven_optimal);
}

}  // namespace
}  // namespace planwright
