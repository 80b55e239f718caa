#include "core/model/colocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "tests/support/small_models.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;

// Forward a, b, c and the backward operator of b.
OperatorGraph FourOperators() {
  OperatorGraph graph;
  graph.operators = {MeasuredOperator("a", 1), MeasuredOperator("b", 1), MeasuredOperator("c", 1),
                     MeasuredOperator("b_backward", 1)};
  graph.operators[3].pass = Pass::kBackward;
  graph.operators[3].forward_operator = OperatorId(1);
  return graph;
}

std::vector<int32_t> UnionsOf(const OperatorGraph& graph, const PlanningProblem& problem = {}) {
  return ColocationUnions(graph, ResolveProblem(graph, problem));
}

TEST(ColocationTest, BackwardOperatorsFollowTheirForwardOperators) {
  EXPECT_THAT(UnionsOf(FourOperators()), ElementsAre(0, 1, 2, 1));
}

TEST(ColocationTest, GroupsAndLinksAddUp) {
  OperatorGraph graph = FourOperators();
  graph.operators[0].colocation_group = "g";
  graph.operators[3].colocation_group = "g";
  EXPECT_THAT(UnionsOf(graph), ElementsAre(0, 0, 1, 0));
}

TEST(ColocationTest, DroppedOperatorsJoinNobody) {
  OperatorGraph graph = FourOperators();
  for (const std::size_t op : {0, 3}) graph.operators[op].colocation_group = "g";
  PlanningProblem problem;
  problem.workload = Workload::kInference;
  EXPECT_THAT(UnionsOf(graph, problem), ElementsAre(0, 1, 2, kDropped));
}

TEST(ColocationTest, LayersCountOnlyForTheirGranularity) {
  OperatorGraph graph = FourOperators();
  graph.operators[0].layer = "l";
  graph.operators[2].layer = "l";
  PlanningProblem problem;
  EXPECT_THAT(UnionsOf(graph, problem), ElementsAre(0, 1, 2, 1));
  EXPECT_THAT(LayerUnions(graph, ResolveProblem(graph, problem)), ElementsAre(0, 1, 2, 3));
  problem.granularity = Granularity::kLayer;
  EXPECT_THAT(UnionsOf(graph, problem), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(LayerUnions(graph, ResolveProblem(graph, problem)), ElementsAre(0, 1, 0, 2));
}

// a -> b -> c with a backward operator each; `listed_forward`: the first so many gradients go along a -> b -> c.
OperatorGraph WithGradients(int listed_forward) {
  OperatorGraph graph;
  graph.operators = {MeasuredOperator("a", 1), MeasuredOperator("b", 1), MeasuredOperator("c", 1)};
  for (std::size_t op = 0; op < 3; ++op) {
    Operator backward = MeasuredOperator("gradient" + std::to_string(op), 1);
    backward.pass = Pass::kBackward;
    backward.forward_operator = OperatorId(op);
    graph.operators.push_back(backward);
  }
  for (std::size_t op = 0; op < 2; ++op) graph.tensors.push_back(TimedTensor("t", op, {op + 1}, 1));
  for (std::size_t op = 3; op < 5; ++op) {
    const bool forward = static_cast<int>(op) - 3 < listed_forward;
    graph.tensors.push_back(forward ? TimedTensor("g", op, {op + 1}, 1) : TimedTensor("g", op + 1, {op}, 1));
  }
  return graph;
}

bool ListsForward(const OperatorGraph& graph) { return ListsGradientsForward(graph, UnionsOf(graph)); }

TEST(ColocationTest, KnowsGradientsThatAreListedAlongTheirActivations) {
  EXPECT_FALSE(ListsForward(WithGradients(0)));
  EXPECT_FALSE(ListsForward(WithGradients(1)));
  EXPECT_TRUE(ListsForward(WithGradients(2)));
  // A gradient where there is no activation means what it says.
  OperatorGraph graph = WithGradients(2);
  graph.tensors.push_back(TimedTensor("g", 3, {5}, 1));
  EXPECT_FALSE(ListsForward(graph));
  EXPECT_FALSE(ListsForward(FourOperators()));
}

}  // namespace
}  // namespace planwright
