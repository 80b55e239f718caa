#include "core/model/colocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace planwright
