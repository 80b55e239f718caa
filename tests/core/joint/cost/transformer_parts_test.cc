#include "core/joint/cost/transformer_parts.h"

#include <gtest/gtest.h>

#include <string>

#include "core/joint/cost/transformer_pricer.h"
#include "core/zoo/zoo.h"
#include "tests/core/joint/cost/pricing.h"

namespace planwright {
namespace {

// The graph of a model counts its parameters one by one.
TEST(TransformerPartsTest, HasTheParametersOfTheGraph) {
  for (const char* name :
       {"gpt-175b", "llama2-70b", "llama3-405b", "mixtral-8x7b", "deepseek-v3", "qwen3-30b-a3b", "qwen3-235b-a22b"}) {
    double graph = 0;
    const OperatorGraph model = MakeZooModel(name).value();
    for (const Operator& op : model.operators) graph += static_cast<double>(op.parameter_bytes) / 2;
    EXPECT_NEAR(ParameterCount(TransformerShapeOf(name).value()) / graph, 1, 0.001) << name;
  }
}

TEST(TransformerPartsTest, ProductsHaveTheFlopsOfTheModel) {
  for (const char* name : {"gpt-1.3b", "llama3-8b", "mixtral-8x7b", "deepseek-v3"}) {
    const TransformerShape shape = TransformerShapeOf(name).value();
    for (const LayerKind kind : {kDenseLayer, kExpertLayer, kHeadLayer}) {
      if (kind == kExpertLayer && !shape.has_experts()) continue;
      double flops = 0;
      for (const MatrixProduct& product : ProductsOf(shape, kind, {}, 1)) flops += product.flops();
      if (kind != kHeadLayer) flops += AttentionFlopsPerToken(shape);
      EXPECT_NEAR(flops / ForwardFlopsPerToken(shape, kind), 1, 1e-6) << name << " " << kind;
    }
  }
}

// Narayanan et al. 2021, equation 3 without recomputation and with half of the square of attention.
TEST(TransformerPartsTest, HasThePublishedFlopsPerSample) {
  const double l = 96;
  const double h = 12'288;
  const double s = 2'048;
  const double v = 51'200;
  const Cluster cluster = ClusterOf(PerfectEfficiency());
  const TransformerPricer pricer(GptShape(96, 12'288, 96), cluster, kInside, kBetween);
  const double flops = 72 * s * l * h * h * (1 + s / (12 * h) + v / (12 * l * h));
  EXPECT_NEAR(pricer.flops_per_sample() / flops, 1, 1e-9);
}

TEST(TransformerPartsTest, LatentAttentionGathersLatentVectors) {
  const TransformerShape shape = TransformerShapeOf("deepseek-v3").value();
  EXPECT_EQ(GatheredWidth(shape), 1'536 + 512 + 64);
  EXPECT_EQ(KeyValueWidth(shape, 2), 128 * (192 + 128) / 2);
}

TEST(TransformerPartsTest, ExpertsMeetTheTokensOfAllRanks) {
  const TransformerShape shape = ExpertShape();
  // 2 of 16 experts for each of 64 tokens: 8 rows each at home, 64 where 8 ranks share the experts out.
  const auto rows = [&](int32_t expert) { return ProductsOf(shape, kExpertLayer, {.expert = expert}, 64).back(); };
  EXPECT_EQ(rows(1).rows, 8);
  EXPECT_EQ(rows(1).copies, 16);
  EXPECT_EQ(rows(8).rows, 64);
  EXPECT_EQ(rows(8).copies, 2);
}

}  // namespace
}  // namespace planwright
