// Examples 12 to 17 and 24 of docs/cost-model-examples.md, and how the modes agree with each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/cost/plan_costing.h"
#include "tests/core/cost/worked_examples.h"
#include "tests/support/small_models.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

PlanningProblem NonContiguous() {
  PlanningProblem problem;
  problem.split = Split::kNonContiguous;
  return problem;
}

PlanningProblem Replicated(Overlap overlap = Overlap::kSerial, ScheduleKind schedule = ScheduleKind::kSteadyState) {
  PlanningProblem problem;
  problem.replication = Replication::kPerStage;
  problem.overlap = overlap;
  problem.schedule = schedule;
  return problem;
}

std::vector<double> DeviceLoads(const Plan& plan) {
  std::vector<double> loads;
  for (const DeviceUsage& usage : plan.devices) loads.push_back(ToMilliseconds(usage.load));
  return loads;
}

std::vector<double> ReplicaLoads(const Stage& stage) {
  std::vector<double> loads;
  for (const Replica& replica : stage.replicas) loads.push_back(ToMilliseconds(replica.load));
  return loads;
}

// Stages a, b and c, where a and c share device 0.
const Placement kAround = Place({{0}, {1}, {2}}, {0, 1, 0});

TEST(WorkedExampleTest, No12StagesOfOneDeviceExchangeTensorsForFree) {
  const Plan plan = Cost(Diamond(false), SmallCluster(2), kAround, NonContiguous());
  EXPECT_THAT(Times(plan), ElementsAre(ElementsAre(0, 4, 2, 6),    // x out
                                       ElementsAre(2, 6, 3, 11),   // x in, y out
                                       ElementsAre(3, 5, 0, 8)));  // y in; x is there
  EXPECT_THAT(DeviceLoads(plan), ElementsAre(14, 11));
  EXPECT_THAT(plan.devices[0].stages, ElementsAre(StageId(0), StageId(2)));
  EXPECT_EQ(plan.objective, Milliseconds(14));
}

TEST(WorkedExampleTest, No12OverlapCountsTheSumsOfADevice) {
  PlanningProblem problem = NonContiguous();
  problem.overlap = Overlap::kOverlapped;
  const Plan plan = Cost(Diamond(false), SmallCluster(2), kAround, problem);
  EXPECT_THAT(DeviceLoads(plan), ElementsAre(9, 6));  // max(4 + 5, 3 + 2), max(6, 2 + 3)
  EXPECT_THAT(ToMilliseconds(plan.stages[2].load), 5);
}

TEST(WorkedExampleTest, No12TensorForTwoStagesOfADeviceIsPaidOnceAtTheFirst) {
  for (const Interconnect& interconnect : std::vector<Interconnect>{HostStagedInterconnect(), UniformInterconnect()}) {
    const Plan plan =
        Cost(Diamond(false), SmallCluster(2, 0, interconnect), Place({{0}, {1}, {2}}, {0, 1, 1}), NonContiguous());
    EXPECT_THAT(Times(plan), ElementsAre(ElementsAre(0, 4, 2, 6), ElementsAre(2, 6, 0, 8), ElementsAre(0, 5, 0, 5)));
    EXPECT_EQ(plan.objective, Milliseconds(13));
  }
}

// The first stage in the pipeline pays, not the first in the tensor's list of consumers.
TEST(CostPlanTest, BooksATensorAtTheFirstConsumingStage) {
  OperatorGraph graph = Diamond(false);
  graph.tensors[0].consumers = {OperatorId(2), OperatorId(1)};
  const Plan plan = Cost(graph, SmallCluster(2), Place({{0}, {1}, {2}}, {0, 1, 1}), NonContiguous());
  EXPECT_THAT(Times(plan), ElementsAre(ElementsAre(0, 4, 2, 6), ElementsAre(2, 6, 0, 8), ElementsAre(0, 5, 0, 5)));
}

TEST(CostPlanTest, MemoryOfADeviceIsThatOfItsOperatorsTogether) {
  OperatorGraph graph = Diamond(true);
  graph.tensors[0].size_bytes = 8;
  graph.tensors[1].size_bytes = 16;
  for (std::size_t i = 0; i < 3; ++i) {
    graph.operators[i].parameter_bytes = static_cast<int64_t>(100 * (i + 1));
    graph.operators[i].workspace_bytes = static_cast<int64_t>(10 * (i + 1));
  }
  PlanningProblem problem = NonContiguous();
  problem.memory_model.kind = MemoryModel::Kind::kComponents;
  problem.memory_model.reserved_bytes = 1'000;
  const Plan plan = Cost(graph, SmallCluster(2), kAround, problem);
  EXPECT_EQ(plan.stages[0].memory_bytes, 100 * 2 + 10 + 2 * 8 + 1'000);
  EXPECT_EQ(plan.stages[2].memory_bytes, 300 * 2 + 30 + 2 * 16 + 1'000);
  // One workspace, the larger one, and one reserve.
  EXPECT_EQ(plan.devices[0].memory_bytes, 400 * 2 + 30 + 2 * 24 + 1'000);
}

// Transfers of 4 and 6 ms, so that the ports matter.
TEST(WorkedExampleTest, No13OverlapModes) {
  OperatorGraph graph = Diamond(false);
  graph.tensors[0].transfer = Milliseconds(4);
  graph.tensors[1].transfer = Milliseconds(6);
  const Placement apart = Place({{0}, {1}, {2}}, {0, 1, 2});
  PlanningProblem problem;
  EXPECT_THAT(Times(Cost(graph, SmallCluster(3), apart, problem)),
              ElementsAre(ElementsAre(0, 4, 4, 8), ElementsAre(4, 6, 6, 16), ElementsAre(10, 5, 0, 15)));
  problem.overlap = Overlap::kOverlapped;
  EXPECT_THAT(DeviceLoads(Cost(graph, SmallCluster(3), apart, problem)), ElementsAre(4, 10, 10));
  problem.overlap = Overlap::kFullDuplex;
  EXPECT_THAT(DeviceLoads(Cost(graph, SmallCluster(3), apart, problem)), ElementsAre(4, 6, 10));
}

TEST(WorkedExampleTest, No14GpipeAddsTheSlowestForwardAndTheSlowestBackward) {
  PlanningProblem problem;
  problem.schedule = ScheduleKind::kGpipe;
  const Placement placement = Place({{0, 2}, {1}}, {0, 1});
  const Plan plan = Cost(WithBackwardOperator(), SmallCluster(2), placement, problem);
  // Forward 3 + 4 + 2 and 2 + 6 + 3 (g comes from a FORWARD operator), backward 8 and 0.
  EXPECT_THAT(DeviceLoads(plan), ElementsAre(17, 11));
  EXPECT_EQ(plan.objective, Milliseconds(11 + 8));
  EXPECT_EQ(Cost(WithBackwardOperator(), SmallCluster(2), placement).objective, Milliseconds(17));
}

TEST(WorkedExampleTest, No14GpipeByBackwardTimesChargesGradientsToTheBackwardPass) {
  PlanningProblem problem;
  problem.schedule = ScheduleKind::kGpipe;
  OperatorGraph graph = Diamond(true);
  graph.operators[2].costs[0].backward = Milliseconds(20);
  const Plan plan = Cost(graph, SmallCluster(3), Place({{0}, {1}, {2}}, {0, 1, 2}), problem);
  // Forward 4 + 2, 2 + 6 + 3, 5 + 5; backward 2 + 8, 3 + 12 + 2, 20 + 5.
  EXPECT_THAT(DeviceLoads(plan), ElementsAre(16, 28, 35));
  EXPECT_EQ(plan.objective, Milliseconds(11 + 25));
  for (const Stage& stage : plan.stages) EXPECT_EQ(stage.in_flight_micro_batches, 1);
}

TEST(CostPlanTest, GpipeOfInferenceIsTheGreatestLoad) {
  PlanningProblem problem;
  problem.schedule = ScheduleKind::kGpipe;
  const Placement apart = Place({{0}, {1}, {2}}, {0, 1, 2});
  EXPECT_EQ(Cost(Diamond(false), SmallCluster(3), apart, problem).objective, Milliseconds(11));
}

// 1 GB/s with 0.25 ms of latency, which transfers with a time of their own do not see.
UniformInterconnect OneGigabyte() { return {.bandwidth_bytes_per_second = 1e9, .latency = Picoseconds(250'000'000)}; }

OperatorGraph DiamondWithParameters(bool training) {
  OperatorGraph graph = Diamond(training);
  graph.operators[1].parameter_bytes = 4'000'000;
  graph.operators[2].parameter_bytes = 2'000'000;
  return graph;
}

// a on device 0; b and c, twice, on devices 2 and 1.
const Placement kTwice = PlaceReplicated({{0}, {1, 2}}, {{0}, {2, 1}});

TEST(WorkedExampleTest, No15ReplicatedInference) {
  const Plan plan = Cost(DiamondWithParameters(false), SmallCluster(3, 0, OneGigabyte()), kTwice, Replicated());
  EXPECT_THAT(Times(plan), ElementsAre(ElementsAre(0, 4, 2, 6), ElementsAre(2, 11, 0, 13)));
  EXPECT_THAT(ReplicaLoads(plan.stages[1]), ElementsAre(6.5, 6.5));
  EXPECT_EQ(plan.objective, Picoseconds(6'500'000'000));
  EXPECT_EQ(plan.stages[1].allreduce, Picoseconds(0));
  EXPECT_THAT(Links(plan), ElementsAre(ElementsAre(0, 1, 1), ElementsAre(0, 2, 1)));
}

TEST(WorkedExampleTest, No15ReplicatedTraining) {
  const Cluster cluster = SmallCluster(3, 0, OneGigabyte());
  const Plan plan = Cost(DiamondWithParameters(true), cluster, kTwice, Replicated());
  EXPECT_THAT(Times(plan), ElementsAre(ElementsAre(2, 12, 2, 16), ElementsAre(2, 33, 2, 37)));
  EXPECT_EQ(ToMilliseconds(plan.stages[1].allreduce), 6.5);  // 6 MB x 2 (2 - 1) / 2 at 1 GB/s, 2 x 0.25
  EXPECT_EQ(plan.stages[0].allreduce, Picoseconds(0));
  EXPECT_THAT(DeviceLoads(plan), ElementsAre(16, 21.75, 21.75));
  EXPECT_THAT(Links(plan), ElementsAre(ElementsAre(0, 1, 2), ElementsAre(0, 2, 2)));
  EXPECT_THAT(plan.stages[0].ring_order, IsEmpty());
  EXPECT_THAT(plan.stages[1].ring_order, ElementsAre(DeviceId(1), DeviceId(2)));
  EXPECT_EQ(plan.stages[1].replicas[0].device, DeviceId(2));
  EXPECT_EQ(plan.stages[1].replicas[1].copy, 1);
  EXPECT_EQ(plan.devices[1].memory_bytes, plan.stages[1].memory_bytes);
  EXPECT_EQ(plan.devices[2].memory_bytes, plan.stages[1].memory_bytes);
}

TEST(WorkedExampleTest, No15AllReduceRunsBesideTheWorkWhereTheyOverlap) {
  const Cluster cluster = SmallCluster(3, 0, OneGigabyte());
  PlanningProblem problem = Replicated(Overlap::kOverlapped);
  EXPECT_THAT(DeviceLoads(Cost(DiamondWithParameters(true), cluster, kTwice, problem)), ElementsAre(12, 16.5, 16.5));
  OperatorGraph heavy = DiamondWithParameters(true);
  heavy.operators[1].parameter_bytes = 40'000'000;
  EXPECT_THAT(DeviceLoads(Cost(heavy, cluster, kTwice, problem)), ElementsAre(12, 21.25, 21.25));
  problem.allreduce.factor = AllReduce::Factor::kHalf;
  EXPECT_THAT(DeviceLoads(Cost(heavy, cluster, kTwice, problem)), ElementsAre(12, 16.5, 16.5));
}

TEST(WorkedExampleTest, No15GpipeReducesInTheBackwardPass) {
  const Cluster cluster = SmallCluster(3, 0, OneGigabyte());
  const PlanningProblem problem = Replicated(Overlap::kSerial, ScheduleKind::kGpipe);
  const Plan plan = Cost(DiamondWithParameters(true), cluster, kTwice, problem);
  // Forward 4 + 2 and (2 + 11) / 2; backward 2 + 8 and (22 + 2 + 6.5) / 2.
  EXPECT_THAT(DeviceLoads(plan), ElementsAre(16, 21.75, 21.75));
  EXPECT_EQ(ToMilliseconds(plan.objective), 6.5 + 15.25);
  const PlanningProblem overlapped = Replicated(Overlap::kOverlapped, ScheduleKind::kGpipe);
  // Forward 4 and 11 / 2, backward 8 and max(22, 6.5) / 2.
  EXPECT_EQ(ToMilliseconds(Cost(DiamondWithParameters(true), cluster, kTwice, overlapped).objective), 5.5 + 11);
}

TEST(WorkedExampleTest, No15StagesOfATeamAreDividedAndReducedTogether) {
  OperatorGraph graph = Diamond(true);
  graph.operators[0].parameter_bytes = 4'000'000;
  graph.operators[2].parameter_bytes = 2'000'000;
  PlanningProblem problem = Replicated();
  problem.split = Split::kNonContiguous;
  const Placement around = PlaceReplicated({{0}, {1}, {2}}, {{0, 1}, {2}, {0, 1}});
  const Plan plan = Cost(graph, SmallCluster(3, 0, OneGigabyte()), around, problem);
  EXPECT_EQ(ToMilliseconds(plan.stages[0].allreduce), 4.5);
  EXPECT_EQ(ToMilliseconds(plan.stages[2].allreduce), 2.5);
  // 12 + 2 + 2 for a and 15 + 3 + 3 for c, and 6 MB with the latency once, halved.
  EXPECT_THAT(DeviceLoads(plan), ElementsAre(21.75, 21.75, 28));
  // Each member has every second micro-batch of x and y, there and back.
  EXPECT_THAT(Links(plan), ElementsAre(ElementsAre(0, 2, 5), ElementsAre(1, 2, 5)));
}

TEST(WorkedExampleTest, No15ReplicatesOnHostStagedInterconnects) {
  const HostStagedInterconnect host{.bandwidth_bytes_per_second = 1e9, .latency = Picoseconds(250'000'000)};
  const Plan plan = Cost(DiamondWithParameters(true), SmallCluster(3, 0, host), kTwice, Replicated());
  EXPECT_THAT(DeviceLoads(plan), ElementsAre(16, 21.75, 21.75));
  EXPECT_THAT(plan.links, IsEmpty());
}

TEST(WorkedExampleTest, No15TheFormulaOfThePaperReducesAfterEachMicroBatch) {
  const Cluster cluster = SmallCluster(3, 0, OneGigabyte());
  PlanningProblem problem = Replicated();
  problem.allreduce.charge = AllReduce::Charge::kPerMicroBatch;
  EXPECT_THAT(DeviceLoads(Cost(DiamondWithParameters(true), cluster, kTwice, problem)), ElementsAre(16, 25, 25));
  problem.overlap = Overlap::kOverlapped;
  EXPECT_THAT(DeviceLoads(Cost(DiamondWithParameters(true), cluster, kTwice, problem)), ElementsAre(12, 16.5, 16.5));
}

TEST(WorkedExampleTest, No15StepsWithoutLimitReduceInNoTime) {
  PlanningProblem problem = Replicated();
  problem.allreduce.amortize_over_micro_batches = true;
  const Plan plan = Cost(DiamondWithParameters(true), SmallCluster(3, 0, OneGigabyte()), kTwice, problem);
  EXPECT_EQ(plan.stages[1].allreduce, Picoseconds(0));
  EXPECT_THAT(DeviceLoads(plan), ElementsAre(16, 18.5, 18.5));
}

// Steps of four micro-batches: a on devices 0 and 3, b and c on 2 and 1.
TEST(WorkedExampleTest, No24StepsOfFourMicroBatches) {
  PlanningProblem problem;
  problem.replication = Replication::kUniform;
  problem.schedule = ScheduleKind::kOneFOneB;
  problem.micro_batches = 4;
  const Placement placement = PlaceReplicated({{0}, {1, 2}}, {{0, 3}, {2, 1}});
  const Cluster cluster = SmallCluster(4, 0, OneGigabyte());
  const Plan plan = Cost(DiamondWithParameters(true), cluster, placement, problem);
  EXPECT_EQ(ToMilliseconds(plan.estimate.step_time), (4 + 2 - 1) * 37 + 6.5);
  EXPECT_EQ(ToMilliseconds(plan.objective), 191.5 / 8);
  EXPECT_THAT(ReplicaLoads(plan.stages[0]), ElementsAre((4 * 16 + 0.5) / 8, (4 * 16 + 0.5) / 8));
  EXPECT_THAT(ReplicaLoads(plan.stages[1]), ElementsAre((4 * 37 + 6.5) / 8, (4 * 37 + 6.5) / 8));
  EXPECT_EQ(plan.stages[0].in_flight_micro_batches, 2);
  EXPECT_EQ(plan.stages[1].in_flight_micro_batches, 1);
  // Copies meet their like only.
  EXPECT_THAT(Links(plan), ElementsAre(ElementsAre(0, 2, 2), ElementsAre(1, 3, 2)));
  problem.schedule = ScheduleKind::kGpipe;
  const Plan gpipe = Cost(DiamondWithParameters(true), cluster, placement, problem);
  EXPECT_EQ(gpipe.stages[1].in_flight_micro_batches, 4);
  // 13 forward and 24 backward, of the same stage.
  EXPECT_EQ(gpipe.estimate.step_time, plan.estimate.step_time);
}

TEST(WorkedExampleTest, No24TheSameStepAskedForByStage) {
  PlanningProblem problem;
  problem.replication = Replication::kPerStage;
  problem.schedule = ScheduleKind::kOneFOneB;
  // All of the step, where UNIFORM counts those of one copy.
  problem.micro_batches = 8;
  const Placement placement = PlaceReplicated({{0}, {1, 2}}, {{0, 3}, {2, 1}});
  const Plan plan = Cost(DiamondWithParameters(true), SmallCluster(4, 0, OneGigabyte()), placement, problem);
  EXPECT_EQ(ToMilliseconds(plan.estimate.step_time), 191.5);
  EXPECT_EQ(ToMilliseconds(plan.objective), 191.5 / 8);
  EXPECT_THAT(ReplicaLoads(plan.stages[1]), ElementsAre((4 * 37 + 6.5) / 8, (4 * 37 + 6.5) / 8));
  EXPECT_EQ(plan.stages[0].in_flight_micro_batches, 2);
}

// a on one device, b and c on two: 1 + 2 micro-batches fill the pipeline.
TEST(WorkedExampleTest, No25StepsWithReplicasOfOneStage) {
  PlanningProblem problem;
  problem.replication = Replication::kPerStage;
  problem.schedule = ScheduleKind::kOneFOneB;
  problem.micro_batches = 4;
  const Cluster cluster = SmallCluster(3, 0, OneGigabyte());
  const Plan plan = Cost(DiamondWithParameters(true), cluster, kTwice, problem);
  EXPECT_EQ(plan.stages[0].in_flight_micro_batches, 3);
  EXPECT_EQ(plan.stages[1].in_flight_micro_batches, 1);
  // 4 + 3 - 1 turns of max(16, 37 / 2).
  EXPECT_EQ(ToMilliseconds(plan.estimate.step_time), 6 * 18.5 + 6.5);
  EXPECT_EQ(ToMilliseconds(plan.objective), 117.5 / 4);
  EXPECT_THAT(ReplicaLoads(plan.stages[1]), ElementsAre((2 * 37 + 6.5) / 4, (2 * 37 + 6.5) / 4));
}

// Each on a device, x and y take 2 and 3 ms there and back beside the devices.
TEST(WorkedExampleTest, No26TransfersBesideTheDevicesTakeTurns) {
  PlanningProblem problem;
  problem.schedule = ScheduleKind::kOneFOneB;
  problem.overlap = Overlap::kOverlapped;
  problem.micro_batches = 4;
  const Placement apart = Place({{0}, {1}, {2}}, {0, 1, 2});
  const Plan plan = Cost(Diamond(true), SmallCluster(3, 0, OneGigabyte()), apart, problem);
  EXPECT_EQ(plan.stages[0].transfer_slots, 0);
  EXPECT_EQ(plan.stages[2].transfer_slots, 1);
  EXPECT_EQ(plan.stages[0].in_flight_micro_batches, 4);
  EXPECT_EQ(plan.stages[1].in_flight_micro_batches, 3);
  EXPECT_EQ(plan.stages[2].in_flight_micro_batches, 1);
  // 4 + 5 - 1 turns of b: max(18, 2 + 2 + 3 + 3).
  EXPECT_EQ(ToMilliseconds(plan.estimate.step_time), 8 * 18);
}

// Two replicas of a talk to three of b: a share of a sixth for each pair.
TEST(CostPlanTest, LinksCarryTheirShareOfTheMicroBatches) {
  OperatorGraph graph;
  graph.operators = {MeasuredOperator("a", 4), MeasuredOperator("b", 6)};
  graph.tensors = {TimedTensor("x", 0, {1}, 3)};
  const Placement placement = PlaceReplicated({{0}, {1}}, {{0, 1}, {2, 3, 4}});
  const Plan plan = Cost(graph, SmallCluster(5, 0, UniformInterconnect()), placement, Replicated());
  EXPECT_THAT(Links(plan), ElementsAre(ElementsAre(0, 2, 0.5), ElementsAre(0, 3, 0.5), ElementsAre(0, 4, 0.5),
                                       ElementsAre(1, 2, 0.5), ElementsAre(1, 3, 0.5), ElementsAre(1, 4, 0.5)));
}

TEST(CostPlanTest, EqualNumbersOfReplicasTalkInPairs) {
  OperatorGraph graph;
  graph.operators = {MeasuredOperator("a", 4), MeasuredOperator("b", 6)};
  graph.tensors = {TimedTensor("x", 0, {1}, 3)};
  const Placement placement = PlaceReplicated({{0}, {1}}, {{0, 1}, {3, 2}});
  const Plan plan = Cost(graph, SmallCluster(4, 0, UniformInterconnect()), placement, Replicated());
  EXPECT_THAT(Links(plan), ElementsAre(ElementsAre(0, 3, 1.5), ElementsAre(1, 2, 1.5)));
}

// Devices 0 and 1, and devices 2 and 3, at 1 GB/s; between them 0.1 GB/s and 1 ms.
HierarchyInterconnect TwoByTwo() {
  return {.levels = {{.fan_out = 2, .bandwidth_bytes_per_second = 1e9},
                     {.fan_out = 2, .bandwidth_bytes_per_second = 1e8, .latency = Milliseconds(1)}}};
}

// x has 2 MB, y has 3 MB; the transfer times are ignored.
OperatorGraph SizedDiamond() {
  OperatorGraph graph = DiamondWithParameters(false);
  graph.tensors[0].size_bytes = 2'000'000;
  graph.tensors[1].size_bytes = 3'000'000;
  return graph;
}

TEST(WorkedExampleTest, No16HierarchyTakesTheLowestCommonLevel) {
  const Plan plan = Cost(SizedDiamond(), SmallCluster(4, 0, TwoByTwo()), Place({{0}, {1}, {2}}, {0, 1, 2}));
  EXPECT_THAT(Times(plan), ElementsAre(ElementsAre(0, 4, 2 + 21, 27),  // to b inside, to c outside
                                       ElementsAre(2, 6, 31, 39),      // y goes outside
                                       ElementsAre(21 + 31, 5, 0, 57)));
  EXPECT_THAT(Links(plan), ElementsAre(ElementsAre(0, 1, 2), ElementsAre(0, 2, 21), ElementsAre(1, 2, 31)));
}

TEST(WorkedExampleTest, No17HierarchyAveragesOverPartners) {
  const Placement placement = PlaceReplicated({{0}, {1, 2}}, {{0}, {1, 2}});
  const Plan plan = Cost(SizedDiamond(), SmallCluster(4, 0, TwoByTwo()), placement, Replicated());
  EXPECT_THAT(Times(plan), ElementsAre(ElementsAre(0, 4, 11.5, 15.5),  // (2 + 21) / 2
                                       ElementsAre(21, 11, 0, 32)));   // its most loaded replica
  EXPECT_THAT(ReplicaLoads(plan.stages[1]), ElementsAre(6.5, 16));
  EXPECT_THAT(Links(plan), ElementsAre(ElementsAre(0, 1, 1), ElementsAre(0, 2, 10.5)));
  EXPECT_EQ(plan.objective, Milliseconds(16));
}

TEST(WorkedExampleTest, No17RingsPayTheirSlowestEdge) {
  PlanningProblem problem = Replicated();
  problem.workload = Workload::kTraining;
  const Cluster cluster = SmallCluster(4, 0, TwoByTwo());
  // 6 MB over the outer level: 60 + 2 x 1. Inside a group: 6.
  const Plan outside = Cost(SizedDiamond(), cluster, PlaceReplicated({{0}, {1, 2}}, {{0}, {1, 2}}), problem);
  EXPECT_EQ(outside.stages[1].allreduce, Milliseconds(62));
  const Plan inside = Cost(SizedDiamond(), cluster, PlaceReplicated({{0}, {1, 2}}, {{0}, {2, 3}}), problem);
  EXPECT_EQ(inside.stages[1].allreduce, Milliseconds(6));
}

// One replica each equals no replication, in every mode.
TEST(CostPlanTest, OneReplicaEqualsNoReplication) {
  const Placement apart = Place({{0}, {1}, {2}}, {2, 1, 0});
  for (const Interconnect& interconnect :
       std::vector<Interconnect>{HostStagedInterconnect(), UniformInterconnect(), TwoByTwo()}) {
    const Cluster cluster = SmallCluster(4, 0, interconnect);
    for (const Overlap overlap : {Overlap::kSerial, Overlap::kOverlapped, Overlap::kFullDuplex}) {
      for (const ScheduleKind schedule : {ScheduleKind::kSteadyState, ScheduleKind::kGpipe}) {
        PlanningProblem problem = Replicated(overlap, schedule);
        problem.workload = Workload::kTraining;
        const Plan replicated = Cost(SizedDiamond(), cluster, apart, problem);
        problem.replication = Replication::kNone;
        const Plan plain = Cost(SizedDiamond(), cluster, apart, problem);
        EXPECT_EQ(replicated.objective, plain.objective);
        EXPECT_EQ(Times(replicated), Times(plain));
        EXPECT_EQ(DeviceLoads(replicated), DeviceLoads(plain));
        EXPECT_EQ(Links(replicated), Links(plain));
      }
    }
  }
}

// A hierarchy with equal levels is a uniform interconnect.
TEST(CostPlanTest, EqualLevelsAreUniform) {
  OperatorGraph graph = SizedDiamond();
  for (Tensor& tensor : graph.tensors) tensor.transfer.reset();
  const HierarchyInterconnect levels{.levels = {{.fan_out = 2, .bandwidth_bytes_per_second = 1e9},
                                                {.fan_out = 1, .bandwidth_bytes_per_second = 1},
                                                {.fan_out = 2, .bandwidth_bytes_per_second = 1e9}}};
  const UniformInterconnect uniform{.bandwidth_bytes_per_second = 1e9};
  const Placement placement = PlaceReplicated({{0}, {1, 2}}, {{3}, {0, 2, 1}});
  const Plan by_levels = Cost(graph, SmallCluster(4, 0, levels), placement, Replicated());
  const Plan by_uniform = Cost(graph, SmallCluster(4, 0, uniform), placement, Replicated());
  EXPECT_EQ(Times(by_levels), Times(by_uniform));
  EXPECT_EQ(Links(by_levels), Links(by_uniform));
}

}  // namespace
}  // namespace planwright
