#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

#include "core/zoo/models/language_models.h"
#include "core/zoo/zoo.h"
#include "tests/core/zoo/graph_totals.h"

namespace planwright {
namespace {

int64_t ParametersOf(const std::string& name) { return TotalParameters(MakeZooModel(name).value(), 2); }

// Released checkpoints with their own vocabulary and positions.
TEST(TransformerTest, HasTheParametersOfReleasedCheckpoints) {
  // Radford et al. 2019 (GPT-2): parameters of "gpt2", "-medium", "-large" and "-xl" on Hugging Face; 1,024 positions.
  EXPECT_EQ(ParametersOf("gpt-125m?sequence=1024"), 124'439'808);
  EXPECT_EQ(ParametersOf("gpt-350m?sequence=1024"), 354'823'168);
  EXPECT_EQ(ParametersOf("transformer?layers=36&hidden=1280&heads=20&sequence=1024&tied=yes"), 774'030'080);
  EXPECT_EQ(ParametersOf("transformer?layers=48&hidden=1600&heads=25&sequence=1024&tied=yes"), 1'557'611'200);
  // Zhang et al. 2022 (OPT), facebook/opt-*: 50,272 words, 2,050 positions.
  EXPECT_EQ(ParametersOf("gpt-125m?vocab=50272&sequence=2050"), 125'239'296);
  EXPECT_EQ(ParametersOf("gpt-1.3b?vocab=50272&sequence=2050"), 1'315'758'080);
  EXPECT_EQ(ParametersOf("gpt-2.7b?vocab=50272&sequence=2050"), 2'651'596'800);
  EXPECT_EQ(ParametersOf("gpt-6.7b?vocab=50272&sequence=2050"), 6'658'473'984);
  EXPECT_EQ(ParametersOf("gpt-13b?vocab=50272&sequence=2050"), 12'853'473'280);
  // meta-llama/Llama-2-{7,13,70}b-hf, Meta-Llama-3-{8,70}B and Llama-3.1-405B.
  EXPECT_EQ(ParametersOf("llama2-7b"), 6'738'415'616);
  EXPECT_EQ(ParametersOf("llama2-13b"), 13'015'864'320);
  EXPECT_EQ(ParametersOf("llama2-70b"), 68'976'648'192);
  EXPECT_EQ(ParametersOf("llama3-8b"), 8'030'261'248);
  EXPECT_EQ(ParametersOf("llama3-70b"), 70'553'706'496);
  EXPECT_EQ(ParametersOf("llama3-405b"), 405'853'388'800);
  // mistralai/Mixtral-8x7B-v0.1, Qwen/Qwen3-30B-A3B and Qwen3-235B-A22B.
  EXPECT_EQ(ParametersOf("mixtral-8x7b"), 46'702'792'704);
  EXPECT_EQ(ParametersOf("qwen3-30b-a3b"), 30'532'122'624);
  EXPECT_EQ(ParametersOf("qwen3-235b-a22b"), 235'093'634'560);
  // deepseek-ai/DeepSeek-V3: 671,026,419,200 with 256 biases of the routing in each of 58 layers.
  EXPECT_EQ(ParametersOf("deepseek-v3"), 671'026'419'200 - int64_t{58} * 256);
}

// Brown et al. 2020, table 2.1, column n_params. The table rounds; where its own shape is further than 1 % from the
// rounded figure (350M, 1.3B, 2.7B, 13B), the checkpoints above say more.
TEST(TransformerTest, HasTheParametersOfTheGpt3Table) {
  const auto near = [](const std::string& name, double published, double share) {
    EXPECT_NEAR(static_cast<double>(ParametersOf(name)), published, share * published) << name;
  };
  near("gpt-125m", 125e6, 0.01);
  near("gpt-350m", 350e6, 0.02);
  near("gpt-760m", 760e6, 0.01);
  near("gpt-1.3b", 1.3e9, 0.02);
  near("gpt-2.7b", 2.7e9, 0.02);
  near("gpt-6.7b", 6.7e9, 0.01);
  near("gpt-13b", 13e9, 0.02);
  near("gpt-175b", 175e9, 0.01);
}

// Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM (2021), appendix:
// a forward pass takes 24 B s l h^2 (1 + s / (6 h) + V / (12 l h)) FLOPs, the head included.
TEST(TransformerTest, HasTheFlopsOfThePublishedFormula) {
  struct Case {
    std::string name;
    double layers = 0;
    double hidden = 0;
    double tokens = 0;
    double sequences = 0;
  };
  for (const auto& [name, l, h, s, b] :
       {Case{"gpt-125m?micro_batch=4", 12, 768, 2'048, 4}, Case{"gpt-1.3b?sequence=1024", 24, 2'048, 1'024, 1},
        Case{"gpt-175b?attention=unfused", 96, 12'288, 2'048, 1}}) {
    const double flops = 24 * b * s * l * h * h * (1 + s / (6 * h) + 50'257 / (12 * l * h));
    EXPECT_NEAR(2 * ContractionMultiplyAdds(MakeZooModel(name).value()), flops, 1e-9 * flops) << name;
  }
}

// Kaplan et al. 2020: about 6 N FLOPs per token of training, N parameters without the embedding.
TEST(TransformerTest, TrainsInAboutSixFlopsPerParameterAndToken) {
  for (const char* name : {"llama2-7b?sequence=512", "llama2-70b?sequence=512", "llama3-405b?sequence=512"}) {
    const OperatorGraph graph = MakeZooModel(name).value();
    double flops = 0;
    for (const Operator& op : graph.operators) flops += op.forward_flops + op.backward_flops;
    const Operator* embedding = FindOperator(graph, "embedding/word");
    ASSERT_NE(embedding, nullptr);
    const int64_t table = embedding->parameter_bytes / 2;
    const auto parameters = static_cast<double>(TotalParameters(graph, 2) - table);
    EXPECT_NEAR(flops / (6 * parameters * 512), 1, 0.03) << name;
  }
}

// Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models (2022): s b h (34 + 5 a s / h)
// bytes per layer (equation 1). Selective recomputation, which fused attention is, leaves 34 s b h (equation 6); the
// fused kernel keeps 4 bytes per position and head besides.
TEST(TransformerTest, KeepsThePublishedActivationBytesPerLayer) {
  const int64_t s = 2'048;
  const int64_t b = 4;
  const int64_t h = 1'024;
  const int64_t a = 16;
  const OperatorGraph unfused = MakeZooModel("gpt-350m?micro_batch=4&attention=unfused").value();
  EXPECT_EQ(KeptBytes(unfused, "layer.7"), 34 * s * b * h + 5 * a * s * s * b);
  const OperatorGraph fused = MakeZooModel("gpt-350m?micro_batch=4").value();
  EXPECT_EQ(KeptBytes(fused, "layer.7"), 34 * s * b * h + 4 * a * s * b);
}

TEST(TransformerTest, CountsOperatorsPerLayer) {
  const auto per_layer = [](const std::string& keys) {
    return MakeZooModel("transformer?layers=3" + keys)->operators.size() -
           MakeZooModel("transformer?layers=2" + keys)->operators.size();
  };
  EXPECT_EQ(per_layer(""), 14U);
  EXPECT_EQ(per_layer("&attention=unfused"), 18U);
  EXPECT_EQ(per_layer("&kind=llama"), 16U);
  EXPECT_EQ(per_layer("&kind=llama&attention=unfused"), 19U);
}

TEST(TransformerTest, LabelsEmbeddingLayersHeadAndLoss) {
  const OperatorGraph graph = MakeZooModel("transformer?layers=2").value();
  std::set<std::string> layers;
  for (const Operator& op : graph.operators) layers.insert(op.layer);
  EXPECT_THAT(layers, ::testing::ElementsAre("embedding", "head", "layer.0", "layer.1", "loss"));
  const Operator* head = FindOperator(graph, "head/vocabulary");
  ASSERT_NE(head, nullptr);
  EXPECT_EQ(head->parameter_bytes, 2 * 50'257 * 768);
}

TEST(TransformerTest, TiesTheHeadToTheEmbedding) {
  const int64_t table = int64_t{50'257} * 768;
  EXPECT_EQ(ParametersOf("transformer") - ParametersOf("transformer?tied=yes"), table);
  const OperatorGraph tied = MakeZooModel("transformer?tied=yes").value();
  const OperatorGraph untied = MakeZooModel("transformer").value();
  const Operator* copy = FindOperator(tied, "head/vocabulary");
  const Operator* own = FindOperator(untied, "head/vocabulary");
  ASSERT_NE(copy, nullptr);
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(copy->workspace_bytes - own->workspace_bytes, 4 * table);
  EXPECT_EQ(copy->forward_flops, own->forward_flops);
}

TEST(TransformerTest, SharesKeysAndValuesAmongHeads) {
  const OperatorGraph fused = MakeZooModel("llama3-8b").value();
  const OperatorGraph unfused = MakeZooModel("llama3-8b?attention=unfused").value();
  const Operator* key = FindOperator(fused, "layer.0/key");
  ASSERT_NE(key, nullptr);
  EXPECT_EQ(key->parameter_bytes, 2 * 4'096 * 8 * 128);
  EXPECT_DOUBLE_EQ(ContractionMultiplyAdds(fused), ContractionMultiplyAdds(unfused));
}

// A model of 61 layers as issue 3 writes it.
TEST(TransformerTest, TakesAnyShape) {
  const OperatorGraph graph =
      MakeZooModel("transformer?layers=61&hidden=7168&heads=128&vocab=129280&sequence=4096&micro_batch=1&dtype=bf16")
          .value();
  EXPECT_EQ(graph.operators.size(), 61U * 14 + 9);
  const int64_t h = 7'168;
  const int64_t layer = 12 * h * h + 13 * h;
  EXPECT_EQ(TotalParameters(graph, 2), 61 * layer + (2 * 129'280 + 4'096 + 2) * h);
}

// A token passes through its experts' share of the products: Mixtral's 12.9 G and DeepSeek-V3's 37 G active parameters.
TEST(TransformerTest, CountsTheExpertsThatATokenVisits) {
  const auto active = [](const std::string& name) {
    const OperatorGraph graph = MakeZooModel(name + "?sequence=1").value();
    double flops = 0;
    for (const Operator& op : graph.operators) {
      if (op.type == "Linear" || op.type == "GroupedLinear") flops += op.forward_flops;
    }
    return flops / 2 + static_cast<double>(FindOperator(graph, "embedding/word")->parameter_bytes) / 2;
  };
  EXPECT_NEAR(active("mixtral-8x7b"), 12.9e9, 0.01 * 12.9e9);
  EXPECT_NEAR(active("deepseek-v3"), 37e9, 0.02 * 37e9);
  EXPECT_NEAR(active("qwen3-30b-a3b"), 3.3e9, 0.02 * 3.3e9);
  EXPECT_NEAR(active("qwen3-235b-a22b"), 22e9, 0.02 * 22e9);
}

// DeepSeek-V2, section 2.1: a head multiplies 192 elements for its scores and 128 for its sums; its keys with positions
// are one head.
TEST(TransformerTest, CompressesKeysAndValues) {
  const OperatorGraph graph = MakeZooModel("deepseek-v3").value();
  const Operator* attention = FindOperator(graph, "layer.0/attention");
  ASSERT_NE(attention, nullptr);
  EXPECT_DOUBLE_EQ(attention->forward_flops, 2.0 * 4'096 * 4'096 * 128 * (192 + 128));
  EXPECT_EQ(FindOperator(graph, "layer.0/shared_key")->parameter_bytes, 2 * 7'168 * 64);
  EXPECT_EQ(FindOperator(graph, "layer.0/router"), nullptr);
  EXPECT_NE(FindOperator(graph, "layer.3/router"), nullptr);
  const OperatorGraph unfused = MakeZooModel("deepseek-v3?attention=unfused").value();
  EXPECT_DOUBLE_EQ(ContractionMultiplyAdds(graph), ContractionMultiplyAdds(unfused));
}

TEST(TransformerTest, RefusesExpertsThatCannotBe) {
  for (const char* keys :
       {"experts=4&experts_per_token=8", "shared_experts=1", "dense_layers=2", "experts=8&dense_layers=13",
        "experts=65536&expert_ffn=4096", "q_rank=8", "rope_width=8", "kind=gpt&kv_rank=8",
        "kind=llama&kv_rank=8&kv_heads=4", "experts=2&layers=30001", "heads=1024&head_width=65536"}) {
    const auto graph = MakeZooModel(std::string("transformer?") + keys);
    EXPECT_EQ(graph.status().code(), absl::StatusCode::kInvalidArgument) << keys;
  }
}

TEST(TransformerTest, GivesTheShapeOfAMixtureOfExperts) {
  const std::optional<TransformerShape> deepseek = TransformerShapeOf("deepseek-v3?expert_load=1.2&fp8=yes");
  ASSERT_TRUE(deepseek.has_value());
  EXPECT_EQ(deepseek->experts, 256);
  EXPECT_EQ(deepseek->experts_per_token, 8);
  EXPECT_EQ(deepseek->expert_feed_forward, 2'048);
  EXPECT_EQ(deepseek->shared_experts, 1);
  EXPECT_EQ(deepseek->dense_layers, 3);
  EXPECT_EQ(deepseek->feed_forward, 18'432);
  EXPECT_EQ(deepseek->value_width, 128);
  EXPECT_DOUBLE_EQ(deepseek->expert_load, 1.2);
  EXPECT_TRUE(deepseek->eight_bit_products);
}

TEST(TransformerTest, GivesTheShapeOfAName) {
  const std::optional<TransformerShape> llama = TransformerShapeOf("llama3-70b?sequence=4096");
  ASSERT_TRUE(llama.has_value());
  EXPECT_EQ(llama->layers, 80);
  EXPECT_EQ(llama->hidden, 8'192);
  EXPECT_EQ(llama->heads, 64);
  EXPECT_EQ(llama->kv_heads, 8);
  EXPECT_EQ(llama->head_width, 128);
  EXPECT_EQ(llama->feed_forward, 28'672);
  EXPECT_EQ(llama->vocabulary, 128'256);
  EXPECT_EQ(llama->sequence, 4'096);
  EXPECT_TRUE(llama->gated);
  EXPECT_FALSE(llama->tied);
  const std::optional<TransformerShape> gpt = TransformerShapeOf("gpt-1.3b?attention=unfused");
  ASSERT_TRUE(gpt.has_value());
  EXPECT_EQ(gpt->feed_forward, 8'192);
  EXPECT_TRUE(gpt->tied && gpt->dropout && gpt->learned_positions && gpt->stores_scores);
  EXPECT_FALSE(gpt->gated);
}

TEST(TransformerTest, GivesNoShapeOfOtherNames) {
  for (const char* name : {"resnet50", "llama", "llama3-8b:2", "llama3-8b?heads=7", "llama3-8b?head=8", ""}) {
    EXPECT_FALSE(TransformerShapeOf(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace planwright
