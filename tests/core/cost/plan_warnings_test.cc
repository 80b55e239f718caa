#include "core/cost/plan_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/cost/plan_costing.h"
#include "tests/support/small_models.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// a -> b, 4 ms each, the transfer 1 ms; each says how much memory it needs.
OperatorGraph TwoInARow() {
  OperatorGraph graph;
  graph.operators = {MeasuredOperator("a", 4), MeasuredOperator("b", 4)};
  for (Operator& op : graph.operators) op.parameter_bytes = 10;
  graph.tensors = {TimedTensor("x", 0, {1}, 1)};
  return graph;
}

const Cluster& LimitedCluster() {
  static const Cluster kCluster = SmallCluster(2, 0, HostStagedInterconnect(), 1'000);
  return kCluster;
}

std::vector<std::string> WarningsOf(const OperatorGraph& graph, const Cluster& cluster = LimitedCluster(),
                                    const PlanningProblem& problem = {}) {
  const ResolvedProblem resolved = ResolveProblem(graph, problem);
  Placement placement;
  placement.stages = {{{OperatorId(0)}, {DeviceId(0)}}, {{OperatorId(1)}, {DeviceId(1)}}};
  const CostTable costs(graph, cluster, resolved.workload);
  return CostPlan({graph, cluster, resolved, costs}, placement).warnings;
}

TEST(PlanWarningsTest, NoneForAPlausiblePlan) { EXPECT_THAT(WarningsOf(TwoInARow()), IsEmpty()); }

TEST(PlanWarningsTest, CountsRooflineEstimates) {
  OperatorGraph graph = TwoInARow();
  Cluster cluster = LimitedCluster();
  cluster.device_classes[0].peak_flops = 1e12;
  graph.operators[0].costs.clear();
  graph.operators[0].forward_flops = 4e9;
  EXPECT_THAT(WarningsOf(graph, cluster), ElementsAre("1 operator has a roofline estimate, not a measured time"));
  graph.operators[1] = graph.operators[0];
  EXPECT_THAT(WarningsOf(graph, cluster), ElementsAre("2 operators have roofline estimates, not measured times"));
}

TEST(PlanWarningsTest, ImplausiblyShortTransfers) {
  OperatorGraph graph = TwoInARow();
  graph.tensors[0].transfer = Picoseconds(400'000);  // 1e-4 of 4 ms
  EXPECT_THAT(WarningsOf(graph), IsEmpty());
  graph.tensors[0].transfer = Picoseconds(200'000);
  EXPECT_THAT(
      WarningsOf(graph),
      ElementsAre("the median transfer takes 0.0002 ms, 5e-05 times the median operator's 4 ms: check the units "
                  "of sizes, bandwidths and times"));
}

TEST(PlanWarningsTest, ImplausiblyLongTransfers) {
  OperatorGraph graph = TwoInARow();
  graph.tensors[0].transfer = Milliseconds(400);
  EXPECT_THAT(WarningsOf(graph), IsEmpty());
  graph.tensors[0].transfer = Milliseconds(800);
  EXPECT_THAT(WarningsOf(graph),
              ElementsAre("the median transfer takes 800 ms, 200 times the median operator's 4 ms: check the units of "
                          "sizes, bandwidths and times"));
}

TEST(PlanWarningsTest, FreeTransfersAreNoSlipOfUnits) {
  OperatorGraph graph = TwoInARow();
  graph.tensors[0].transfer = Picoseconds(0);
  EXPECT_THAT(WarningsOf(graph), IsEmpty());
}

// Three of five tensors are of the backward pass, which INFERENCE drops.
TEST(PlanWarningsTest, TransfersOfAPassThatIsDroppedAreNoSlipOfUnits) {
  OperatorGraph graph = TwoInARow();
  graph.tensors = {TimedTensor("x", 0, {1}, 1), TimedTensor("x2", 0, {1}, 1)};
  for (const char* name : {"b'", "a'"}) {
    graph.operators.push_back(MeasuredOperator(name, 4));
    graph.operators.back().pass = Pass::kBackward;
  }
  for (const char* name : {"y", "y2", "y3"}) graph.tensors.push_back(TimedTensor(name, 2, {3}, 800));
  PlanningProblem problem;
  problem.workload = Workload::kInference;
  EXPECT_THAT(WarningsOf(graph, LimitedCluster(), problem), IsEmpty());
  problem.workload = Workload::kTraining;
  EXPECT_THAT(WarningsOf(graph, LimitedCluster(), problem),
              ElementsAre("the median transfer takes 800 ms, 200 times the median operator's 4 ms: check the units of "
                          "sizes, bandwidths and times"));
}

// 1 ms on the fastest links, 1 s on the others.
TEST(PlanWarningsTest, SlowLinksBesideFastOnesAreNoSlipOfUnits) {
  const HierarchyInterconnect levels{
      .levels = {{.fan_out = 2, .bandwidth_bytes_per_second = 1e9}, {.fan_out = 2, .bandwidth_bytes_per_second = 1e6}}};
  OperatorGraph graph = TwoInARow();
  graph.tensors = {SizedTensor("x", 0, {1}, 1'000'000)};
  EXPECT_THAT(WarningsOf(graph, SmallCluster(4, 0, levels, 3'000'000)), IsEmpty());
}

TEST(PlanWarningsTest, TrainingWithoutBackwardTimes) {
  PlanningProblem problem;
  problem.workload = Workload::kTraining;
  EXPECT_THAT(
      WarningsOf(TwoInARow(), LimitedCluster(), problem),
      ElementsAre("the workload is TRAINING, but the graph has no backward times: backward passes take no time"));
}

TEST(PlanWarningsTest, AcceleratorsWithoutMemoryLimit) {
  EXPECT_THAT(
      WarningsOf(TwoInARow(), SmallCluster(2)),
      ElementsAre("accelerators of class \"accelerator\" have no memory_bytes: their memory counts as unlimited"));
  EXPECT_THAT(WarningsOf(TwoInARow(), SmallCluster(0, 2)), IsEmpty()) << "CPUs usually have no limit";
}

TEST(PlanWarningsTest, LimitsThatNothingCountsAgainst) {
  OperatorGraph graph = TwoInARow();
  for (Operator& op : graph.operators) op.parameter_bytes = 0;
  EXPECT_THAT(WarningsOf(graph),
              ElementsAre("no operator says how much memory it needs: memory limits were held against buffers only"));
  for (Operator& op : graph.operators) op.memory_bytes = 0;
  EXPECT_THAT(WarningsOf(graph), IsEmpty()) << "zero is what they declare";
}

TEST(PlanWarningsTest, TransferTimesThatAHierarchyIgnores) {
  const HierarchyInterconnect levels{.levels = {{.fan_out = 2, .bandwidth_bytes_per_second = 1e9}}};
  OperatorGraph graph = TwoInARow();
  graph.tensors[0].size_bytes = 1'000'000;
  EXPECT_THAT(WarningsOf(graph, SmallCluster(2, 0, levels, 1'000)),
              ElementsAre("1 tensor has a transfer_ms, which this interconnect ignores: it goes by size_bytes"));
  graph.tensors[0].transfer.reset();
  EXPECT_THAT(WarningsOf(graph, SmallCluster(2, 0, levels, 1'000)), IsEmpty());
}

TEST(PlanWarningsTest, LayersThatNobodyNames) {
  PlanningProblem problem;
  problem.granularity = Granularity::kLayer;
  OperatorGraph graph = TwoInARow();
  EXPECT_THAT(WarningsOf(graph, LimitedCluster(), problem),
              ElementsAre("the granularity is LAYER, but no operator names its layer: operators were placed one by "
                          "one"));
  graph.operators[0].layer = "l";
  EXPECT_THAT(WarningsOf(graph, LimitedCluster(), problem), IsEmpty());
}

// A list for people ends with the fifth name.
TEST(PlanWarningsTest, DevicesOfAnEarlierPlanThatAreGone) {
  PlanningProblem problem;
  const auto warnings_of = [&](const std::vector<std::string>& names) {
    problem.absent_devices.clear();
    for (const std::string& name : names) problem.absent_devices.emplace_back().name = name;
    return WarningsOf(TwoInARow(), LimitedCluster(), problem);
  };
  EXPECT_THAT(warnings_of({"a", "a"}),
              ElementsAre("of problem.start_from, a is not in this cluster: what it held moves"));
  EXPECT_THAT(warnings_of({"a", "b", "a", "c", "d", "e"}),
              ElementsAre("of problem.start_from, a, b, c, d, e are not in this cluster: what they held moves"));
  EXPECT_THAT(warnings_of({"a", "b", "c", "d", "e", "f", "g"}),
              ElementsAre("of problem.start_from, a, b, c, d, e and 2 more are not in this cluster: what they held "
                          "moves"));
}

}  // namespace
}  // namespace planwright
