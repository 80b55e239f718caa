#include "core/graph/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/model/colocation.h"
#include "tests/support/builders.h"
#include "tests/support/random_instance.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;

constexpr std::size_t kMany = 1'000;

OperatorGroups Linearize(const OperatorGraph& graph, const PlanningProblem& problem = {},
                         std::size_t max_layers = kMany) {
  const std::vector<int64_t> weights(graph.operators.size(), 1);
  return LinearizeGraph(graph, ResolveProblem(graph, problem), weights, max_layers);
}

// Names of the operators of each layer, joined.
std::vector<std::string> Names(const OperatorGraph& graph, const OperatorGroups& layers) {
  std::vector<std::string> names;
  for (const std::vector<OperatorId>& layer : layers) {
    std::string& name = names.emplace_back();
    for (const OperatorId op : layer) name += graph.operators[op.index()].name;
  }
  return names;
}

// Forward operators with names of one letter.
OperatorGraph MakeGraph(const std::string& names) {
  OperatorGraph graph;
  for (const char name : names) AddOperator(graph, std::string(1, name), 1, 1);
  return graph;
}

TEST(ChainTest, FinishesTheBranchThatKeepsLeastAlive) {
  // a feeds a wide branch b - c and a narrow one d; e reads both.
  OperatorGraph graph = MakeGraph("abcde");
  const auto op = [](std::size_t i) { return OperatorId(i); };
  AddTensor(graph, op(0), {op(1), op(3)}, 0, 10);
  AddTensor(graph, op(1), {op(2)}, 0, 100);
  AddTensor(graph, op(2), {op(4)}, 0, 1);
  AddTensor(graph, op(3), {op(4)}, 0, 30);
  EXPECT_THAT(Names(graph, Linearize(graph)), ElementsAre("a", "b", "c", "d", "e"));
  // With a small result of d it comes first: 10 + 1, then 100 + 1 without the 10.
  graph.tensors[3].size_bytes = 1;
  EXPECT_THAT(Names(graph, Linearize(graph)), ElementsAre("a", "d", "b", "c", "e"));
}

TEST(ChainTest, TakesInputsWhenTheyAreNeeded) {
  OperatorGraph graph = MakeGraph("xyab");
  graph.operators[0].type = kInputOperatorType;
  graph.operators[1].type = kInputOperatorType;
  AddTensor(graph, OperatorId(1), {OperatorId(3)}, 0, 50);
  AddTensor(graph, OperatorId(0), {OperatorId(2)}, 0, 40);
  AddTensor(graph, OperatorId(2), {OperatorId(3)}, 0, 5);
  EXPECT_THAT(Names(graph, Linearize(graph)), ElementsAre("x", "a", "y", "b"));
}

TEST(ChainTest, KeepsTogetherWhatSharesADevice) {
  OperatorGraph graph = MakeGraph("abcd");
  for (std::size_t i = 0; i < 3; ++i) AddTensor(graph, OperatorId(i), {OperatorId(i + 1)}, 0, 1);
  graph.operators[0].colocation_group = "group";
  graph.operators[2].colocation_group = "group";
  // b depends on a and c on b.
  EXPECT_THAT(Names(graph, Linearize(graph)), ElementsAre("abc", "d"));
}

TEST(ChainTest, MergesLayersOfTheGraph) {
  OperatorGraph graph = MakeGraph("abcd");
  for (std::size_t i = 0; i < 3; ++i) AddTensor(graph, OperatorId(i), {OperatorId(i + 1)}, 0, 1);
  for (std::size_t i = 0; i < 3; ++i) graph.operators[i].layer = i < 2 ? "first" : "second";
  PlanningProblem problem;
  problem.granularity = Granularity::kLayer;
  EXPECT_THAT(Names(graph, Linearize(graph, problem)), ElementsAre("ab", "c", "d"));
}

// Backward passes go against the chain: C is alone, so its tensor to B says that it stands behind b.
TEST(ChainTest, MirrorsBackwardTensors) {
  OperatorGraph graph = MakeGraph("ab");
  AddTensor(graph, OperatorId(0), {OperatorId(1)}, 0, 7);
  const OperatorId c = AddOperator(graph, "C", 1, 1);
  graph.operators[c.index()].pass = Pass::kBackward;
  const OperatorId b = AddBackward(graph, "B", OperatorId(1), 1, 1);
  const OperatorId a = AddBackward(graph, "A", OperatorId(0), 1, 1);
  AddTensor(graph, OperatorId(1), {c}, 0, 1);
  AddTensor(graph, c, {b}, 0, 1);
  AddTensor(graph, b, {a}, 0, 7);
  EXPECT_THAT(Names(graph, Linearize(graph)), ElementsAre("aA", "bB", "C"));
  PlanningProblem inference;
  inference.workload = Workload::kInference;
  EXPECT_THAT(Names(graph, Linearize(graph, inference)), ElementsAre("a", "b"));
}

// As in published layer graphs: gradients are listed along their activations, and go back all the same.
TEST(ChainTest, TurnsGradientsThatAreListedForward) {
  OperatorGraph graph = MakeGraph("abc");
  std::vector<OperatorId> backward;
  for (std::size_t op = 0; op < 3; ++op) {
    backward.push_back(AddBackward(graph, std::string(1, static_cast<char>('A' + op)), OperatorId(op), 1, 1));
  }
  for (std::size_t op = 0; op < 2; ++op) {
    AddTensor(graph, OperatorId(op), {OperatorId(op + 1)}, 0, 7);
    AddTensor(graph, backward[op], {backward[op + 1]}, 0, 7);
  }
  EXPECT_THAT(Names(graph, Linearize(graph)), ElementsAre("aA", "bB", "cC"));
  // One that goes back contradicts the others, which then mean what they say.
  AddTensor(graph, backward[2], {backward[1]}, 0, 7);
  EXPECT_THAT(Names(graph, Linearize(graph)), ElementsAre("abcABC"));
}

TEST(ChainTest, MergesNeighboursWhereThereAreTooMany) {
  OperatorGraph graph = MakeGraph("abcdefgh");
  for (std::size_t i = 0; i < 7; ++i) AddTensor(graph, OperatorId(i), {OperatorId(i + 1)}, 0, i % 2 == 0 ? 90 : 1);
  EXPECT_THAT(Names(graph, Linearize(graph, {}, 4)), ElementsAre("ab", "cd", "ef", "gh"));
  EXPECT_THAT(Names(graph, Linearize(graph, {}, 1)), ElementsAre("abcdefgh"));
}

// The layer of each operator.
std::vector<int32_t> LayersOf(const OperatorGraph& graph, const OperatorGroups& layers) {
  std::vector<int32_t> layer_of(graph.operators.size(), kDropped);
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    for (const OperatorId op : layers[layer]) {
      EXPECT_EQ(layer_of[op.index()], kDropped);
      layer_of[op.index()] = static_cast<int32_t>(layer);
    }
  }
  return layer_of;
}

TEST(ChainTest, IsAValidOrderOfEveryRandomGraph) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Instance instance = MakeRandomInstance(seed, 20);
    const OperatorGraph& graph = instance.graph;
    const ResolvedProblem problem = ResolveProblem(graph, instance.problem);
    const std::size_t max_layers = seed % 3 == 0 ? 4 : kMany;
    const OperatorGroups layers = Linearize(graph, instance.problem, max_layers);
    EXPECT_LE(layers.size(), max_layers);
    const std::vector<int32_t> layer_of = LayersOf(graph, layers);
    const std::vector<int32_t> union_of = ColocationUnions(graph, problem);
    for (std::size_t i = 0; i < graph.operators.size(); ++i) {
      EXPECT_EQ(layer_of[i] == kDropped, union_of[i] == kDropped);
      for (std::size_t j = 0; j < i; ++j) {
        EXPECT_TRUE(union_of[i] != union_of[j] || layer_of[i] == layer_of[j]);
      }
    }
    for (const Tensor& tensor : graph.tensors) {
      const std::size_t from = tensor.producer.index();
      for (const OperatorId to : tensor.consumers) {
        if (layer_of[from] == kDropped || layer_of[to.index()] == kDropped) continue;
        const Pass pass = graph.operators[from].pass;
        if (graph.operators[to.index()].pass != pass) continue;
        const auto [front, back] = pass == Pass::kForward ? std::pair(from, to.index()) : std::pair(to.index(), from);
        EXPECT_LE(layer_of[front], layer_of[back]);
      }
    }
    EXPECT_EQ(Linearize(graph, instance.problem, max_layers), layers);
  }
}

}  // namespace
}  // namespace planwright
