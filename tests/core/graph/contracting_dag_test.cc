#include "core/graph/contracting_dag.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/graph/components.h"

namespace planwright {
namespace {

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

using Weights = std::map<Digraph::Edge, int64_t>;

Digraph RandomDag(int32_t vertices, double probability, RandomStream& random) {
  std::vector<Digraph::Edge> edges;
  for (int32_t to = 1; to < vertices; ++to) {
    for (int32_t from = 0; from < to; ++from) {
      if (random.Unit() < probability) edges.emplace_back(from, to);
    }
  }
  return {vertices, std::move(edges)};
}

// The weights of the edges between the labels.
Weights Contracted(const Digraph& graph, const std::vector<int64_t>& weights, const std::vector<int32_t>& label_of) {
  Weights contracted;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto [from, to] = graph.edges()[i];
    const Digraph::Edge edge(label_of[Index(from)], label_of[Index(to)]);
    if (edge.first != edge.second) contracted[edge] += weights[i];
  }
  return contracted;
}

bool IsAcyclic(int32_t vertices, const Weights& weights) {
  std::vector<Digraph::Edge> edges;
  for (const auto& [edge, weight] : weights) edges.push_back(edge);
  const std::vector<int32_t> components = StronglyConnectedComponents(Digraph(vertices, edges));
  return static_cast<int32_t>(std::set<int32_t>(components.begin(), components.end()).size()) == vertices;
}

Weights ArcsOf(const ContractingDag& dag, int32_t vertices) {
  Weights weights;
  for (int32_t from = 0; from < vertices; ++from) {
    for (const ContractingDag::Arc& arc : dag.successors(from)) {
      weights[{from, arc.vertex}] = arc.weight;
      EXPECT_EQ(dag.WeightOf(from, arc.vertex), arc.weight);
    }
  }
  Weights mirrored;
  for (int32_t to = 0; to < vertices; ++to) {
    for (const ContractingDag::Arc& arc : dag.predecessors(to)) mirrored[{arc.vertex, to}] = arc.weight;
  }
  EXPECT_EQ(weights, mirrored);
  return weights;
}

TEST(ContractingDagTest, ContractsExactlyTheConvexEdges) {
  RandomStream random(1);
  int convex = 0;
  int refused = 0;
  for (int round = 0; round < 150; ++round) {
    const auto vertices = static_cast<int32_t>(random.Between(2, 16));
    const Digraph graph = RandomDag(vertices, 0.1 + 0.3 * random.Unit(), random);
    std::vector<int64_t> weights;
    for (std::size_t i = 0; i < graph.edges().size(); ++i) weights.push_back(random.Between(0, 9));
    ContractingDag dag(graph, weights);
    std::vector<int32_t> label_of(Index(vertices));
    std::iota(label_of.begin(), label_of.end(), 0);
    for (int step = 0; step < 40; ++step) {
      const Weights before = Contracted(graph, weights, label_of);
      if (before.empty()) break;
      const auto [from, to] = std::next(before.begin(), static_cast<int>(random.Below(before.size())))->first;
      std::vector<int32_t> merged = label_of;
      for (int32_t& label : merged) label = label == to ? from : label;
      const bool stays_acyclic = IsAcyclic(vertices, Contracted(graph, weights, merged));
      const int32_t kept = dag.Contract(from, to, kUnlimited);
      ASSERT_EQ(kept != ContractingDag::kNotConvex, stays_acyclic) << round << " " << step;
      ++(stays_acyclic ? convex : refused);
      if (stays_acyclic) {
        for (int32_t& label : label_of) label = label == from || label == to ? kept : label;
      }
      ASSERT_EQ(ArcsOf(dag, vertices), Contracted(graph, weights, label_of)) << round << " " << step;
    }
  }
  EXPECT_GT(convex, 300);
  EXPECT_GT(refused, 200);
}

TEST(ContractingDagTest, GivesUpWhereTheSearchGetsTooLong) {
  // Beside the edge 0 -> 9 there is the path 0 .. 8, which has lower ranks than 9.
  std::vector<Digraph::Edge> edges = {{0, 9}, {10, 9}};
  for (int32_t i = 0; i < 8; ++i) edges.emplace_back(i, i + 1);
  const Digraph graph(11, edges);
  ContractingDag dag(graph, std::vector<int64_t>(graph.edges().size(), 1));
  EXPECT_EQ(dag.Contract(0, 9, 2), ContractingDag::kNotConvex);
  EXPECT_EQ(dag.WeightOf(0, 9), 1);
  EXPECT_NE(dag.Contract(0, 9, kUnlimited), ContractingDag::kNotConvex);
}

}  // namespace
}  // namespace planwright
