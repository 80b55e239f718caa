#include "core/cost/chain/chain_costs.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/cost/terms/memory_form.h"
#include "tests/support/builders.h"

namespace planwright {
namespace {

using Layers = std::vector<std::vector<OperatorId>>;

const Layers kThreeLayers = {{OperatorId(0), OperatorId(1)}, {OperatorId(2)}, {OperatorId(3)}};

// An input, then three operators of 1, 2 and 3 ps forward and twice that backward; the second one's output skips the
// third. 10, 20, 30 bytes of parameters, 4, 5, 6 of activations, 7, 9, 8 of workspace; tensors of 8, 16, 32 bytes.
OperatorGraph MakeGraph() {
  OperatorGraph graph;
  AddOperator(graph, "images", 0, 0);
  graph.operators[0].type = kInputOperatorType;
  for (int64_t i = 1; i <= 3; ++i) {
    Operator& op = graph.operators[AddOperator(graph, std::to_string(i), i, i).index()];
    for (OperatorCost& cost : op.costs) cost.backward = 2 * cost.forward;
    op.parameter_bytes = 10 * i;
    op.activation_bytes = 3 + i;
    op.workspace_bytes = i == 1 ? 7 : 11 - i;
  }
  const auto add = [&](std::size_t producer, const std::vector<OperatorId>& consumers, int64_t bytes) {
    AddTensor(graph, OperatorId(producer), consumers, 0, bytes);
    graph.tensors.back().transfer.reset();
  };
  add(0, {OperatorId(1)}, 8);
  add(1, {OperatorId(2), OperatorId(3)}, 16);
  add(2, {OperatorId(3)}, 32);
  return graph;
}

PlanningProblem Training() {
  PlanningProblem problem;
  problem.workload = Workload::kTraining;
  problem.memory_model.kind = MemoryModel::Kind::kComponents;
  problem.memory_model.preset = "madpipe";
  return problem;
}

// A byte takes a picosecond.
Chain MakeChain(const OperatorGraph& graph, const PlanningProblem& problem, const Layers& layers = kThreeLayers) {
  const ResolvedProblem resolved = ResolveProblem(graph, problem);
  Cluster cluster = MakeCluster(1, 0);
  cluster.interconnect = UniformInterconnect{.bandwidth_bytes_per_second = 1e12};
  const CostTable costs(graph, cluster, resolved.workload);
  return MakeChain(graph, cluster.interconnect, resolved, costs, DeviceClassId(0), layers);
}

TEST(ChainCostsTest, AddsUpTimesAndMemory) {
  const Chain chain = MakeChain(MakeGraph(), Training());
  EXPECT_TRUE(chain.has_backward);
  ASSERT_EQ(chain.layers.size(), 3U);
  EXPECT_EQ(chain.layers[0].forward, Picoseconds(1));
  EXPECT_EQ(chain.layers[2].backward, Picoseconds(6));
  // Two versions and a gradient.
  EXPECT_EQ(chain.layers[1].static_bytes, 60);
  EXPECT_EQ(chain.layers[1].stored_bytes, 5);
  EXPECT_EQ(chain.layers[1].workspace_bytes, 9);
}

TEST(ChainCostsTest, ATensorCrossesEveryCutOnItsWayOnce) {
  const Chain chain = MakeChain(MakeGraph(), Training());
  ASSERT_EQ(chain.cuts.size(), 2U);
  EXPECT_EQ(chain.cuts[0].send_forward, Picoseconds(16));
  EXPECT_EQ(chain.cuts[0].send_backward, Picoseconds(16));
  EXPECT_EQ(chain.cuts[0].buffer_bytes, 32);
  EXPECT_EQ(chain.cuts[1].send_forward, Picoseconds(48));
  EXPECT_EQ(chain.cuts[1].buffer_bytes, 96);
}

TEST(ChainCostsTest, InferenceSendsNothingBackAndStoresNothing) {
  PlanningProblem problem = Training();
  problem.workload = Workload::kInference;
  const Chain chain = MakeChain(MakeGraph(), problem);
  EXPECT_FALSE(chain.has_backward);
  EXPECT_EQ(chain.layers[2].backward, Picoseconds(0));
  EXPECT_EQ(chain.layers[2].stored_bytes, 0);
  EXPECT_EQ(chain.cuts[1].send_forward, Picoseconds(48));
  EXPECT_EQ(chain.cuts[1].send_backward, Picoseconds(0));
  // One version of the parameters, no gradient.
  EXPECT_EQ(chain.layers[2].static_bytes, 30);
}

TEST(ChainCostsTest, DeclaredMemoryIsAllThereIs) {
  OperatorGraph graph = MakeGraph();
  for (Operator& op : graph.operators) op.memory_bytes = 100;
  PlanningProblem problem;
  problem.workload = Workload::kTraining;
  const Chain chain = MakeChain(graph, problem);
  EXPECT_EQ(chain.layers[0].static_bytes, 200);
  EXPECT_EQ(chain.layers[0].stored_bytes, 0);
  EXPECT_EQ(chain.layers[0].workspace_bytes, 0);
  EXPECT_EQ(chain.cuts[0].buffer_bytes, 0);
  EXPECT_EQ(chain.cuts[0].send_forward, Picoseconds(16));
}

TEST(ChainCostsTest, RecomputationStoresWhatAStageStartsFrom) {
  PlanningProblem problem = Training();
  problem.memory_model.recomputation = MemoryModel::Recomputation::kFull;
  const OperatorGraph graph = MakeGraph();
  const Chain chain = MakeChain(graph, problem);
  // The images; what crosses the cut before.
  EXPECT_EQ(chain.layers[0].stored_bytes, 8);
  EXPECT_EQ(chain.layers[0].received_bytes, 0);
  EXPECT_EQ(chain.layers[1].stored_bytes, 0);
  EXPECT_EQ(chain.layers[1].received_bytes, 16);
  EXPECT_EQ(chain.layers[2].received_bytes, 48);
  // Its workspace, and its activations made again.
  EXPECT_EQ(chain.layers[1].workspace_bytes, 9 + 5);
  EXPECT_EQ(chain.layers[1].backward, Picoseconds(4 + 2));

  // Two layers as one stage are one layer of a shorter chain.
  const Chain merged = MakeChain(graph, problem, {{OperatorId(0), OperatorId(1)}, {OperatorId(2), OperatorId(3)}});
  EXPECT_EQ(merged.layers[1].received_bytes, 16);
  EXPECT_EQ(merged.layers[1].workspace_bytes, 14);
}

// A backward operator sends to the front; what the forward pass kept for it may go either way.
TEST(ChainCostsTest, BackwardTensorsGoBack) {
  OperatorGraph graph;
  const OperatorId a = AddOperator(graph, "a", 1, 1);
  const OperatorId b = AddOperator(graph, "b", 2, 2);
  const OperatorId backward_b = AddBackward(graph, "B", b, 3, 3);
  const OperatorId backward_a = AddBackward(graph, "A", a, 4, 4);
  AddTensor(graph, a, {b, backward_b}, 10, 100);
  AddTensor(graph, b, {backward_a}, 20, 200);
  AddTensor(graph, backward_b, {backward_a}, 40, 400);
  const Chain chain = MakeChain(graph, Training(), {{a, backward_a}, {b, backward_b}});
  EXPECT_EQ(chain.layers[0].forward, Picoseconds(1));
  EXPECT_EQ(chain.layers[0].backward, Picoseconds(4));
  EXPECT_EQ(chain.cuts[0].send_forward, Picoseconds(10));
  EXPECT_EQ(chain.cuts[0].send_backward, Picoseconds(20 + 40));
  EXPECT_EQ(chain.cuts[0].buffer_bytes, 2 * 700);
}

TEST(ChainCostsTest, GradientsThatAreListedForwardGoBack) {
  OperatorGraph graph;
  std::vector<OperatorId> forward;
  std::vector<OperatorId> backward;
  for (int i = 0; i < 3; ++i) forward.push_back(AddOperator(graph, "f" + std::to_string(i), 1, 1));
  for (int i = 0; i < 3; ++i) {
    backward.push_back(AddBackward(graph, "b" + std::to_string(i), forward[static_cast<std::size_t>(i)], 1, 1));
  }
  AddTensor(graph, forward[0], {forward[1], forward[2]}, 10, 100);
  AddTensor(graph, backward[0], {backward[1], backward[2]}, 10, 100);
  const Chain chain =
      MakeChain(graph, Training(), {{forward[0], backward[0]}, {forward[1], backward[1]}, {forward[2], backward[2]}});
  for (const ChainCut& cut : chain.cuts) {
    EXPECT_EQ(cut.send_forward, Picoseconds(10));
    EXPECT_EQ(cut.send_backward, Picoseconds(10));
    EXPECT_EQ(cut.buffer_bytes, 400);
  }
}

// What a stage alone on its device needs is what the other modes count for one micro-batch.
TEST(ChainCostsTest, AgreesWithTheMemoryOfStages) {
  const OperatorGraph graph = MakeGraph();
  const ResolvedProblem problem = ResolveProblem(graph, Training());
  const Chain chain = MakeChain(graph, Training());
  const int64_t bytes = chain.layers[1].static_bytes + chain.layers[1].stored_bytes + chain.layers[1].workspace_bytes +
                        chain.cuts[0].buffer_bytes + chain.cuts[1].buffer_bytes;
  // The skipping tensor is in the buffers of both cuts.
  EXPECT_EQ(bytes, StageMemoryBytes(graph, problem, {OperatorId(2)}, 16 + 16 + 32, 1));
}

}  // namespace
}  // namespace planwright
