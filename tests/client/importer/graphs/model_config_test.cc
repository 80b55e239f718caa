#include "client/importer/graphs/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/importer/importer.h"
#include "client/library/error_details.h"
#include "core/zoo/zoo.h"

namespace planwright::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kLlama[] = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
  "intermediate_size": 14336, "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
  "vocab_size": 128256, "tie_word_embeddings": false, "torch_dtype": "bfloat16", "rope_theta": 500000.0})";

constexpr Workpiece kWorkpiece = {.sequence = 4096, .micro_batch = 2};

std::vector<std::string> ErrorsInConfig(const std::string& text, const Workpiece& workpiece = kWorkpiece) {
  std::vector<std::string> warnings;
  const auto name = ReadModelConfig(text, "config.json", workpiece, warnings);
  EXPECT_EQ(name.status().code(), absl::StatusCode::kInvalidArgument);
  std::vector<std::string> errors;
  for (const FieldViolation& violation : ErrorDetailsOf(name.status()).violations) {
    errors.push_back(violation.field + ": " + violation.description);
  }
  return errors;
}

std::string NameOf(const std::string& text, std::vector<std::string>* said = nullptr) {
  std::vector<std::string> warnings;
  const auto name = ReadModelConfig(text, "config.json", kWorkpiece, warnings);
  EXPECT_TRUE(name.ok()) << name.status();
  if (said != nullptr) *said = warnings;
  return name.ok() ? *name : "";
}

TEST(ModelConfigTest, LlamaBecomesATransformerOfTheZoo) {
  std::vector<std::string> warnings;
  EXPECT_EQ(NameOf(kLlama, &warnings),
            "zoo:transformer?kind=llama&layers=32&hidden=4096&heads=32&kv_heads=8&ffn=14336&vocab=128256&tied=no&"
            "dtype=bf16&sequence=4096&micro_batch=2");
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("is taken for zoo:transformer?kind=llama"),
                                    "config.json: does not matter here and is ignored: architectures, rope_theta"));
}

TEST(ModelConfigTest, Gpt2HasNamesOfItsOwn) {
  EXPECT_EQ(NameOf(R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257,
                       "n_inner": null})"),
            "zoo:transformer?kind=gpt&layers=12&hidden=768&heads=12&vocab=50257&tied=yes&sequence=4096&micro_batch=2");
}

TEST(ModelConfigTest, SaysWhatTheZooTakesDifferently) {
  std::vector<std::string> warnings;
  NameOf(R"({"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
             "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 32000, "sliding_window": 4096})",
         &warnings);
  EXPECT_THAT(warnings, ::testing::Contains(HasSubstr("without window")));
  NameOf(R"({"model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864, "num_attention_heads": 14,
             "num_hidden_layers": 24, "num_key_value_heads": 2, "vocab_size": 151936, "use_sliding_window": false,
             "sliding_window": 32768})",
         &warnings);
  EXPECT_THAT(warnings, ::testing::Contains(HasSubstr("biases of queries, keys and values")));
  EXPECT_THAT(warnings, ::testing::Not(::testing::Contains(HasSubstr("without window"))));
  NameOf(R"({"model_type": "gpt_neox", "hidden_size": 6144, "intermediate_size": 24576, "num_attention_heads": 64,
             "num_hidden_layers": 44, "vocab_size": 50432})",
         &warnings);
  EXPECT_THAT(warnings, ::testing::Contains(HasSubstr("rotary positions count as learned ones")));
}

TEST(ModelConfigTest, HeadsMayHaveAWidthOfTheirOwn) {
  std::vector<std::string> warnings;
  EXPECT_EQ(NameOf(R"({"model_type": "qwen3", "hidden_size": 5120, "intermediate_size": 25600, "head_dim": 128,
                       "num_attention_heads": 64, "num_hidden_layers": 64, "num_key_value_heads": 8,
                       "vocab_size": 151936, "tie_word_embeddings": false})",
                   &warnings),
            "zoo:transformer?kind=llama&layers=64&hidden=5120&heads=64&kv_heads=8&ffn=25600&vocab=151936&tied=no&"
            "head_norm=yes&head_width=128&sequence=4096&micro_batch=2");
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("is taken for")));
}

int64_t ParameterBytesOf(const std::string& name) {
  const auto graph = MakeZooModel(std::string_view(name).substr(std::string_view("zoo:").size()));
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return 0;
  int64_t bytes = 0;
  for (const Operator& op : graph->operators) bytes += op.parameter_bytes;
  return bytes;
}

TEST(ModelConfigTest, ModelsWithExpertsAreThoseOfTheZoo) {
  const std::string mixtral = NameOf(
      R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
          "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 32000, "num_local_experts": 8,
          "num_experts_per_tok": 2, "sliding_window": null, "tie_word_embeddings": false})");
  EXPECT_EQ(ParameterBytesOf(mixtral), ParameterBytesOf("zoo:mixtral-8x7b"));
  const std::string qwen = NameOf(
      R"({"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144, "num_attention_heads": 32,
          "num_hidden_layers": 48, "num_key_value_heads": 4, "vocab_size": 151936, "num_experts": 128, "head_dim": 128,
          "num_experts_per_tok": 8, "moe_intermediate_size": 768, "decoder_sparse_step": 1, "mlp_only_layers": [],
          "tie_word_embeddings": false})");
  EXPECT_EQ(ParameterBytesOf(qwen), ParameterBytesOf("zoo:qwen3-30b-a3b"));
  std::vector<std::string> warnings;
  const std::string deepseek = NameOf(
      R"({"model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432, "num_attention_heads": 128,
          "num_key_value_heads": 128, "num_hidden_layers": 61, "vocab_size": 129280, "n_routed_experts": 256,
          "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "n_shared_experts": 1, "first_k_dense_replace": 3,
          "moe_layer_freq": 1, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
          "qk_rope_head_dim": 64, "v_head_dim": 128, "num_nextn_predict_layers": 1, "tie_word_embeddings": false})",
      &warnings);
  EXPECT_EQ(ParameterBytesOf(deepseek), ParameterBytesOf("zoo:deepseek-v3"));
  EXPECT_THAT(warnings, ::testing::Contains(HasSubstr("behind the next one are not counted")));
}

TEST(ModelConfigTest, RefusesByNameWhatTheZooCannotExpress) {
  EXPECT_THAT(ErrorsInConfig(R"({"model_type": "llama", "num_local_experts": 8, "kv_lora_rank": 512})"),
              ElementsAre("num_local_experts: stands for experts, which cannot be read of llama",
                          "kv_lora_rank: stands for latent attention, which cannot be read of llama"));
  EXPECT_THAT(ErrorsInConfig(R"({"model_type": "qwen3_moe", "vision_config": {}})"),
              ElementsAre("vision_config: stands for a part for pictures, which cannot be read of qwen3_moe"));
  EXPECT_THAT(ErrorsInConfig(R"({"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144,
          "num_attention_heads": 32, "num_hidden_layers": 48, "num_key_value_heads": 4, "vocab_size": 151936,
          "num_experts": 128, "head_dim": 128, "num_experts_per_tok": 8, "decoder_sparse_step": 2,
          "mlp_only_layers": [3]})"),
              ElementsAre("moe_intermediate_size: is missing",
                          HasSubstr("decoder_sparse_step: leaves some layers behind the first ones without experts"),
                          HasSubstr("mlp_only_layers: leaves some layers behind the first ones without experts")));
  EXPECT_THAT(ErrorsInConfig(R"({"model_type": "mamba"})"),
              ElementsAre(HasSubstr("model_type: must be one of llama, mistral")));
}

TEST(ModelConfigTest, NamesEveryMistake) {
  EXPECT_THAT(ErrorsInConfig(R"({"model_type": "llama", "hidden_size": "big", "num_hidden_layers": 0, "vocab_size": 1.5,
                           "num_attention_heads": 32, "torch_dtype": "float8"})",
                             {}),
              ElementsAre(HasSubstr("num_hidden_layers: must be an integer from 1"),
                          HasSubstr("hidden_size: must be an integer"), "intermediate_size: is missing",
                          HasSubstr("vocab_size: must be an integer"),
                          "torch_dtype: must be float32, float16 or bfloat16, is \"float8\"",
                          HasSubstr("hidden_size: must be an integer"),
                          ": a config.json does not say sequence and micro-batch: add --sequence=N --micro_batch=N"));
  EXPECT_THAT(ErrorsInConfig(kLlama, {.sequence = 4096, .micro_batch = std::nullopt}),
              ElementsAre(": a config.json does not say micro-batch: add --micro_batch=N"));
}

TEST(ModelConfigTest, IsToldApartByItsContent) {
  const auto imported = ImportGraph(kLlama, "config.json", {.workpiece = kWorkpiece});
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(imported->request.graph_reference(), ::testing::StartsWith("zoo:transformer?kind=llama&layers=32"));
  EXPECT_THAT(
      std::string(ImportGraph(R"({"operators": [{"name": "a"}]})", "g", {.workpiece = kWorkpiece}).status().message()),
      HasSubstr("leave out --sequence and --micro_batch"));
  EXPECT_THAT(std::string(ImportGraph(kLlama, "g", {.ms_per_unit = 1}).status().message()),
              HasSubstr("leave out --time_unit"));
}

}  // namespace
}  // namespace planwright::client
