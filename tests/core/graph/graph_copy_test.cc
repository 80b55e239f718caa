#include "core/graph/graph_copy.h"

#include <gtest/gtest.h>

#include <array>
#include <stop_token>
#include <string>

#include "core/base/interruption.h"

namespace planwright {
namespace {

OperatorGraph GraphOf(int operators) {
  OperatorGraph graph;
  graph.display_name = "a graph";
  graph.samples_per_micro_batch = 4;
  graph.transformer.emplace();
  graph.layout_changes.push_back({"rows", "columns", 0.5});
  for (int i = 0; i < operators; ++i) {
    graph.operators.emplace_back().name = "op" + std::to_string(i);
    graph.tensors.emplace_back().name = "tensor" + std::to_string(i);
  }
  return graph;
}

TEST(GraphCopyTest, CopiesAll) {
  const OperatorGraph copy = CopyOf(GraphOf(2));
  EXPECT_EQ(copy.display_name, "a graph");
  EXPECT_EQ(copy.samples_per_micro_batch, 4);
  EXPECT_TRUE(copy.transformer.has_value());
  ASSERT_EQ(copy.layout_changes.size(), 1U);
  EXPECT_EQ(copy.layout_changes[0].share, 0.5);
  ASSERT_EQ(copy.operators.size(), 2U);
  EXPECT_EQ(copy.operators[1].name, "op1");
  ASSERT_EQ(copy.tensors.size(), 2U);
  EXPECT_EQ(copy.tensors[1].name, "tensor1");
}

TEST(GraphCopyTest, CopiesOperatorsInTheOrderAskedFor) {
  const OperatorGraph copy = CopyOf(GraphOf(3), std::array{OperatorId(2), OperatorId(0), OperatorId(1)});
  ASSERT_EQ(copy.operators.size(), 3U);
  EXPECT_EQ(copy.operators[0].name, "op2");
  EXPECT_EQ(copy.operators[2].name, "op1");
  EXPECT_EQ(copy.tensors[0].name, "tensor0");
}

TEST(GraphCopyTest, CopiesOfManyOperatorsEndWhereTheyAreToldTo) {
  const OperatorGraph graph = GraphOf(1000);
  const std::stop_source source;
  source.request_stop();
  SolveLimits limits;
  limits.stop = source.get_token();
  const InterruptionScope scope(&limits);
  EXPECT_THROW(CopyOf(graph), Interrupted);
}

}  // namespace
}  // namespace planwright
