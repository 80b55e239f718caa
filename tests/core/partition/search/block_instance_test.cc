#include "core/partition/search/block_instance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/builders.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

BlockInstance Build(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& posed = {},
                    MergeRule rule = MergeRule::kExact) {
  const ResolvedProblem problem = ResolveProblem(graph, posed);
  return BuildBlockInstance({graph, cluster, problem, CostTable(graph, cluster, problem.workload)}, rule);
}

std::vector<std::vector<std::size_t>> OperatorsOf(const BlockInstance& instance) {
  std::vector<std::vector<std::size_t>> blocks;
  for (const std::vector<OperatorId>& operators : instance.operators) {
    std::vector<std::size_t>& block = blocks.emplace_back();
    for (const OperatorId op : operators) block.push_back(op.index());
  }
  return blocks;
}

// `size` operators of 10 ps, 100 on CPUs.
OperatorGraph Operators(int size) {
  OperatorGraph graph;
  for (int i = 0; i < size; ++i) AddOperator(graph, std::string(1, static_cast<char>('a' + i)), 10, 100);
  return graph;
}

OperatorId Op(std::size_t index) { return OperatorId(index); }

TEST(BuildBlockInstanceTest, ContractsColocationAndTheCyclesItMakes) {
  // a -> b -> c, and a with c: b is between them, so all three are one.
  OperatorGraph graph = Operators(4);
  AddTensor(graph, Op(0), {Op(1)}, 1);
  AddTensor(graph, Op(1), {Op(2)}, 1);
  AddTensor(graph, Op(2), {Op(3)}, 5);
  graph.operators[0].colocation_group = graph.operators[2].colocation_group = "group";
  const BlockInstance instance = Build(graph, MakeCluster(1, 1));
  EXPECT_THAT(OperatorsOf(instance), ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3)));
  EXPECT_THAT(instance.precedence.edges(), ElementsAre(Pair(0, 1)));
  ASSERT_THAT(instance.nets, SizeIs(1));
  EXPECT_THAT(instance.nets[0].blocks, ElementsAre(0, 1));
  EXPECT_EQ(instance.nets[0].weight, 5);
  EXPECT_THAT(instance.pools[0].time, ElementsAre(30, 10));
  EXPECT_THAT(instance.pools[1].time, ElementsAre(300, 100));
}

TEST(BuildBlockInstanceTest, MergesNetsOfTheSameBlocks) {
  OperatorGraph graph = Operators(3);
  AddTensor(graph, Op(0), {Op(1)}, 3);
  AddTensor(graph, Op(0), {Op(1)}, 4);
  AddTensor(graph, Op(0), {Op(1), Op(2)}, 8);
  AddTensor(graph, Op(1), {Op(2)}, 0);
  AddTensor(graph, Op(2), {}, 9);
  const BlockInstance instance = Build(graph, MakeCluster(2, 0));
  ASSERT_THAT(instance.nets, SizeIs(2));
  EXPECT_EQ(instance.nets[0].weight, 7);
  EXPECT_EQ(instance.nets[1].weight, 8);
  EXPECT_THAT(instance.nets[1].blocks, ElementsAre(0, 1, 2));
  EXPECT_THAT(instance.nets_of[1], ElementsAre(0, 1));
  EXPECT_THAT(instance.nets_of[2], ElementsAre(1));
  // The tensor that takes no time still orders its blocks.
  EXPECT_THAT(instance.precedence.edges(), ElementsAre(Pair(0, 1), Pair(0, 2), Pair(1, 2)));
}

TEST(BuildBlockInstanceTest, DoublesNetsWhereGradientsReturn) {
  OperatorGraph graph = Operators(2);
  graph.operators[0].costs[0].backward = Picoseconds(20);
  AddTensor(graph, Op(0), {Op(1)}, 3);
  const BlockInstance training = Build(graph, MakeCluster(2, 0));
  EXPECT_EQ(training.nets[0].weight, 6);
  EXPECT_THAT(training.pools[0].time, ElementsAre(30, 10));
  PlanningProblem inference;
  inference.workload = Workload::kInference;
  const BlockInstance forward = Build(graph, MakeCluster(2, 0), inference);
  EXPECT_EQ(forward.nets[0].weight, 3);
  EXPECT_THAT(forward.pools[0].time, ElementsAre(10, 10));
}

// a -> b forward; b' -> orphan -> a' backward, where b' and a' belong to b and a.
OperatorGraph WithOrphan() {
  OperatorGraph graph = Operators(2);
  AddTensor(graph, Op(0), {Op(1)}, 1);
  const OperatorId b_backward = AddBackward(graph, "b'", Op(1), 10, 100);
  const OperatorId orphan = AddOperator(graph, "orphan", 7, 70);
  graph.operators[orphan.index()].pass = Pass::kBackward;
  const OperatorId a_backward = AddBackward(graph, "a'", Op(0), 10, 100);
  AddTensor(graph, Op(1), {b_backward}, 2);
  AddTensor(graph, b_backward, {orphan}, 3);
  AddTensor(graph, orphan, {a_backward}, 4);
  return graph;
}

TEST(BuildBlockInstanceTest, OrdersOrphansInReverse) {
  const BlockInstance instance = Build(WithOrphan(), MakeCluster(2, 0));
  // The orphan comes between a and b in the pipeline.
  EXPECT_THAT(OperatorsOf(instance), ElementsAre(ElementsAre(0, 4), ElementsAre(3), ElementsAre(1, 2)));
  EXPECT_THAT(instance.precedence.edges(), ElementsAre(Pair(0, 1), Pair(0, 2), Pair(1, 2)));
  EXPECT_THAT(instance.nets, SizeIs(3));
}

TEST(BuildBlockInstanceTest, BackwardTensorsBetweenPairsOrderNothing) {
  OperatorGraph graph = Operators(2);
  const OperatorId b_backward = AddBackward(graph, "b'", Op(1), 10, 100);
  const OperatorId a_backward = AddBackward(graph, "a'", Op(0), 10, 100);
  AddTensor(graph, b_backward, {a_backward}, 3);
  const BlockInstance instance = Build(graph, MakeCluster(2, 0));
  EXPECT_THAT(instance.precedence.edges(), IsEmpty());
  EXPECT_THAT(instance.nets, SizeIs(1));
}

TEST(BuildBlockInstanceTest, InferenceDropsBackwardOperators) {
  PlanningProblem problem;
  problem.workload = Workload::kInference;
  const BlockInstance instance = Build(WithOrphan(), MakeCluster(2, 0), problem);
  EXPECT_THAT(OperatorsOf(instance), ElementsAre(ElementsAre(0), ElementsAre(1)));
  EXPECT_THAT(instance.nets, SizeIs(1));
  EXPECT_THAT(instance.pools[0].time, ElementsAre(10, 10));
}

TEST(BuildBlockInstanceTest, PoolsAreDevicesOfOneClassAndMemory) {
  Cluster cluster = MakeCluster(3, 2, 100);
  cluster.devices[1].reserved_memory_bytes = 30;
  const BlockInstance instance = Build(Operators(1), cluster);
  ASSERT_THAT(instance.pools, SizeIs(3));
  EXPECT_THAT(instance.pools[0].devices, ElementsAre(DeviceId(0), DeviceId(2)));
  EXPECT_EQ(instance.pools[0].memory_bytes, 100);
  EXPECT_THAT(instance.pools[1].devices, ElementsAre(DeviceId(1)));
  EXPECT_EQ(instance.pools[1].memory_bytes, 70);
  EXPECT_THAT(instance.pools[2].devices, ElementsAre(DeviceId(3), DeviceId(4)));
  EXPECT_FALSE(instance.pools[2].memory_bytes.has_value());
  EXPECT_TRUE(instance.pools[0].pays_transfers);
  EXPECT_FALSE(instance.pools[2].pays_transfers);
  cluster.interconnect = UniformInterconnect();
  EXPECT_TRUE(Build(Operators(1), cluster).pools[2].pays_transfers);
}

TEST(BuildBlockInstanceTest, ABlockRunsWhereAllOfItsOperatorsRun) {
  OperatorGraph graph = Operators(3);
  graph.operators[0].colocation_group = graph.operators[1].colocation_group = "group";
  graph.operators[1].unsupported_device_classes = {kAcceleratorClass};
  const BlockInstance instance = Build(graph, MakeCluster(1, 1));
  EXPECT_THAT(instance.pools[0].supported, ElementsAre(false, true));
  EXPECT_FALSE(instance.pools[0].supports_all);
  EXPECT_THAT(instance.pools[0].time, ElementsAre(0, 10));
  EXPECT_TRUE(instance.pools[1].supports_all);
}

TEST(BuildBlockInstanceTest, NumbersBlocksTopologically) {
  OperatorGraph graph = Operators(3);
  AddTensor(graph, Op(2), {Op(0)}, 1);
  AddTensor(graph, Op(0), {Op(1)}, 1);
  EXPECT_THAT(OperatorsOf(Build(graph, MakeCluster(1, 0))),
              ElementsAre(ElementsAre(2), ElementsAre(0), ElementsAre(1)));
}

TEST(BuildBlockInstanceTest, ComponentsOfMemory) {
  OperatorGraph graph = Operators(2);
  graph.operators[0].parameter_bytes = 5;
  graph.operators[0].activation_bytes = 7;
  graph.operators[1].workspace_bytes = 3;
  AddTensor(graph, Op(0), {Op(1)}, 1, /*size_bytes=*/4);
  PlanningProblem problem;
  problem.workload = Workload::kTraining;
  problem.memory_model.kind = MemoryModel::Kind::kComponents;
  problem.memory_model.preset = "adam_mixed";
  problem.memory_model.reserved_bytes = 2;
  const BlockInstance instance = Build(graph, MakeCluster(2, 0, 100), problem);
  EXPECT_THAT(instance.memory.linear, ElementsAre(7, 0));
  EXPECT_THAT(instance.memory.parameters, ElementsAre(5, 0));
  EXPECT_THAT(instance.memory.workspace, ElementsAre(0, 3));
  EXPECT_EQ(instance.memory.parameter_factor, 8);
  EXPECT_EQ(instance.memory.reserved, 2);
  EXPECT_EQ(instance.nets[0].buffer_bytes, 8);
  // 7 + 5 x 8 + 3 + 8 + 2 together.
  EXPECT_FALSE(MemoryCanBind(instance, Build(graph, MakeCluster(2, 0, 60), problem).pools[0]));
  EXPECT_TRUE(MemoryCanBind(instance, Build(graph, MakeCluster(2, 0, 59), problem).pools[0]));
}

TEST(BuildBlockInstanceTest, MergesFreeOperatorsByTheRule) {
  OperatorGraph graph = Operators(2);
  const OperatorId free = AddOperator(graph, "free", 0, 0);
  graph.operators[free.index()].memory_bytes = 1;
  graph.operators[0].memory_bytes = graph.operators[1].memory_bytes = 1;
  AddTensor(graph, Op(0), {free}, 1);
  EXPECT_THAT(Build(graph, MakeCluster(2, 0)).operators, SizeIs(3));
  EXPECT_THAT(Build(graph, MakeCluster(2, 0), {}, MergeRule::kIgnoreMemory).operators, SizeIs(2));
}

}  // namespace
}  // namespace planwright
