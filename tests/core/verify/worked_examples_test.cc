// One small example for each rule of cost-model.md that this version supports, the expected sums written out.
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "core/model/problem.h"
#include "core/verify/verify.h"
#include "tests/support/builders.h"

namespace planwright {
namespace {

constexpr OperatorId kA(0);
constexpr OperatorId kB(1);
constexpr OperatorId kC(2);

// a -> {b, c} by tensor t0 of 3 ps, b -> c by tensor t1 of 5 ps. Times 10, 20, 40 ps on accelerators, threefold on
// CPUs.
class WorkedExample : public ::testing::Test {
 protected:
  WorkedExample() : cluster_(MakeCluster(3, 1)) {
    AddOperator(graph_, "a", 10, 30);
    AddOperator(graph_, "b", 20, 60);
    AddOperator(graph_, "c", 40, 120);
    AddTensor(graph_, kA, {kB, kC}, 3, 300);
    AddTensor(graph_, kB, {kC}, 5, 500);
  }

  Plan Cost(const std::vector<Placement::Stage>& stages) const {
    const Verdict verdict = VerifyPlacement(graph_, cluster_, ResolveProblem(graph_, problem_), {stages});
    EXPECT_TRUE(verdict.violations.empty()) << verdict.violations.ToStatus();
    return verdict.costed.value();
  }

  // Every operator on an accelerator of its own.
  Plan CostApart() const { return Cost({{{kA}, {DeviceId(0)}}, {{kB}, {DeviceId(1)}}, {{kC}, {DeviceId(2)}}}); }

  static void ExpectStage(const Stage& stage, int64_t in, int64_t compute, int64_t out) {
    EXPECT_EQ(stage.communication_in, Picoseconds(in));
    EXPECT_EQ(stage.compute, Picoseconds(compute));
    EXPECT_EQ(stage.communication_out, Picoseconds(out));
    EXPECT_EQ(stage.load, Picoseconds(in + compute + out));
  }

  OperatorGraph graph_;
  Cluster cluster_;
  PlanningProblem problem_;
};

TEST_F(WorkedExample, HostStagedAcceleratorsPayOncePerTensor) {
  const Plan plan = CostApart();
  ExpectStage(plan.stages[0], 0, 10, 3);
  ExpectStage(plan.stages[1], 3, 20, 5);
  ExpectStage(plan.stages[2], 3 + 5, 40, 0);
  EXPECT_EQ(plan.objective, Picoseconds(48));
  EXPECT_TRUE(plan.links.empty());
}

TEST_F(WorkedExample, HostStagedCpusPayNothing) {
  const Plan plan = Cost({{{kA, kB}, {DeviceId(3)}}, {{kC}, {DeviceId(0)}}});
  ExpectStage(plan.stages[0], 0, 90, 0);
  ExpectStage(plan.stages[1], 8, 40, 0);
}

TEST_F(WorkedExample, UniformSendersPayOncePerReceivingDevice) {
  cluster_.interconnect = UniformInterconnect{};
  const Plan plan = CostApart();
  ExpectStage(plan.stages[0], 0, 10, 3 + 3);
  ExpectStage(plan.stages[1], 3, 20, 5);
  ExpectStage(plan.stages[2], 3 + 5, 40, 0);
  ASSERT_EQ(plan.links.size(), 3U);
  EXPECT_EQ(plan.links[0].load, Picoseconds(3));
  EXPECT_EQ(plan.links[1].load, Picoseconds(3));
  EXPECT_EQ(plan.links[2].load, Picoseconds(5));
  EXPECT_EQ(plan.links[2].device_a, DeviceId(1));
  EXPECT_EQ(plan.links[2].device_b, DeviceId(2));
}

TEST_F(WorkedExample, UniformReceiversPayOncePerTensorAndCpusPayLikeAnyone) {
  cluster_.interconnect = UniformInterconnect{};
  const Plan plan = Cost({{{kA}, {DeviceId(3)}}, {{kB, kC}, {DeviceId(0)}}});
  ExpectStage(plan.stages[0], 0, 30, 3);
  ExpectStage(plan.stages[1], 3, 60, 0);
}

TEST_F(WorkedExample, BandwidthTurnsBytesIntoTimeAndLatencyIsAddedOnce) {
  // 300 bytes at 7e13 bytes per second: 4.28 ps, rounded up.
  cluster_.interconnect = HostStagedInterconnect{7e13, Picoseconds(2)};
  graph_.tensors[0].transfer.reset();
  const Plan plan = CostApart();
  ExpectStage(plan.stages[0], 0, 10, 5 + 2);
  // The given transfer time of t1 gets no latency.
  ExpectStage(plan.stages[1], 7, 20, 5);
}

TEST_F(WorkedExample, GradientsComeBackInHostStagedTraining) {
  for (Operator& op : graph_.operators) op.costs[0].backward = Picoseconds(100);
  const Plan plan = CostApart();
  ExpectStage(plan.stages[0], 3, 110, 3);
  ExpectStage(plan.stages[1], 3 + 5, 120, 3 + 5);
  ExpectStage(plan.stages[2], 8, 140, 8);
}

TEST_F(WorkedExample, GradientsComeBackFromEachReceiverInUniformTraining) {
  cluster_.interconnect = UniformInterconnect{};
  for (Operator& op : graph_.operators) op.costs[0].backward = Picoseconds(100);
  const Plan plan = CostApart();
  ExpectStage(plan.stages[0], 6, 110, 6);
  ExpectStage(plan.stages[1], 3 + 5, 120, 3 + 5);
  ExpectStage(plan.stages[2], 8, 140, 8);
  EXPECT_EQ(plan.links[2].load, Picoseconds(10));
}

TEST_F(WorkedExample, InferenceHasNoGradients) {
  for (Operator& op : graph_.operators) op.costs[0].backward = Picoseconds(100);
  problem_.workload = Workload::kInference;
  ExpectStage(CostApart().stages[1], 3, 20, 5);
}

TEST_F(WorkedExample, WithBackwardOperatorsTheTensorsSayEverything) {
  const OperatorId backward_c = AddBackward(graph_, "c'", kC, 80, 0);
  const OperatorId backward_a = AddBackward(graph_, "a'", kA, 20, 0);
  AddTensor(graph_, backward_c, {backward_a}, 4);
  const Plan plan = Cost({{{kA, backward_a}, {DeviceId(0)}}, {{kB}, {DeviceId(1)}}, {{kC, backward_c}, {DeviceId(2)}}});
  ExpectStage(plan.stages[0], 4, 30, 3);
  ExpectStage(plan.stages[1], 3, 20, 5);
  ExpectStage(plan.stages[2], 8, 120, 4);
}

TEST_F(WorkedExample, DeclaredMemoryIsASum) {
  for (std::size_t i = 0; i < 3; ++i) graph_.operators[i].memory_bytes = 100 << i;
  const Plan plan = Cost({{{kA, kB}, {DeviceId(0)}}, {{kC}, {DeviceId(1)}}});
  EXPECT_EQ(plan.stages[0].memory_bytes, 300);
  EXPECT_EQ(plan.stages[1].memory_bytes, 400);
  EXPECT_EQ(plan.estimate.peak_memory_bytes, 400);
}

TEST_F(WorkedExample, ComponentMemoryOfTraining) {
  for (Operator& op : graph_.operators) {
    op.costs[0].backward = Picoseconds(100);
    op.parameter_bytes = 7;
    op.activation_bytes = 1000;
  }
  graph_.operators[0].workspace_bytes = 10;
  graph_.operators[1].workspace_bytes = 20;
  problem_.memory_model.optimizer_bytes_per_parameter_byte = 0.3;
  problem_.memory_model.reserved_bytes = 5;
  const Plan plan = Cost({{{kA, kB}, {DeviceId(0)}}, {{kC}, {DeviceId(1)}}});
  // ceil(14 x 2.3) + activations + the larger workspace + twice both tensors that cross + reserved.
  EXPECT_EQ(plan.stages[0].memory_bytes, 33 + 2000 + 20 + 2 * (300 + 500) + 5);
  EXPECT_EQ(plan.stages[1].memory_bytes, 17 + 1000 + 0 + 2 * (300 + 500) + 5);
  EXPECT_EQ(plan.devices[2].memory_bytes, 0);
}

TEST_F(WorkedExample, ComponentMemoryOfInferenceKeepsParametersAndBuffersOnly) {
  for (Operator& op : graph_.operators) {
    op.parameter_bytes = 7;
    op.activation_bytes = 1000;
  }
  const Plan plan = Cost({{{kA}, {DeviceId(0)}}, {{kB, kC}, {DeviceId(1)}}});
  EXPECT_EQ(plan.stages[0].memory_bytes, 7 + 2 * 300);
  EXPECT_EQ(plan.stages[1].memory_bytes, 14 + 2 * 300);
}

TEST_F(WorkedExample, StagesAheadOfOthersHoldMoreMicroBatches) {
  EXPECT_EQ(CostApart().stages[0].in_flight_micro_batches, 1);
  for (Operator& op : graph_.operators) op.memory_bytes = 1;
  problem_.schedule = ScheduleKind::kOneFOneB;
  const Plan plan = CostApart();
  EXPECT_EQ(plan.stages[0].in_flight_micro_batches, 3);
  EXPECT_EQ(plan.stages[2].in_flight_micro_batches, 1);
}

TEST_F(WorkedExample, EstimateFollowsFromTheObjective) {
  graph_.samples_per_micro_batch = 8;
  const Plan plan = CostApart();
  EXPECT_DOUBLE_EQ(plan.estimate.micro_batches_per_second, 1e12 / 48);
  EXPECT_DOUBLE_EQ(plan.estimate.samples_per_second, 8e12 / 48);
  EXPECT_DOUBLE_EQ(plan.estimate.bubble_fraction, 1 - (13.0 + 28 + 48) / (3 * 48));
  EXPECT_EQ(plan.estimate.estimated_operators, 0);
  EXPECT_EQ(plan.estimate.step_time, Picoseconds(0));
}

TEST_F(WorkedExample, RooflineTimesAreCounted) {
  cluster_.device_classes[0].peak_flops = 1e12;
  graph_.operators[1].costs.clear();
  graph_.operators[1].forward_flops = 25;
  const Plan plan = CostApart();
  EXPECT_EQ(plan.stages[1].compute, Picoseconds(25));
  EXPECT_EQ(plan.estimate.estimated_operators, 1);
}

TEST_F(WorkedExample, NoTimeAtAllMakesNoRates) {
  for (Operator& op : graph_.operators) op.costs[0].forward = Picoseconds(0);
  const Plan plan = Cost({{{kA, kB, kC}, {DeviceId(0)}}});
  EXPECT_EQ(plan.objective, Picoseconds(0));
  EXPECT_EQ(plan.estimate.micro_batches_per_second, 0);
  EXPECT_EQ(plan.estimate.bubble_fraction, 0);
}

}  // namespace
}  // namespace planwright
