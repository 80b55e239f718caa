#include <gtest/gtest.h>

#include "core/zoo/models/language_models.h"
#include "tests/core/zoo/graph_totals.h"

namespace planwright {
namespace {

// "Number of parameters: 159593523" in the training logs of NVIDIA's DeepLearningExamples, PyTorch/Translation/GNMT
// (v2, 4 layers, hidden 1,024, the 31,794 tokens of WMT16 English-German with 32,000 merges).
TEST(GnmtTest, HasThePublishedParameters) {
  EXPECT_EQ(TotalParameters(MakeModel("gnmt", GnmtConfig{}), 2), 159'593'523);
}

// A layer of the encoder has 4 h (2 h + 2) parameters; one of the decoder reads the context too, 4 h (3 h + 2).
TEST(GnmtTest, GrowsByTheClosedFormulaPerLayer) {
  const int64_t h = 1'024;
  const int64_t four = TotalParameters(MakeModel("gnmt", GnmtConfig{.layers = 4}), 2);
  const int64_t eight = TotalParameters(MakeModel("gnmt", GnmtConfig{.layers = 8}), 2);
  EXPECT_EQ(eight - four, 4 * (4 * h * (2 * h + 2) + 4 * h * (3 * h + 2)));
}

// Multiply-adds of a token of either side: one per weight of the layers, the attention's projections and the
// classifier; the context takes h per pair of positions.
TEST(GnmtTest, HasTheFlopsOfTheClosedFormula) {
  const GnmtConfig config;
  const auto h = static_cast<double>(config.hidden);
  const auto vocabulary = static_cast<double>(config.vocabulary);
  const auto s = static_cast<double>(config.tokens);
  const double encoder = 2 * 8 * h * h + 12 * h * h + 2 * 8 * h * h;
  const double decoder = 8 * h * h + 3 * 12 * h * h;
  const double per_token = encoder + decoder + 2 * h * h + s * h + h * vocabulary;
  EXPECT_DOUBLE_EQ(ContractionMultiplyAdds(MakeModel("gnmt", config)),
                   static_cast<double>(config.sentence_pairs) * s * per_token);
}

TEST(GnmtTest, SharesTheEmbeddingTableAndTheContext) {
  const OperatorGraph graph = MakeModel("gnmt", GnmtConfig{});
  const Operator* source = FindOperator(graph, "source_embedding/table");
  const Operator* target = FindOperator(graph, "target_embedding/table");
  ASSERT_NE(source, nullptr);
  ASSERT_NE(target, nullptr);
  EXPECT_EQ(source->parameter_bytes, 2 * 31'794 * 1'024);
  EXPECT_EQ(target->parameter_bytes, 0);
  EXPECT_GT(target->workspace_bytes, 2 * source->parameter_bytes);
  const auto context = std::ranges::find(graph.tensors, "decoder.0/attention_context", &Tensor::name);
  ASSERT_NE(context, graph.tensors.end());
  EXPECT_EQ(context->consumers.size(), 3U);
}

}  // namespace
}  // namespace planwright
