#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/zoo/models/language_models.h"
#include "tests/core/zoo/graph_totals.h"

namespace planwright {
namespace {

const BertConfig kBase = {.layers = 12, .hidden = 768, .heads = 12};
const BertConfig kLarge = {.layers = 24, .hidden = 1'024, .heads = 16};

// Parameters of the released checkpoints bert-base-uncased and bert-large-uncased without their pre-training heads
// (embeddings, encoder, pooler), and of a classifier of two classes on top.
TEST(BertTest, HasTheParametersOfTheReleasedCheckpoints) {
  EXPECT_EQ(TotalParameters(MakeModel("base", kBase), 2), 109'482'240 + 2 * 768 + 2);
  EXPECT_EQ(TotalParameters(MakeModel("large", kLarge), 2), 335'141'888 + 2 * 1'024 + 2);
}

// The encoder costs 12 h^2 multiply-adds per token for the six projections and 2 s h for the two attention products.
TEST(BertTest, HasTheFlopsOfTheClosedFormula) {
  for (const BertConfig& config : {kBase, kLarge}) {
    const auto h = static_cast<double>(config.hidden);
    const auto s = static_cast<double>(config.tokens);
    const auto layers = static_cast<double>(config.layers);
    const auto sequences = static_cast<double>(config.sequences);
    const double encoder = sequences * layers * s * (12 * h * h + 2 * s * h);
    const double head = sequences * (h * h + 2 * h);
    EXPECT_DOUBLE_EQ(ContractionMultiplyAdds(MakeModel("bert", config)), encoder + head);
  }
}

// Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models (2022), equation 1: a layer keeps
// s b h (34 + 5 a s / h) bytes with 2-byte elements. Their count starts at the input of the first normalisation of the
// layer and takes the second one's output as the input of the next layer, like ours.
TEST(BertTest, KeepsThePublishedActivationBytesPerLayer) {
  const OperatorGraph graph = MakeModel("large", kLarge);
  const int64_t s = kLarge.tokens;
  const int64_t b = kLarge.sequences;
  EXPECT_EQ(KeptBytes(graph, "encoder.7"), 34 * s * b * kLarge.hidden + 5 * kLarge.heads * s * s * b);
}

TEST(BertTest, CountsOperatorsAndLayers) {
  const OperatorGraph graph = MakeModel("large", kLarge);
  EXPECT_EQ(graph.operators.size(), 17U + 19U * 24U);
  std::set<std::string> layers;
  for (const Operator& op : graph.operators) layers.insert(op.layer);
  EXPECT_EQ(layers.size(), 26U);
  EXPECT_EQ(graph.samples_per_micro_batch, 8);
}

TEST(BertTest, SharesTheMaskAmongAllLayers) {
  const OperatorGraph graph = MakeModel("base", kBase);
  const auto mask = std::ranges::find(graph.tensors, "embeddings/mask", &Tensor::name);
  ASSERT_NE(mask, graph.tensors.end());
  EXPECT_EQ(mask->consumers.size(), 12U);
}

TEST(BertTest, HasNoBackwardPassAboveTheInputs) {
  const OperatorGraph graph = MakeModel("base", kBase);
  const Operator* mask = FindOperator(graph, "embeddings/mask");
  ASSERT_NE(mask, nullptr);
  EXPECT_EQ(mask->backward_flops, 0);
  EXPECT_EQ(mask->backward_bytes_accessed, 0);
}

TEST(BertTest, GoesBackwardAtTwiceTheCostOfItsContractions) {
  const OperatorGraph graph = MakeModel("base", kBase);
  for (const char* name : {"encoder.3/query", "encoder.3/scores", "head/pooler"}) {
    const Operator* op = FindOperator(graph, name);
    ASSERT_NE(op, nullptr) << name;
    EXPECT_EQ(op->backward_flops, 2 * op->forward_flops) << name;
    EXPECT_EQ(op->backward_bytes_accessed, 2 * op->forward_bytes_accessed) << name;
  }
}

}  // namespace
}  // namespace planwright
