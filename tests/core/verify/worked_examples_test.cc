// One small example for each rule of docs/cost-model.md that this version supports, the expected sums written out.
#include <gtest/gtest.h>

#include <cstddef>
#include <utility>
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
    const Verdict verdict = VerifyPlacement({graph_, cluster_, ResolveProblem(graph_, problem_)}, {stages});
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

TEST_F(WorkedExample, StagesOfOneDevicePayAsOne) {
  problem_.split = Split::kNonContiguous;
  const std::vector<Placement::Stage> stages = {{{kA}, {DeviceId(0)}}, {{kB}, {DeviceId(1)}}, {{kC}, {DeviceId(0)}}};
  // t0 leaves for b only; c has it already. t1 comes back.
  const Plan host_staged = Cost(stages);
  ExpectStage(host_staged.stages[0], 0, 10, 3);
  ExpectStage(host_staged.stages[1], 3, 20, 5);
  ExpectStage(host_staged.stages[2], 5, 40, 0);
  EXPECT_EQ(host_staged.devices[0].load, Picoseconds(10 + 40 + 3 + 5));
  EXPECT_EQ(host_staged.objective, Picoseconds(58));
  cluster_.interconnect = UniformInterconnect{};
  const Plan uniform = Cost(stages);
  EXPECT_EQ(uniform.devices[0].load, Picoseconds(58));
  ASSERT_EQ(uniform.links.size(), 1U);
  EXPECT_EQ(uniform.links[0].load, Picoseconds(3 + 5));
}

TEST_F(WorkedExample, ADeviceReceivesATensorOnceForAllItsStages) {
  problem_.split = Split::kNonContiguous;
  const OperatorId d = AddOperator(graph_, "d", 80, 240);
  AddTensor(graph_, kC, {d}, 7);
  const Plan plan = Cost({{{kA}, {DeviceId(0)}}, {{kB}, {DeviceId(1)}}, {{kC}, {DeviceId(1)}}, {{d}, {DeviceId(0)}}});
  ExpectStage(plan.stages[1], 3, 20, 0);
  ExpectStage(plan.stages[2], 0, 40, 7);
  EXPECT_EQ(plan.devices[1].load, Picoseconds(3 + 60 + 7));
}

TEST_F(WorkedExample, StagesOfOneDeviceOverlapAsOne) {
  problem_.split = Split::kNonContiguous;
  problem_.overlap = Overlap::kOverlapped;
  graph_.tensors[0].transfer = Picoseconds(30);
  const Plan plan = Cost({{{kA}, {DeviceId(0)}}, {{kB}, {DeviceId(1)}}, {{kC}, {DeviceId(0)}}});
  EXPECT_EQ(plan.stages[0].load, Picoseconds(30));
  EXPECT_EQ(plan.stages[2].load, Picoseconds(40));
  // max(10 + 40, 30 + 5), not 30 + 40.
  EXPECT_EQ(plan.devices[0].load, Picoseconds(50));
}

TEST_F(WorkedExample, OverlapDecidesHowALoadAddsUp) {
  graph_.tensors[1].transfer = Picoseconds(19);
  const auto middle_load = [&](Overlap overlap) {
    problem_.overlap = overlap;
    return CostApart().stages[1].load;
  };
  EXPECT_EQ(middle_load(Overlap::kSerial), Picoseconds(3 + 20 + 19));
  EXPECT_EQ(middle_load(Overlap::kOverlapped), Picoseconds(3 + 19));
  EXPECT_EQ(middle_load(Overlap::kFullDuplex), Picoseconds(20));
}

TEST_F(WorkedExample, GpipeAddsTheSlowestOfEachPass) {
  problem_.schedule = ScheduleKind::kGpipe;
  for (Operator& op : graph_.operators) op.memory_bytes = 1;
  graph_.operators[0].costs[0].backward = Picoseconds(100);
  graph_.operators[2].costs[0].backward = Picoseconds(1);
  const Plan plan = CostApart();
  // Forward 10 + 3, backward 100 + 3; the last stage 40 + 8 and 1 + 8.
  EXPECT_EQ(plan.devices[0].load, Picoseconds(13 + 103));
  EXPECT_EQ(plan.devices[2].load, Picoseconds(48 + 9));
  EXPECT_EQ(plan.objective, Picoseconds(48 + 103));
  EXPECT_EQ(plan.stages[0].in_flight_micro_batches, 1);
}

TEST_F(WorkedExample, GpipeChargesATensorToThePassOfItsProducer) {
  problem_.schedule = ScheduleKind::kGpipe;
  const OperatorId backward_c = AddBackward(graph_, "c'", kC, 80, 0);
  const OperatorId backward_a = AddBackward(graph_, "a'", kA, 20, 0);
  AddTensor(graph_, backward_c, {backward_a}, 4);
  const Plan plan = Cost({{{kA, backward_a}, {DeviceId(0)}}, {{kB}, {DeviceId(1)}}, {{kC, backward_c}, {DeviceId(2)}}});
  EXPECT_EQ(plan.objective, Picoseconds((8 + 40) + (80 + 4)));
}

// b and c on two replicas each, a alone.
class WorkedReplication : public WorkedExample {
 protected:
  WorkedReplication() {
    cluster_ = MakeCluster(5, 0);
    problem_.replication = Replication::kPerStage;
    for (Operator& op : graph_.operators) op.parameter_bytes = 30;
  }

  Plan CostReplicated() const {
    return Cost({{{kA}, {DeviceId(0)}}, {{kB}, {DeviceId(2), DeviceId(1)}}, {{kC}, {DeviceId(4), DeviceId(3)}}});
  }
};

TEST_F(WorkedReplication, InferenceDividesTheLoad) {
  const Plan plan = CostReplicated();
  ExpectStage(plan.stages[1], 3, 20, 5);
  EXPECT_EQ(plan.stages[1].allreduce, Picoseconds(0));
  EXPECT_EQ(plan.stages[2].replicas[1].load, Picoseconds(24));
  EXPECT_EQ(plan.objective, Picoseconds(24));
  EXPECT_EQ(plan.devices[4].load, Picoseconds(24));
}

TEST_F(WorkedReplication, TrainingReducesGradientsAroundTheRing) {
  graph_.operators[1].costs[0].backward = Picoseconds(1);
  cluster_.interconnect = HostStagedInterconnect{7e12, Picoseconds(2)};
  const Plan plan = CostReplicated();
  // 2 x 1 / 2 x 30 bytes at 7 bytes per ps, rounded up, and twice the latency.
  EXPECT_EQ(plan.stages[1].allreduce, Picoseconds(5 + 2 * 2));
  EXPECT_EQ(plan.stages[1].load, Picoseconds(8 + 21 + 8));
  EXPECT_EQ(plan.stages[1].replicas[0].load, Picoseconds(23));  // (37 + 9) / 2
  EXPECT_EQ(plan.stages[0].allreduce, Picoseconds(0));
  problem_.allreduce.factor = AllReduce::Factor::kHalf;
  EXPECT_EQ(CostReplicated().stages[1].allreduce, Picoseconds(3 + 2 * 2));
  problem_.overlap = Overlap::kOverlapped;
  // max(21, 16, 7) / 2, rounded up.
  EXPECT_EQ(CostReplicated().stages[1].replicas[0].load, Picoseconds(11));
}

TEST_F(WorkedReplication, GpipeReducesGradientsInTheBackwardPass) {
  graph_.operators[1].costs[0].backward = Picoseconds(1);
  cluster_.interconnect = HostStagedInterconnect{6e12, Picoseconds(0)};
  problem_.schedule = ScheduleKind::kGpipe;
  for (Operator& op : graph_.operators) op.memory_bytes = 1;
  const Plan plan = CostReplicated();
  // Forward 3 + 20 + 5 and backward 5 + 1 + 3 + 5, halved; 30 bytes at 6 bytes per ps.
  EXPECT_EQ(plan.stages[1].replicas[0].load, Picoseconds(14 + 7));
}

TEST_F(WorkedReplication, StagesOfATeamAreDividedAndReducedTogether) {
  cluster_.interconnect = HostStagedInterconnect{7e12, Picoseconds(2)};
  problem_.split = Split::kNonContiguous;
  for (Operator& op : graph_.operators) op.costs[0].backward = Picoseconds(1);
  const Plan plan =
      Cost({{{kA}, {DeviceId(0), DeviceId(1)}}, {{kB}, {DeviceId(2)}}, {{kC}, {DeviceId(0), DeviceId(1)}}});
  const Picoseconds undivided = plan.stages[0].load + plan.stages[2].load;
  EXPECT_EQ(plan.stages[0].allreduce, Picoseconds(5 + 2 * 2));
  // 60 bytes at 7 bytes per ps, rounded up, and twice the latency.
  EXPECT_EQ(plan.devices[1].load, Picoseconds(CeilDivide(undivided.count() + 9 + int64_t{2} * 2, 2)));
  EXPECT_EQ(plan.devices[0].load, plan.devices[1].load);
}

TEST_F(WorkedReplication, LinksCarryTheirShareOfTheMicroBatches) {
  cluster_.interconnect = UniformInterconnect{};
  const Plan plan = CostReplicated();
  // a to each replica of b and c every second time; replica 0 of b to replica 0 of c, 1 to 1.
  std::vector<std::pair<std::size_t, std::size_t>> ends;
  for (const LinkUsage& link : plan.links) ends.emplace_back(link.device_a.index(), link.device_b.index());
  const std::vector<std::pair<std::size_t, std::size_t>> expected = {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 3}, {2, 4}};
  EXPECT_EQ(ends, expected);
  EXPECT_EQ(plan.links[0].load, Picoseconds(2));
  EXPECT_EQ(plan.links[4].load, Picoseconds(3));
}

TEST_F(WorkedReplication, MicroBatchesGoRoundRobin) {
  cluster_.interconnect = UniformInterconnect{};
  // a on two replicas, the rest on three: every pair meets once in six micro-batches.
  const Plan plan = Cost({{{kA}, {DeviceId(0), DeviceId(1)}}, {{kB, kC}, {DeviceId(2), DeviceId(3), DeviceId(4)}}});
  EXPECT_EQ(plan.links.size(), 6U);
  EXPECT_EQ(plan.links[0].load, Picoseconds(1));
  EXPECT_EQ(plan.stages[0].replicas[0].load, Picoseconds(7));
  EXPECT_EQ(plan.stages[1].replicas[2].load, Picoseconds(21));
}

// Pairs of devices, and pairs of pairs ten times as slow.
class WorkedHierarchy : public WorkedExample {
 protected:
  WorkedHierarchy() {
    cluster_ = MakeCluster(4, 0);
    cluster_.interconnect = HierarchyInterconnect{{{2, 1e14, Picoseconds(1)}, {2, 1e13, Picoseconds(2)}}};
  }
};

TEST_F(WorkedHierarchy, TransfersGoOverTheLowestCommonLevel) {
  const Plan plan = Cost({{{kA}, {DeviceId(0)}}, {{kB}, {DeviceId(1)}}, {{kC}, {DeviceId(2)}}});
  // 300 bytes take 1 + 3 ps inside a pair and 2 + 30 ps between pairs, 500 bytes 2 + 50 ps; transfer times are ignored.
  ExpectStage(plan.stages[0], 0, 10, 4 + 32);
  ExpectStage(plan.stages[1], 4, 20, 52);
  ExpectStage(plan.stages[2], 32 + 52, 40, 0);
  ASSERT_EQ(plan.links.size(), 3U);
  EXPECT_EQ(plan.links[1].load, Picoseconds(32));
}

TEST_F(WorkedHierarchy, ReplicasPayTheMeanOfTheLinksTheyUse) {
  problem_.replication = Replication::kPerStage;
  graph_.operators[1].costs[0].backward = Picoseconds(1);
  for (Operator& op : graph_.operators) op.parameter_bytes = 100;
  const Plan plan = Cost({{{kA}, {DeviceId(0)}}, {{kB, kC}, {DeviceId(1), DeviceId(2), DeviceId(3)}}});
  // a sends 4 ps once and 32 ps twice in three micro-batches: 68 / 3, rounded up; so do the gradients.
  ExpectStage(plan.stages[0], 23, 10, 23);
  // Its most loaded replica is in the other pair.
  ExpectStage(plan.stages[1], 32, 61, 32);
  // 2 x 2 / 3 x 200 bytes between the pairs, and four times the latency.
  EXPECT_EQ(plan.stages[1].allreduce, Picoseconds(27 + 4 * 2));
  EXPECT_EQ(plan.stages[1].replicas[0].load, Picoseconds(35));  // (69 + 35) / 3
  EXPECT_EQ(plan.stages[1].replicas[1].load, Picoseconds(54));  // (126 + 35) / 3
  EXPECT_EQ(plan.objective, Picoseconds(56));
}

class WorkedLatency : public WorkedExample {
 protected:
  WorkedLatency() { problem_.objective = Objective::kMinLatency; }
};

TEST_F(WorkedLatency, SubgraphsWaitForTheirProducers) {
  const Plan plan = CostApart();
  // a: 10 + 3; b: 3 + 20 + 5; c: 3 + 5 + 40, one after the other.
  ExpectStage(plan.stages[2], 8, 40, 0);
  EXPECT_EQ(plan.objective, Picoseconds(13 + 28 + 48));
  ASSERT_EQ(plan.tasks.size(), 3U);
  EXPECT_EQ(plan.tasks[1].start, Picoseconds(13));
  EXPECT_EQ(plan.tasks[2].start, Picoseconds(13 + 28));
  EXPECT_EQ(plan.tasks[2].resource, "acc2");
  EXPECT_EQ(plan.devices[0].load, Picoseconds(13));
}

TEST_F(WorkedLatency, IndependentSubgraphsRunAtTheSameTime) {
  graph_.tensors.erase(graph_.tensors.begin() + 1);
  const Plan plan = CostApart();
  EXPECT_EQ(plan.objective, Picoseconds(13 + 3 + 40));
  EXPECT_EQ(plan.tasks[1].start, plan.tasks[2].start);
}

TEST_F(WorkedLatency, SubgraphsOfOneDeviceNeverOverlap) {
  problem_.max_subgraphs_per_device = 2;
  graph_.tensors.erase(graph_.tensors.begin() + 1);
  const Plan plan = Cost({{{kA}, {DeviceId(0)}}, {{kC}, {DeviceId(1)}}, {{kB}, {DeviceId(1)}}});
  EXPECT_EQ(plan.tasks[1].start, Picoseconds(13));
  EXPECT_EQ(plan.tasks[2].start, Picoseconds(13 + 43));
  EXPECT_EQ(plan.objective, Picoseconds(13 + 43 + 23));
  EXPECT_EQ(plan.devices[1].load, Picoseconds(43 + 23));
}

TEST_F(WorkedLatency, SubgraphsOfOneDevicePayForWhatTheyExchange) {
  problem_.max_subgraphs_per_device = 2;
  const Plan plan = Cost({{{kA}, {DeviceId(0)}}, {{kB}, {DeviceId(1)}}, {{kC}, {DeviceId(0)}}});
  ExpectStage(plan.stages[0], 0, 10, 3);
  ExpectStage(plan.stages[2], 8, 40, 0);
  EXPECT_EQ(plan.devices[0].load, Picoseconds(13 + 48));
}

TEST_F(WorkedLatency, CpuOperatorsStartWhenTheirInputsAreThere) {
  graph_.tensors.erase(graph_.tensors.begin() + 1);
  const OperatorId d = AddOperator(graph_, "d", 1, 100);
  AddTensor(graph_, kB, {d}, 2);
  // b and c run at the same time although there is one CPU; d waits for b only.
  const Plan plan = Cost({{{kA}, {DeviceId(0)}}, {{kB, kC, d}, {DeviceId(3)}}});
  ExpectStage(plan.stages[1], 0, 60 + 120 + 100, 0);
  EXPECT_EQ(plan.objective, Picoseconds(13 + 60 + 100));
  EXPECT_EQ(plan.tasks.size(), 1U);
  EXPECT_EQ(plan.devices[3].load, Picoseconds(280));
  EXPECT_EQ(plan.estimate.bubble_fraction, 1 - (13.0 + 280) / (2 * 173));
}

TEST_F(WorkedLatency, SinksPayNoTransferAndCpuOnlyTensorsCostNothing) {
  const Plan plan = Cost({{{kC}, {DeviceId(0)}}, {{kA, kB}, {DeviceId(3)}}});
  EXPECT_EQ(plan.objective, Picoseconds(30 + 60 + (3 + 5 + 40)));
}

TEST_F(WorkedLatency, PassesAreSubgraphsOfTheirOwn) {
  const OperatorId backward_c = AddBackward(graph_, "c'", kC, 80, 0);
  const OperatorId backward_a = AddBackward(graph_, "a'", kA, 20, 0);
  AddTensor(graph_, kC, {backward_c}, 1);
  AddTensor(graph_, backward_c, {backward_a}, 4);
  for (Operator& op : graph_.operators) op.memory_bytes = 7;
  const Plan plan = Cost(
      {{{kA, kB}, {DeviceId(0)}}, {{kC}, {DeviceId(1)}}, {{backward_c}, {DeviceId(1)}}, {{backward_a}, {DeviceId(0)}}});
  EXPECT_EQ(plan.objective, Picoseconds((30 + 8) + (8 + 40 + 1) + (1 + 80 + 4) + (4 + 20)));
  EXPECT_EQ(plan.tasks[2].pass, Pass::kBackward);
  EXPECT_EQ(plan.devices[0].memory_bytes, 21);
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

TEST_F(WorkedExample, ComponentMemoryOfADeviceIsThatOfAllItsStages) {
  problem_.split = Split::kNonContiguous;
  for (Operator& op : graph_.operators) op.parameter_bytes = op.workspace_bytes = 7;
  problem_.memory_model.optimizer_bytes_per_parameter_byte = 0.5;
  problem_.memory_model.reserved_bytes = 5;
  const Plan plan = Cost({{{kA}, {DeviceId(0)}}, {{kB}, {DeviceId(1)}}, {{kC}, {DeviceId(0)}}});
  // ceil(7 x 1.5) + workspace + twice the tensor that crosses the border of the device + reserved.
  EXPECT_EQ(plan.stages[0].memory_bytes, 11 + 7 + 2 * 300 + 5);
  EXPECT_EQ(plan.stages[2].memory_bytes, 11 + 7 + 2 * 500 + 5);
  EXPECT_EQ(plan.devices[0].memory_bytes, 21 + 7 + 2 * 800 + 5);
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
