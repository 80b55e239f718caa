#include "core/graph/digraph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(DigraphTest, DropsSelfLoopsAndParallelEdges) {
  const Digraph graph(3, {{2, 1}, {0, 2}, {0, 2}, {1, 1}, {0, 1}});
  EXPECT_EQ(graph.num_vertices(), 3);
  EXPECT_THAT(graph.edges(), ElementsAre(Pair(0, 1), Pair(0, 2), Pair(2, 1)));
}

TEST(DigraphTest, ListsNeighboursAscendingInBothDirections) {
  const Digraph graph(4, {{3, 0}, {1, 0}, {3, 2}, {3, 1}});
  EXPECT_THAT(graph.successors(3), ElementsAre(0, 1, 2));
  EXPECT_THAT(graph.predecessors(0), ElementsAre(1, 3));
  EXPECT_THAT(graph.successors(0), IsEmpty());
  EXPECT_THAT(graph.predecessors(3), IsEmpty());
}

TEST(DigraphTest, MayBeEmpty) {
  EXPECT_EQ(Digraph().num_vertices(), 0);
  EXPECT_THAT(Digraph(0, {}).edges(), IsEmpty());
  EXPECT_THAT(Digraph(2, {}).successors(1), IsEmpty());
}

}  // namespace
}  // namespace planwright
