#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "core/graph/components.h"
#include "tests/core/graph/random_digraph.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Whether the undirected graph without vertex `hidden` connects a and b without using the edge {a, b} itself.
class Connection {
 public:
  explicit Connection(const Digraph& graph) : graph_(graph) {}

  // Whether a simple cycle holds both edges: they are equal, or joining them by a new vertex in the middle of each, the
  // two new vertices are on one cycle, i.e. no single vertex or edge parts them. Tried by removing every vertex.
  bool OnOneCycle(std::size_t first, std::size_t second) const {
    if (first == second) return true;
    const auto& a = graph_.edges()[first];
    const auto& b = graph_.edges()[second];
    for (int32_t hidden = 0; hidden < graph_.num_vertices(); ++hidden) {
      if (!Connects(a, first, b, second, hidden)) return false;
    }
    return true;
  }

 private:
  // Whether an end of `a` reaches an end of `b` around `hidden`, where neither edge may serve as a bridge to itself.
  bool Connects(const Digraph::Edge& a, std::size_t first, const Digraph::Edge& b, std::size_t second,
                int32_t hidden) const {
    std::vector<bool> reached(static_cast<std::size_t>(graph_.num_vertices()), false);
    std::vector<int32_t> open;
    const auto reach = [&](int32_t vertex) {
      if (vertex == hidden || reached[static_cast<std::size_t>(vertex)]) return;
      reached[static_cast<std::size_t>(vertex)] = true;
      open.push_back(vertex);
    };
    reach(a.first);
    reach(a.second);
    while (!open.empty()) {
      const int32_t vertex = open.back();
      open.pop_back();
      for (std::size_t edge = 0; edge < graph_.edges().size(); ++edge) {
        if (edge == first || edge == second) continue;
        if (graph_.edges()[edge].first == vertex) reach(graph_.edges()[edge].second);
        if (graph_.edges()[edge].second == vertex) reach(graph_.edges()[edge].first);
      }
    }
    const auto is_reached = [&](int32_t vertex) {
      return vertex != hidden && reached[static_cast<std::size_t>(vertex)];
    };
    return is_reached(b.first) || is_reached(b.second);
  }

  const Digraph& graph_;
};

// Two edges of a graph are in one component if and only if no vertex parts them: every vertex taken away, they still
// hang together. Edges that share a vertex hang together only around it.
TEST(BiconnectedComponentsTest, AgreesWithTheDefinitionOnRandomGraphs) {
  RandomStream random(3);
  for (int i = 0; i < 300; ++i) {
    const auto vertices = static_cast<int32_t>(random.Between(2, 7));
    const Digraph graph = RandomDigraph(vertices, 0.35, /*acyclic=*/true, random);
    const std::vector<int32_t> component_of = BiconnectedComponents(graph);
    ASSERT_EQ(component_of.size(), graph.edges().size());
    const Connection connection(graph);
    for (std::size_t a = 0; a < component_of.size(); ++a) {
      for (std::size_t b = 0; b < component_of.size(); ++b) {
        ASSERT_EQ(component_of[a] == component_of[b], connection.OnOneCycle(a, b)) << i << ": " << a << " " << b;
      }
    }
  }
}

TEST(BiconnectedComponentsTest, EveryEdgeOfATreeIsAlone) {
  EXPECT_THAT(BiconnectedComponents(Digraph(4, {{0, 1}, {1, 2}, {1, 3}})), ::testing::UnorderedElementsAre(0, 1, 2));
}

TEST(BiconnectedComponentsTest, AnEdgeAndItsReverseAreOne) {
  EXPECT_THAT(BiconnectedComponents(Digraph(2, {{0, 1}, {1, 0}})), ElementsAre(0, 0));
}

TEST(BiconnectedComponentsTest, EdgelessGraphsHaveNone) {
  EXPECT_THAT(BiconnectedComponents(Digraph(3, {})), IsEmpty());
}

}  // namespace
}  // namespace planwright
