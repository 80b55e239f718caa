// Every model of the zoo as a chain, operator by operator and layer by layer.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cost/chain/chain_costs.h"
#include "core/graph/chain.h"
#include "core/partition/periodic/contiguous_optimum.h"
#include "core/zoo/zoo.h"

namespace planwright {
namespace {

constexpr std::size_t kMaxLayers = 256;

class ZooChainTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ZooChainTest, KeepsTheWorkAndSharesItEvenly) {
  const OperatorGraph graph = MakeZooModel(GetParam()).value();
  const Cluster cluster = MakeZooCluster("dgx-a100:1").value();
  const CostTable costs(graph, cluster, Workload::kTraining);
  std::vector<int64_t> times;
  Picoseconds work(0);
  for (std::size_t i = 0; i < graph.operators.size(); ++i) {
    times.push_back(costs.time(OperatorId(i), DeviceClassId(0)).total().count());
    work += Picoseconds(times.back());
  }
  for (const Granularity granularity : {Granularity::kOperator, Granularity::kLayer}) {
    PlanningProblem problem;
    problem.workload = Workload::kTraining;
    problem.granularity = granularity;
    const ResolvedProblem resolved = ResolveProblem(graph, problem);
    const OperatorGroups layers = LinearizeGraph(graph, resolved, times, kMaxLayers);
    EXPECT_LE(layers.size(), kMaxLayers);
    // All of these models are deep.
    EXPECT_GE(layers.size(), 6U);
    const Chain chain = MakeChain(graph, cluster.interconnect, resolved, costs, DeviceClassId(0), layers);
    const ChainSums sums(chain);
    EXPECT_EQ(sums.compute(0, sums.num_layers() - 1), work);
    const auto optimum = ContiguousOptimum(chain, {.count = 4, .memory_bytes = std::nullopt});
    ASSERT_TRUE(optimum.has_value());
    EXPECT_GE(4 * optimum->period, work);
    if (granularity == Granularity::kOperator) {
      EXPECT_LE(optimum->period, work / 2);
    }
  }
}

std::vector<std::string> ModelNames() {
  std::vector<std::string> names;
  for (const ZooEntry& entry : ZooModels()) names.push_back(entry.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooChainTest, ::testing::ValuesIn(ModelNames()));

}  // namespace
}  // namespace planwright
