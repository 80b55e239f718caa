#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/partition/parmesan/uniform_links_problem.h"
#include "tests/support/builders.h"

namespace planwright {
namespace {

// Rows of operators of 10 ps each, on three devices whose links take no time.
struct Rows {
  explicit Rows(int rows, int length) {
    for (int row = 0; row < rows; ++row) {
      OperatorId last = AddOperator(graph, "o" + std::to_string(row), 10, 10);
      for (int i = 1; i < length; ++i) {
        const OperatorId next = AddOperator(graph, "o" + std::to_string(row) + "_" + std::to_string(i), 10, 10);
        AddTensor(graph, last, {next}, 0);
        last = next;
      }
    }
    cluster = MakeCluster(3, 0);
    cluster.interconnect = UniformInterconnect{1e12, Picoseconds(0)};
    problem.workload = Workload::kInference;
  }

  // Of one to three stages, of which nothing is known at first but that fewer take longer.
  UniformLinksBound Bound(Picoseconds enough, int64_t work = 1'000'000) const {
    std::vector<ShapeBound> shapes;
    for (int stages = 1; stages <= 3; ++stages) shapes.push_back({stages, 1, {1, 0}, Picoseconds(stages)});
    const CostTable costs(graph, cluster, problem.workload);
    SolveLimits limits;
    limits.work = work;
    TaskArena arena(1);
    return FastestShapesBound({graph, cluster, problem, costs, options, Algorithm::kParmesan, {}},
                              PipelineRuleOf(problem, LinkSpeed()), shapes, enough, limits, arena);
  }

  OperatorGraph graph;
  Cluster cluster;
  ResolvedProblem problem;
  SolverOptions options;
};

TEST(FastestShapesBoundTest, IsWhatTheBestNumberOfStagesTakes) {
  const UniformLinksBound found = Rows(1, 6).Bound(Picoseconds(kMaxQuantity));
  ASSERT_TRUE(found.bound.has_value());
  EXPECT_EQ(found.bound->value, Picoseconds(20));
  EXPECT_FALSE(found.is_interrupted);
}

TEST(FastestShapesBoundTest, IsNoMoreThanEnough) {
  EXPECT_EQ(Rows(1, 6).Bound(Picoseconds(15)).bound.value().value, Picoseconds(15));
}

TEST(FastestShapesBoundTest, CountsTheWorkOfItsPrograms) {
  EXPECT_GT(Rows(2, 7).Bound(Picoseconds(kMaxQuantity)).work, 0);
}

}  // namespace
}  // namespace planwright
