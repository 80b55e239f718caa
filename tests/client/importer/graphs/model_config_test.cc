#include "client/importer/graphs/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/importer/importer.h"
#include "client/library/error_details.h"

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

TEST(ModelConfigTest, RefusesByNameWhatTheZooCannotExpress) {
  EXPECT_THAT(ErrorsInConfig(R"({"model_type": "mixtral", "num_local_experts": 8})"),
              ElementsAre("num_local_experts: stands for experts, which the zoo cannot express yet"));
  EXPECT_THAT(ErrorsInConfig(R"({"model_type": "deepseek_v3", "n_routed_experts": 256, "kv_lora_rank": 512})"),
              ElementsAre("n_routed_experts: stands for experts, which the zoo cannot express yet",
                          "kv_lora_rank: stands for latent attention, which the zoo cannot express yet"));
  EXPECT_THAT(ErrorsInConfig(R"({"model_type": "mamba"})"),
              ElementsAre(HasSubstr("model_type: must be one of llama, mistral")));
  EXPECT_THAT(
      ErrorsInConfig(R"({"model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 3072,
                           "num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 8,
                           "vocab_size": 151936, "head_dim": 128})"),
      ElementsAre(HasSubstr("head_dim: must be hidden_size / num_attention_heads, is 128 of 16 heads and 1024")));
}

TEST(ModelConfigTest, NamesEveryMistake) {
  EXPECT_THAT(ErrorsInConfig(R"({"model_type": "llama", "hidden_size": "big", "num_hidden_layers": 0, "vocab_size": 1.5,
                           "num_attention_heads": 32, "torch_dtype": "float8"})",
                             {}),
              ElementsAre(HasSubstr("num_hidden_layers: must be an integer from 1"),
                          HasSubstr("hidden_size: must be an integer"), "intermediate_size: is missing",
                          HasSubstr("vocab_size: must be an integer"),
                          "torch_dtype: must be float32, float16 or bfloat16, is \"float8\"",
                          HasSubstr("hidden_size: must be an integer"), HasSubstr("--sequence: is missing"),
                          HasSubstr("--micro_batch: is missing")));
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
