#include "core/zoo/models/graph_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace planwright {
namespace {

using ::testing::ElementsAre;

// Every number below is counted by hand, with 2-byte elements.
class GraphBuilderTest : public ::testing::Test {
 protected:
  GraphBuilderTest() : builder_("test", 3, 2) { builder_.EnterLayer("layer"); }

  // [4, 10] values that need a gradient.
  Value Features() { return builder_.Linear("features", builder_.Input("input", {4, 5}, 2), 10); }

  GraphBuilder builder_;
};

TEST_F(GraphBuilderTest, CountsALinearOperator) {
  const Value y = builder_.Linear("linear", Features(), 20);
  EXPECT_THAT(y.shape, ElementsAre(4, 20));
  const OperatorGraph graph = builder_.Build();
  const Operator& op = graph.operators.back();
  EXPECT_EQ(op.name, "layer/linear");
  EXPECT_EQ(op.type, "Linear");
  EXPECT_EQ(op.layer, "layer");
  EXPECT_EQ(op.parameter_bytes, 2 * (10 * 20 + 20));
  EXPECT_EQ(op.forward_flops, 2 * 4 * 10 * 20);
  EXPECT_EQ(op.backward_flops, 2 * 2 * 4 * 10 * 20);
  EXPECT_EQ(op.forward_bytes_accessed, 2 * (4 * 10 + 220 + 4 * 20));
  EXPECT_EQ(op.backward_bytes_accessed, 2 * 2 * (4 * 10 + 220 + 4 * 20));
  EXPECT_EQ(op.activation_bytes, 2 * 4 * 10);
  EXPECT_EQ(op.workspace_bytes, 2 * (4 * 10 + 4 * 20));
}

TEST_F(GraphBuilderTest, LinksTensorsToProducerAndConsumers) {
  const Value x = Features();
  builder_.Relu("a", x);
  builder_.Relu("b", x);
  const OperatorGraph graph = builder_.Build();
  ASSERT_EQ(graph.operators.size(), 4U);
  ASSERT_EQ(graph.tensors.size(), 4U);
  EXPECT_EQ(graph.tensors[1].name, "layer/features");
  EXPECT_EQ(graph.tensors[1].producer, OperatorId(1));
  EXPECT_THAT(graph.tensors[1].consumers, ElementsAre(OperatorId(2), OperatorId(3)));
  EXPECT_EQ(graph.tensors[1].size_bytes, 2 * 4 * 10);
  EXPECT_EQ(graph.samples_per_micro_batch, 3);
}

TEST_F(GraphBuilderTest, InputsCostNothing) {
  builder_.Input("ids", {4, 5}, 8);
  const OperatorGraph graph = builder_.Build();
  const Operator& input = graph.operators.front();
  EXPECT_EQ(input.type, kInputOperatorType);
  EXPECT_EQ(input.forward_bytes_accessed, 0);
  EXPECT_EQ(input.workspace_bytes, 0);
  EXPECT_EQ(graph.tensors.front().size_bytes, 4 * 5 * 8);
}

TEST_F(GraphBuilderTest, MultipliesBatchedMatrices) {
  const Value a = Features().Reshaped({2, 4, 5});
  const Value b = builder_.Linear("other", Features(), 15).Reshaped({2, 5, 6});
  EXPECT_THAT(builder_.MatMul("product", a, b).shape, ElementsAre(2, 4, 6));
  const OperatorGraph graph = builder_.Build();
  const Operator& op = graph.operators.back();
  EXPECT_EQ(op.forward_flops, 2 * 2 * 4 * 5 * 6);
  EXPECT_EQ(op.backward_flops, 2 * op.forward_flops);
  EXPECT_EQ(op.parameter_bytes, 0);
  EXPECT_EQ(op.activation_bytes, 2 * (2 * 4 * 5 + 2 * 5 * 6));
}

TEST_F(GraphBuilderTest, ConvolvesWithPaddingAndStride) {
  const Value image = builder_.Input("image", {2, 3, 224, 224}, 2);
  const Value y = builder_.Conv2d("conv", image, {.output_channels = 64, .kernel = 7, .stride = 2});
  EXPECT_THAT(y.shape, ElementsAre(2, 64, 112, 112));
  EXPECT_THAT(builder_.MaxPool("pool", y, {.kernel = 3, .stride = 2}).shape, ElementsAre(2, 64, 56, 56));
  const OperatorGraph graph = builder_.Build();
  const Operator& conv = graph.operators[1];
  EXPECT_EQ(conv.parameter_bytes, 2 * 64 * 3 * 7 * 7);
  EXPECT_EQ(conv.forward_flops, 2.0 * 2 * 112 * 112 * 64 * 3 * 7 * 7);
  // The image needs no gradient.
  EXPECT_EQ(conv.backward_flops, conv.forward_flops);
  EXPECT_EQ(conv.backward_bytes_accessed, conv.forward_bytes_accessed);
}

TEST_F(GraphBuilderTest, ConvolvesWithRectanglesWithoutPaddingAndWithBias) {
  const Value image = builder_.Input("image", {2, 3, 20, 20}, 2);
  const Convolution row = {.output_channels = 4, .kernel = 1, .kernel_width = 7};
  EXPECT_THAT(builder_.Conv2d("row", image, row).shape, ElementsAre(2, 4, 20, 20));
  const Convolution valid = {.output_channels = 4, .kernel = 3, .stride = 2, .padded = false, .bias = true};
  EXPECT_THAT(builder_.Conv2d("valid", image, valid).shape, ElementsAre(2, 4, 9, 9));
  const OperatorGraph graph = builder_.Build();
  EXPECT_EQ(graph.operators[1].parameter_bytes, 2 * 4 * 3 * 7);
  EXPECT_EQ(graph.operators[2].parameter_bytes, 2 * 4 * (3 * 3 * 3 + 1));
  EXPECT_EQ(graph.operators[2].forward_flops, 2.0 * 2 * 4 * 9 * 9 * 3 * 3 * 3);
}

TEST_F(GraphBuilderTest, PoolsToAnyExtent) {
  const Value image = builder_.Input("image", {2, 3, 20, 20}, 2);
  EXPECT_THAT(builder_.AveragePool("average", image, {.kernel = 2, .stride = 2}).shape, ElementsAre(2, 3, 10, 10));
  EXPECT_THAT(builder_.AdaptiveAveragePool("down", image, 7).shape, ElementsAre(2, 3, 7, 7));
  const Value small = builder_.Input("small", {2, 3, 1, 1}, 2);
  EXPECT_THAT(builder_.AdaptiveAveragePool("up", small, 7).shape, ElementsAre(2, 3, 7, 7));
  const OperatorGraph graph = builder_.Build();
  EXPECT_EQ(graph.operators[2].forward_flops, 2 * 3 * 7 * 7 * 3 * 3);
  EXPECT_EQ(graph.operators[4].forward_flops, 2 * 3 * 7 * 7);
}

TEST_F(GraphBuilderTest, AttendsWithoutStoringScores) {
  // Two heads of 5; keys and values have one.
  const Value query = builder_.Linear("query", Features(), 10).Reshaped({1, 4, 10});
  const Value shared = builder_.Linear("shared", Features(), 5).Reshaped({1, 4, 5});
  EXPECT_THAT(builder_.Attention("attention", query, shared, shared, 2).shape, ElementsAre(1, 4, 10));
  const OperatorGraph graph = builder_.Build();
  const Operator& op = graph.operators.back();
  // Scores and weighted sums: 4 x 4 products of 5 elements for each of 2 heads.
  EXPECT_EQ(op.forward_flops, 2 * (2 * 2 * 4 * 4 * 5));
  EXPECT_EQ(op.backward_flops, 2.5 * op.forward_flops);
  EXPECT_EQ(op.forward_bytes_accessed, 2 * (40 + 20 + 20 + 40));
  EXPECT_EQ(op.backward_bytes_accessed, 2 * op.forward_bytes_accessed);
  EXPECT_EQ(op.activation_bytes, 2 * (40 + 20) + 4 * 2 * 4);
}

TEST_F(GraphBuilderTest, RunsAnLstmOverAllTimeSteps) {
  const Value x = Features().Reshaped({2, 2, 10});
  const Value y = builder_.Lstm("lstm", x, 6, 2);
  EXPECT_THAT(y.shape, ElementsAre(2, 2, 12));
  builder_.Scale("next", y);
  const OperatorGraph graph = builder_.Build();
  const Operator& op = graph.operators[2];
  EXPECT_EQ(op.parameter_bytes, 2 * 2 * (4 * 6 * (10 + 6) + 2 * 4 * 6));
  EXPECT_EQ(op.forward_flops, 2 * 4 * 2 * 4 * 6 * (10 + 6));
  EXPECT_EQ(op.backward_flops, 2 * op.forward_flops);
  // The input; gates and cell states.
  EXPECT_EQ(op.activation_bytes, 2 * (40 + 5 * 4 * 12));
  // Its own output, which it reads again.
  EXPECT_EQ(graph.operators[3].activation_bytes, 2 * 4 * 12);
}

TEST_F(GraphBuilderTest, ScoresPairsOfPositions) {
  const Value query = Features().Reshaped({2, 2, 10});
  const Value key = builder_.Linear("key", Features(), 15).Reshaped({2, 3, 10});
  EXPECT_THAT(builder_.AdditiveScores("scores", query, key).shape, ElementsAre(2, 2, 3));
  const OperatorGraph graph = builder_.Build();
  EXPECT_EQ(graph.operators.back().parameter_bytes, 2 * (10 + 10 + 1));
  EXPECT_EQ(graph.operators.back().forward_flops, 11 * 2 * 2 * 3 * 10);
}

TEST_F(GraphBuilderTest, ConcatenatesAlongAnAxis) {
  const Value x = Features();
  EXPECT_THAT(builder_.Concat("columns", {x, x, x}, 1).shape, ElementsAre(4, 30));
  EXPECT_THAT(builder_.Concat("rows", {x, x}, 0).shape, ElementsAre(8, 10));
}

TEST_F(GraphBuilderTest, CountsSharedParametersElsewhere) {
  const Value x = Features();
  builder_.Linear("own", x, 20, Bias::kWithout);
  builder_.Linear("shared", x, 20, Bias::kWithout);
  builder_.ShareParameters();
  const OperatorGraph graph = builder_.Build();
  const Operator& own = graph.operators[2];
  const Operator& shared = graph.operators[3];
  EXPECT_EQ(own.parameter_bytes, 2 * 10 * 20);
  EXPECT_EQ(shared.parameter_bytes, 0);
  EXPECT_EQ(shared.workspace_bytes, own.workspace_bytes + 2 * own.parameter_bytes);
  EXPECT_EQ(shared.forward_bytes_accessed, own.forward_bytes_accessed);
  EXPECT_EQ(shared.backward_flops, own.backward_flops);
}

TEST_F(GraphBuilderTest, KeepsAValueOnceForAllItsConsumers) {
  const Value x = Features();
  builder_.Linear("first", x, 10);
  builder_.Linear("second", x, 10);
  const OperatorGraph graph = builder_.Build();
  EXPECT_EQ(graph.operators[2].activation_bytes, 2 * 4 * 10);
  EXPECT_EQ(graph.operators[3].activation_bytes, 0);
}

TEST_F(GraphBuilderTest, KeepsAnOutputThatItsProducerReadsAgainAtTheConsumer) {
  const Value x = Features();
  const Value y = builder_.Relu("relu", x);
  builder_.Add("add", {y, x});
  const OperatorGraph graph = builder_.Build();
  EXPECT_EQ(graph.operators[2].activation_bytes, 0);
  EXPECT_EQ(graph.operators[3].activation_bytes, 2 * 4 * 10);
}

TEST_F(GraphBuilderTest, KeepsOnlyTheMaskOfADropout) {
  builder_.Dropout("dropout", Features());
  const OperatorGraph graph = builder_.Build();
  EXPECT_EQ(graph.operators.back().activation_bytes, 4 * 10);
}

TEST_F(GraphBuilderTest, ReadsOnlyTheRowsThatAnEmbeddingLooksUp) {
  const Value y = builder_.Embedding("table", builder_.Input("ids", {4}, 8), 1'000, 10);
  EXPECT_THAT(y.shape, ElementsAre(4, 10));
  const OperatorGraph graph = builder_.Build();
  const Operator& op = graph.operators.back();
  EXPECT_EQ(op.parameter_bytes, 2 * 1'000 * 10);
  EXPECT_EQ(op.forward_bytes_accessed, 4 * 8 + 2 * (2 * 4 * 10));
  EXPECT_EQ(op.backward_bytes_accessed, op.forward_bytes_accessed + op.parameter_bytes);
}

TEST_F(GraphBuilderTest, NormalisesWithAScaleAndAShift) {
  builder_.LayerNorm("norm", Features());
  const OperatorGraph graph = builder_.Build();
  const Operator& op = graph.operators.back();
  EXPECT_EQ(op.parameter_bytes, 2 * 2 * 10);
  EXPECT_EQ(op.forward_bytes_accessed, 2 * (40 + 20 + 40));
  // Gradients of output and input, the input again, the parameters and their gradients.
  EXPECT_EQ(op.backward_bytes_accessed, 2 * (40 + 40 + 40 + 20 + 20));
}

}  // namespace
}  // namespace planwright
