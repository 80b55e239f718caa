#include "core/partition/parmesan/uniform_links_problem.h"

#include <gtest/gtest.h>

#include <variant>

#include "tests/support/builders.h"

namespace planwright {
namespace {

MatrixInterconnect Matrix(std::vector<double> bandwidths) {
  return {.bandwidth_bytes_per_second = std::move(bandwidths), .latency = Picoseconds(7)};
}

TEST(MedianSpeedTest, IsThatOfTheMedianPair) {
  const Network network(Matrix({0, 1e9, 5e9, 1e9, 0, 9e9, 5e9, 9e9, 0}));
  EXPECT_EQ(MedianSpeed(network, 3).bandwidth_bytes_per_second, 5e9);
  EXPECT_EQ(MedianSpeed(network, 3).latency, Picoseconds(7));
}

TEST(MedianSpeedTest, CountsEveryPairOfAHierarchy) {
  // Each of 8 devices meets 1 inside its group and 6 outside.
  const HierarchyInterconnect hierarchy{{{2, 9e9, Picoseconds(1)}, {4, 2e9, Picoseconds(3)}}};
  EXPECT_EQ(MedianSpeed(Network(hierarchy), 8).bandwidth_bytes_per_second, 2e9);
  EXPECT_FALSE(MedianSpeed(Network(hierarchy), 1).bandwidth_bytes_per_second.has_value());
}

struct Flattening {
  Flattening() {
    const OperatorId a = AddOperator(graph, "a", 5, 5);
    const OperatorId b = AddOperator(graph, "b", 5, 5);
    const OperatorId c = AddOperator(graph, "c", 5, 5);
    AddTensor(graph, a, {b, c}, 3, 1000);
    cluster = MakeCluster(3, 0);
    problem.workload = Workload::kInference;
    problem.micro_batches = 4;
  }

  UniformLinksProblem Flatten(ConsumerCharge charge, AssumedSpeed assumed = AssumedSpeed::kMedian) const {
    const CostTable costs(graph, cluster, problem.workload);
    return WithUniformLinks({graph, cluster, problem, costs, options, Algorithm::kParmesan, {}}, charge, assumed);
  }

  OperatorGraph graph;
  Cluster cluster;
  ResolvedProblem problem;
  SolverOptions options;
};

TEST(WithUniformLinksTest, ConnectsAllDevicesAlike) {
  Flattening given;
  given.cluster.interconnect = Matrix({0, 1e9, 5e9, 1e9, 0, 9e9, 5e9, 9e9, 0});
  const UniformLinksProblem flat = given.Flatten(ConsumerCharge::kPerStage);
  const auto& uniform = std::get<UniformInterconnect>(flat.cluster.interconnect);
  EXPECT_EQ(uniform.bandwidth_bytes_per_second, 5e9);
  const UniformLinksProblem fast = given.Flatten(ConsumerCharge::kPerStage, AssumedSpeed::kFastest);
  EXPECT_EQ(std::get<UniformInterconnect>(fast.cluster.interconnect).bandwidth_bytes_per_second, 9e9);
  // Its own time holds on uniform interconnects only.
  EXPECT_FALSE(flat.graph.tensors[0].transfer.has_value());
  EXPECT_FALSE(flat.problem.micro_batches.has_value());
}

TEST(WithUniformLinksTest, KeepsTimesThatHold) {
  Flattening given;
  given.cluster.interconnect = UniformInterconnect{1e9, Picoseconds(0)};
  EXPECT_TRUE(given.Flatten(ConsumerCharge::kPerStage).graph.tensors[0].transfer.has_value());
}

TEST(WithUniformLinksTest, ChargesEachConsumerOfThePaper) {
  Flattening given;
  given.cluster.interconnect = UniformInterconnect{1e9, Picoseconds(0)};
  const UniformLinksProblem flat = given.Flatten(ConsumerCharge::kPerOperator);
  ASSERT_EQ(flat.graph.tensors.size(), 2U);
  EXPECT_EQ(flat.graph.tensors[0].consumers, std::vector<OperatorId>{OperatorId(1)});
  EXPECT_EQ(flat.graph.tensors[1].consumers, std::vector<OperatorId>{OperatorId(2)});
}

}  // namespace
}  // namespace planwright
