#include "core/partition/latency/latency_instance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/cost/terms/cost_table.h"
#include "core/partition/latency/latency_feasibility.h"
#include "tests/core/partition/latency/latency_oracle.h"
#include "tests/support/builders.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// a -> b, their backward operators, and c colocated with b.
OperatorGraph TrainingGraph() {
  OperatorGraph graph;
  const OperatorId a = AddOperator(graph, "a", 1, 10);
  const OperatorId b = AddOperator(graph, "b", 2, 20);
  const OperatorId c = AddOperator(graph, "c", 3, 30);
  graph.operators[b.index()].colocation_group = "g";
  graph.operators[c.index()].colocation_group = "g";
  const OperatorId b_back = AddBackward(graph, "b'", b, 4, 40);
  const OperatorId a_back = AddBackward(graph, "a'", a, 5, 50);
  AddTensor(graph, a, {b, c}, 7);
  AddTensor(graph, b, {b_back}, 8);
  AddTensor(graph, b_back, {a_back}, 9);
  return graph;
}

TEST(LatencyInstanceTest, GroupsAreColocationUnionsOfBothPasses) {
  const LatencyInstance instance = BuildForLatency(TrainingGraph(), MakeCluster(2, 1));
  EXPECT_EQ(instance.num_passes, 2);
  EXPECT_THAT(instance.groups, ElementsAre(ElementsAre(0, 4), ElementsAre(1, 2, 3)));
  EXPECT_EQ(instance.bundles.size(), 5U);
  EXPECT_EQ(instance.tensors.size(), 3U);
  EXPECT_EQ(instance.subgraph_limit, 1);
}

TEST(LatencyInstanceTest, InferenceDropsBackwardOperatorsAndTheirTensors) {
  PlanningProblem problem;
  problem.workload = Workload::kInference;
  const LatencyInstance instance = BuildForLatency(TrainingGraph(), MakeCluster(2, 1), problem);
  EXPECT_EQ(instance.num_passes, 1);
  EXPECT_EQ(instance.num_vertices(), 3);
  EXPECT_EQ(instance.tensors.size(), 1U);
}

TEST(LatencyInstanceTest, LayersAreBundlesOfEachPassAndShareADevice) {
  OperatorGraph graph = TrainingGraph();
  for (const std::size_t op : {0, 1, 3}) graph.operators[op].layer = "1";
  PlanningProblem problem;
  problem.granularity = Granularity::kLayer;
  const LatencyInstance instance = BuildForLatency(graph, MakeCluster(2, 1), problem);
  EXPECT_THAT(instance.groups, ElementsAre(ElementsAre(0, 1, 2, 3, 4)));
  EXPECT_THAT(instance.bundles, ElementsAre(ElementsAre(0, 1), ElementsAre(2), ElementsAre(3), ElementsAre(4)));
}

TEST(LatencyInstanceTest, PinsAndProhibitionsSayWhereGroupsMayBe) {
  PlanningProblem problem;
  problem.pinned = {{OperatorId(1), DeviceId(1)}};
  problem.forbidden = {{OperatorId(0), DeviceId(0)}, {OperatorId(4), DeviceId(2)}};
  const LatencyInstance instance = BuildForLatency(TrainingGraph(), MakeCluster(2, 1), problem);
  EXPECT_THAT(instance.allowed[0], ElementsAre(false, true));
  EXPECT_FALSE(instance.allowed_on_cpu[0]);
  EXPECT_THAT(instance.allowed[1], ElementsAre(false, true));
  EXPECT_FALSE(instance.allowed_on_cpu[1]);
}

TEST(LatencyInstanceTest, AnOperatorRunsOnTheFastestCpu) {
  OperatorGraph graph;
  AddOperator(graph, "a", 1, 10);
  graph.operators[0].costs.push_back({"fast_cpu", Picoseconds(6), Picoseconds(0), Picoseconds(0)});
  Cluster cluster = MakeCluster(1, 2);
  DeviceClass& fast = cluster.device_classes.emplace_back();
  fast.name = "fast_cpu";
  fast.kind = DeviceKind::kCpu;
  Device& device = cluster.devices.emplace_back();
  device.name = "fast";
  device.device_class = DeviceClassId(cluster.device_classes.size() - 1);
  const LatencyInstance instance = BuildForLatency(graph, cluster);
  EXPECT_EQ(instance.cpu_time[0], 6);
  EXPECT_EQ(instance.cpu_of[0], DeviceId(cluster.devices.size() - 1));
}

TEST(LatencyInstanceTest, OnlyNonContiguousHasNoLimitOfItsOwn) {
  PlanningProblem problem;
  problem.split = Split::kNonContiguous;
  EXPECT_EQ(BuildForLatency(TrainingGraph(), MakeCluster(2, 1), problem).subgraph_limit, std::nullopt);
  problem.max_subgraphs_per_device = 3;
  EXPECT_EQ(BuildForLatency(TrainingGraph(), MakeCluster(2, 1), problem).subgraph_limit, 3);
}

TEST(LatencyFeasibilityTest, FindsNothingWhereEverythingMayBeOnCpus) {
  OperatorGraph graph = TrainingGraph();
  for (Operator& op : graph.operators) op.memory_bytes = 10;
  const Cluster cluster = MakeCluster(1, 1, 5);
  EXPECT_EQ(FindLatencyShortages(graph, cluster, BuildForLatency(graph, cluster)), std::nullopt);
}

TEST(LatencyFeasibilityTest, ProvesThatAGroupIsTooLarge) {
  OperatorGraph graph = TrainingGraph();
  for (Operator& op : graph.operators) op.memory_bytes = 10;
  const Cluster cluster = MakeCluster(2, 0, 25);
  const auto shortages = FindLatencyShortages(graph, cluster, BuildForLatency(graph, cluster));
  ASSERT_TRUE(shortages.has_value());
  ASSERT_EQ(shortages->shortages.size(), 1U);
  EXPECT_EQ(shortages->shortages[0].subject, "b");
  EXPECT_EQ(shortages->shortages[0].needed_bytes, 30);
  EXPECT_EQ(shortages->shortages[0].available_bytes, 25);
}

TEST(LatencyFeasibilityTest, ProvesThatAllGroupsTogetherAreTooLarge) {
  OperatorGraph graph = TrainingGraph();
  for (Operator& op : graph.operators) op.memory_bytes = 10;
  const Cluster cluster = MakeCluster(1, 0, 45);
  const auto shortages = FindLatencyShortages(graph, cluster, BuildForLatency(graph, cluster));
  ASSERT_TRUE(shortages.has_value());
  EXPECT_THAT(shortages->shortages[0].description, HasSubstr("5 bytes are missing"));
}

TEST(LatencyFeasibilityTest, NamesAGroupThatMayBeNowhere) {
  PlanningProblem problem;
  problem.forbidden = {{OperatorId(0), DeviceId(0)}, {OperatorId(4), DeviceId(1)}};
  const Cluster cluster = MakeCluster(1, 1);
  const auto shortages =
      FindLatencyShortages(TrainingGraph(), cluster, BuildForLatency(TrainingGraph(), cluster, problem));
  ASSERT_TRUE(shortages.has_value());
  EXPECT_EQ(shortages->shortages[0].resource, "support");
  EXPECT_EQ(shortages->shortages[0].subject, "a");
}

}  // namespace
}  // namespace planwright
