#include "core/cost/terms/backward_contiguity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/random.h"
#include "tests/support/small_models.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;

// BACKWARD operators 0 .. count - 1 and a tensor for each edge.
OperatorGraph BackwardGraph(std::size_t count, const std::vector<std::pair<std::size_t, std::size_t>>& edges) {
  OperatorGraph graph;
  for (std::size_t i = 0; i < count; ++i) {
    graph.operators.push_back(MeasuredOperator(std::to_string(i), 1));
    graph.operators.back().pass = Pass::kBackward;
  }
  for (const auto& [tail, head] : edges) graph.tensors.push_back(TimedTensor("", tail, {head}, 1));
  return graph;
}

// Stages from the stage of every operator.
std::vector<Stage> StagesOf(const std::vector<std::size_t>& stage_of, std::size_t num_stages) {
  std::vector<Stage> stages(num_stages);
  for (std::size_t op = 0; op < stage_of.size(); ++op) stages[stage_of[op]].operators.emplace_back(op);
  return stages;
}

std::vector<bool> Contiguity(const OperatorGraph& graph, const std::vector<std::size_t>& stage_of,
                             std::size_t num_stages) {
  const std::vector<Stage> stages = StagesOf(stage_of, num_stages);
  return BackwardContiguity(graph, stages, StageMap(graph.operators.size(), stages));
}

TEST(BackwardContiguityTest, ChainInOrderIsContiguous) {
  const OperatorGraph graph = BackwardGraph(4, {{0, 1}, {1, 2}, {2, 3}});
  EXPECT_THAT(Contiguity(graph, {0, 0, 1, 1}, 2), ElementsAre(true, true));
  EXPECT_THAT(Contiguity(graph, {1, 1, 0, 0}, 2), ElementsAre(true, true));
}

TEST(BackwardContiguityTest, LeavingAndEnteringAgainIsNot) {
  const OperatorGraph graph = BackwardGraph(4, {{0, 1}, {1, 2}, {2, 3}});
  EXPECT_THAT(Contiguity(graph, {0, 1, 0, 2}, 3), ElementsAre(false, true, true));
  EXPECT_THAT(Contiguity(graph, {0, 1, 0, 1}, 2), ElementsAre(false, false));
}

TEST(BackwardContiguityTest, StagesThatDependOnEachOtherMayBeContiguous) {
  // 0 -> 2 and 3 -> 1 between stages {0, 1} and {2, 3}: a cycle of stages, but no path returns.
  const OperatorGraph graph = BackwardGraph(4, {{0, 2}, {3, 1}});
  EXPECT_THAT(Contiguity(graph, {0, 0, 1, 1}, 2), ElementsAre(true, true));
}

TEST(BackwardContiguityTest, PathsThroughForwardOperatorsDoNotCount) {
  OperatorGraph graph = BackwardGraph(3, {{0, 1}, {1, 2}});
  graph.operators[1].pass = Pass::kForward;
  EXPECT_THAT(Contiguity(graph, {0, 1, 0}, 2), ElementsAre(true, true));
}

TEST(BackwardContiguityTest, DroppedOperatorsDoNotCount) {
  const OperatorGraph graph = BackwardGraph(3, {{0, 1}, {1, 2}});
  const std::vector<Stage> stages(1);
  EXPECT_THAT(BackwardContiguity(graph, stages, StageMap(3, stages)), ElementsAre(true));
}

// Oracle: transitive closure; a stage is not contiguous when u ~> v ~> w with u, w in it and v outside.
std::vector<bool> ByClosure(std::size_t count, const std::vector<std::pair<std::size_t, std::size_t>>& edges,
                            const std::vector<std::size_t>& stage_of, std::size_t num_stages) {
  std::vector<std::vector<bool>> reaches(count, std::vector<bool>(count, false));
  for (const auto& [tail, head] : edges) reaches[tail][head] = true;
  for (std::size_t v = 0; v < count; ++v) {
    for (std::size_t u = 0; u < count; ++u) {
      for (std::size_t w = 0; w < count; ++w) {
        if (reaches[u][v] && reaches[v][w]) reaches[u][w] = true;
      }
    }
  }
  std::vector<bool> contiguous(num_stages, true);
  for (std::size_t u = 0; u < count; ++u) {
    for (std::size_t v = 0; v < count; ++v) {
      for (std::size_t w = 0; w < count; ++w) {
        if (stage_of[u] == stage_of[w] && stage_of[u] != stage_of[v] && reaches[u][v] && reaches[v][w]) {
          contiguous[stage_of[u]] = false;
        }
      }
    }
  }
  return contiguous;
}

TEST(BackwardContiguityTest, AgreesWithTheClosureOnRandomGraphs) {
  constexpr std::size_t kOperators = 9;
  constexpr std::size_t kStages = 4;
  int broken = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    RandomStream random(seed);
    std::vector<std::pair<std::size_t, std::size_t>> edges;
    for (std::size_t tail = 0; tail < kOperators; ++tail) {
      for (std::size_t head = tail + 1; head < kOperators; ++head) {
        if (random.Below(5) == 0) edges.emplace_back(tail, head);
      }
    }
    std::vector<std::size_t> stage_of(kOperators);
    for (std::size_t& stage : stage_of) stage = random.Below(kStages);
    const std::vector<bool> expected = ByClosure(kOperators, edges, stage_of, kStages);
    ASSERT_EQ(Contiguity(BackwardGraph(kOperators, edges), stage_of, kStages), expected) << "seed " << seed;
    for (const bool contiguous : expected) broken += contiguous ? 0 : 1;
  }
  EXPECT_GT(broken, 500) << "the instances must hold both answers";
}

}  // namespace
}  // namespace planwright
