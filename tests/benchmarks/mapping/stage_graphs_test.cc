#include "tests/benchmarks/mapping/stage_graphs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/mapping/problem/evaluation.h"

namespace planwright::benchmarks {
namespace {

double LargestCompute(const StageGraph& graph) {
  return *std::max_element(graph.compute_ms.begin(), graph.compute_ms.end());
}

// The figures of the stage graphs that the prototype was measured on.
TEST(StageGraphsTest, SemanticFpnIsTheOneOfTheDesignPage) {
  const StageGraph four = SemanticFpnStages(4);
  const StageGraph eight = SemanticFpnStages(8);
  const StageGraph sixteen = SemanticFpnStages(16);
  EXPECT_EQ(four.edges.size(), 4U);
  EXPECT_EQ(eight.edges.size(), 11U);
  EXPECT_EQ(sixteen.edges.size(), 20U);
  EXPECT_NEAR(LargestCompute(four), 14.4, 0.05);
  EXPECT_NEAR(LargestCompute(eight), 8.0, 0.05);
  EXPECT_NEAR(LargestCompute(sixteen), 6.2, 0.05);
  double least_edge = 1e9;
  double greatest_edge = 0;
  double least_parameters = 1e9;
  double greatest_parameters = 0;
  for (const StageGraph* graph : {&four, &eight, &sixteen}) {
    for (const StageGraph::Edge& edge : graph->edges) {
      EXPECT_LT(edge.from, edge.to);
      least_edge = std::min(least_edge, edge.megabytes);
      greatest_edge = std::max(greatest_edge, edge.megabytes);
    }
    for (const double megabytes : graph->parameter_megabytes) {
      least_parameters = std::min(least_parameters, megabytes);
      greatest_parameters = std::max(greatest_parameters, megabytes);
    }
  }
  EXPECT_NEAR(least_edge, 8, 0.5);
  EXPECT_NEAR(greatest_edge, 336, 0.6);
  EXPECT_NEAR(least_parameters, 0.3, 0.05);
  EXPECT_NEAR(greatest_parameters, 137, 0.5);
}

// In nodes of 8 with 150 GB/s the pipelines of 4 and 8 stages stay inside: the design page proved these values optimal.
TEST(StageGraphsTest, SemanticFpnHasTheOptimaOfTheDesignPageOnAHierarchy) {
  const Network network(HierarchyInterconnect{
      {{.fan_out = 8, .bandwidth_bytes_per_second = 150e9}, {.fan_out = 8, .bandwidth_bytes_per_second = 6e9}}});
  const auto replicas_together = [&](int32_t stages, int32_t replicas) {
    const MappingInstance instance =
        MakeInstance(SemanticFpnStages(stages), replicas, 64, network, MappingObjective::kLoad);
    Mapping mapping{.rings = RingsInReplicaOrder(instance)};
    for (std::size_t device = 0; device < 64; ++device) mapping.devices.emplace_back(device);
    return Evaluate(instance, mapping).value_ms;
  };
  EXPECT_NEAR(replicas_together(4, 16), 14.851, 0.0005);
  EXPECT_NEAR(replicas_together(8, 8), 8.479, 0.0005);
}

TEST(StageGraphsTest, RandomGraphsKeepToTheirRangesAndSeeds) {
  const StageGraph chain = ChainStages(8, 1);
  EXPECT_EQ(chain.edges.size(), 7U);
  EXPECT_EQ(chain.compute_ms, ChainStages(8, 1).compute_ms);
  EXPECT_NE(chain.compute_ms, ChainStages(8, 2).compute_ms);
  const StageGraph unet = UnetStages(8, 1);
  // Stages 3 and 4 are neighbours already.
  EXPECT_EQ(unet.edges.size(), 10U);
  for (const StageGraph::Edge& edge : unet.edges) {
    EXPECT_GE(edge.megabytes, 10);
    EXPECT_LE(edge.megabytes, 80);
  }
  const StageGraph bert = BertStages(16, 1);
  EXPECT_EQ(bert.edges.size(), 15U);
  for (std::size_t stage = 0; stage < 16; ++stage) {
    EXPECT_NEAR(bert.compute_ms[stage], 5, 0.25);
    EXPECT_NEAR(bert.parameter_megabytes[stage], 83.75, 8.375);
  }
}

}  // namespace
}  // namespace planwright::benchmarks
