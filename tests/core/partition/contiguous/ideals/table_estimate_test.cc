#include "core/partition/contiguous/ideals/table_estimate.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace planwright {
namespace {

int64_t EstimateOf(const OperatorGraph& graph, const SolverOptions& options = {}) {
  Cluster cluster;
  cluster.devices.resize(2);
  return EstimateTableBytes(graph, cluster, options);
}

// Joins the operator to those that come `steps` behind it.
void Join(OperatorGraph& graph, std::size_t producer, const std::vector<std::size_t>& steps) {
  Tensor& tensor = graph.tensors.emplace_back();
  tensor.producer = OperatorId(producer);
  for (const std::size_t step : steps) tensor.consumers.emplace_back(producer + step);
}

OperatorGraph ChainOf(std::size_t count) {
  OperatorGraph graph;
  graph.operators.resize(count);
  for (std::size_t op = 0; op + 1 < count; ++op) Join(graph, op, {1});
  return graph;
}

// Blocks of four operators: one, two side by side, one.
OperatorGraph Diamonds(std::size_t count) {
  OperatorGraph graph;
  graph.operators.resize(3 * count + 1);
  for (std::size_t first = 0; first < 3 * count; first += 3) {
    Join(graph, first, {1, 2});
    Join(graph, first + 1, {2});
    Join(graph, first + 2, {1});
  }
  return graph;
}

TEST(TableEstimateTest, ChainsOfBlocksNeedLittle) {
  EXPECT_LT(EstimateOf(ChainOf(1000)), int64_t{16} << 20);
  EXPECT_LT(EstimateOf(Diamonds(300)), int64_t{16} << 20);
  EXPECT_GT(EstimateOf(Diamonds(300)), EstimateOf(Diamonds(30)));
}

TEST(TableEstimateTest, WideGraphsNeedMuchUnlessTheirIdealsAreLimited) {
  OperatorGraph wide;
  wide.operators.resize(62);
  std::vector<std::size_t> middle(60);
  for (std::size_t i = 0; i < middle.size(); ++i) middle[i] = i + 1;
  Join(wide, 0, middle);
  for (const std::size_t op : middle) Join(wide, op, {61 - op});
  EXPECT_GT(EstimateOf(wide), int64_t{1} << 50);
  SolverOptions options;
  options.ideal_limit = 1000;
  EXPECT_LT(EstimateOf(wide, options), int64_t{1} << 20);
}

TEST(TableEstimateTest, GraphsWithoutAnOrderHaveAnEstimate) {
  OperatorGraph cycle;
  cycle.operators.resize(2);
  Join(cycle, 0, {1});
  Join(cycle, 1, {static_cast<std::size_t>(-1)});
  EXPECT_GT(EstimateOf(cycle), 0);
  EXPECT_GT(EstimateOf(ChainOf(0)), 0);
}

}  // namespace
}  // namespace planwright
