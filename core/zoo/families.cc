#include "core/zoo/families.h"

#include <cstdint>

namespace planwright {
namespace {

// Brown et al. 2020, table 2.1.
TransformerConfig Gpt3(int64_t layers, int64_t hidden, int64_t heads) {
  return {.layers = layers, .hidden = hidden, .heads = heads, .tied = true};
}

// Touvron et al. 2023, sections 2.2 and A.2.1.
TransformerConfig Llama2(int64_t layers, int64_t hidden, int64_t heads, int64_t kv_heads, int64_t feed_forward) {
  return {.kind = TransformerConfig::Kind::kLlama,
          .layers = layers,
          .hidden = hidden,
          .heads = heads,
          .kv_heads = kv_heads,
          .feed_forward = feed_forward,
          .vocabulary = 32'000,
          .tokens = 4'096};
}

// Grattafiori et al. 2024, table 3. The released models have 128,256 rows, the table says 128,000.
TransformerConfig Llama3(int64_t layers, int64_t hidden, int64_t heads, int64_t feed_forward) {
  TransformerConfig config = Llama2(layers, hidden, heads, 8, feed_forward);
  config.vocabulary = 128'256;
  config.tokens = 8'192;
  return config;
}

// Jiang et al. 2024 (Mixtral of Experts), table 1.
TransformerConfig Mixtral8x7b() {
  TransformerConfig config = Llama2(32, 4'096, 32, 8, 14'336);
  config.experts = 8;
  config.experts_per_token = 2;
  return config;
}

// DeepSeek-AI 2024 (DeepSeek-V3), section 4.2, without the module that predicts a second token.
TransformerConfig DeepSeekV3() {
  TransformerConfig config = Llama2(61, 7'168, 128, 128, 18'432);
  config.kv_heads.reset();
  config.vocabulary = 129'280;
  config.head_width = 128;
  config.experts = 256;
  config.experts_per_token = 8;
  config.expert_feed_forward = 2'048;
  config.shared_experts = 1;
  config.dense_layers = 3;
  config.query_rank = 1'536;
  config.kv_rank = 512;
  config.rope_width = 64;
  return config;
}

// Yang et al. 2025 (Qwen3), table 2, and the released configurations.
TransformerConfig Qwen3Experts(int64_t layers, int64_t hidden, int64_t heads, int64_t expert_feed_forward) {
  TransformerConfig config = Llama2(layers, hidden, heads, 4, expert_feed_forward);
  config.vocabulary = 151'936;
  config.head_width = 128;
  config.head_norm = true;
  config.experts = 128;
  config.experts_per_token = 8;
  return config;
}

AcceleratorConfig V100Sxm2() {
  return {.name = "v100-sxm2-32gb", .memory_gib = 32, .peak_tflops = 125, .memory_bandwidth_gb = 900};
}

}  // namespace

// Leaked, as every object that lives as long as the program.
const std::vector<Family<ModelConfig>>& ModelFamilies() {
  static const auto& families = *new std::vector<Family<ModelConfig>>{
      {"bert-base", "BERT-Base (110 M parameters, 12 layers) with a classification head",
       BertConfig{.layers = 12, .hidden = 768, .heads = 12}},
      {"bert-large", "BERT-Large (340 M parameters, 24 layers) with a classification head",
       BertConfig{.layers = 24, .hidden = 1'024, .heads = 16}},
      {"transformer", "decoder-only language model of any shape", TransformerConfig{}},
      {"gpt-125m", "GPT-3 Small (125 M parameters)", Gpt3(12, 768, 12)},
      {"gpt-350m", "GPT-3 Medium (356 M parameters)", Gpt3(24, 1'024, 16)},
      {"gpt-760m", "GPT-3 Large (760 M parameters)", Gpt3(24, 1'536, 16)},
      // The table has 24 heads of 128, which is not the hidden size; 16 heads of 128 are.
      {"gpt-1.3b", "GPT-3 XL (1.3 G parameters)", Gpt3(24, 2'048, 16)},
      {"gpt-2.7b", "GPT-3 2.7B", Gpt3(32, 2'560, 32)},
      {"gpt-6.7b", "GPT-3 6.7B", Gpt3(32, 4'096, 32)},
      // The table has hidden size 5,140, which is not 40 heads of 128; 5,120 is.
      {"gpt-13b", "GPT-3 13B", Gpt3(40, 5'120, 40)},
      {"gpt-175b", "GPT-3 175B", Gpt3(96, 12'288, 96)},
      {"llama2-7b", "Llama 2 7B", Llama2(32, 4'096, 32, 32, 11'008)},
      {"llama2-13b", "Llama 2 13B", Llama2(40, 5'120, 40, 40, 13'824)},
      {"llama2-70b", "Llama 2 70B", Llama2(80, 8'192, 64, 8, 28'672)},
      {"llama3-8b", "Llama 3 8B", Llama3(32, 4'096, 32, 14'336)},
      {"llama3-70b", "Llama 3 70B", Llama3(80, 8'192, 64, 28'672)},
      {"llama3-405b", "Llama 3.1 405B", Llama3(126, 16'384, 128, 53'248)},
      {"mixtral-8x7b", "Mixtral 8x7B (46.7 G parameters, 2 of 8 experts per token)", Mixtral8x7b()},
      {"deepseek-v3", "DeepSeek-V3 (671 G parameters, 8 of 256 experts per token) with latent attention", DeepSeekV3()},
      {"qwen3-30b-a3b", "Qwen3 30B-A3B (8 of 128 experts per token)", Qwen3Experts(48, 2'048, 32, 768)},
      {"qwen3-235b-a22b", "Qwen3 235B-A22B (8 of 128 experts per token)", Qwen3Experts(94, 4'096, 64, 1'536)},
      {"resnet50", "ResNet-50 v1.5 (25.6 M parameters)", ResNetConfig{}},
      {"resnet101", "ResNet-101 v1.5 (44.5 M parameters)", ResNetConfig{.blocks = {3, 4, 23, 3}}},
      {"resnet152", "ResNet-152 v1.5 (60.2 M parameters)", ResNetConfig{.blocks = {3, 8, 36, 3}}},
      {"inception-v3", "Inception-v3 (27.2 M parameters) with its auxiliary classifier", InceptionConfig{}},
      {"densenet121", "DenseNet-121 (8.0 M parameters)", DenseNetConfig{}},
      {"vgg16", "VGG-16 (138.4 M parameters)", VggConfig{}},
      {"swin-t", "Swin-T (28.3 M parameters)", SwinConfig{}},
      {"swin-s", "Swin-S (49.6 M parameters)", SwinConfig{.blocks = {2, 2, 18, 2}}},
      {"swin-b", "Swin-B (87.8 M parameters)", SwinConfig{.blocks = {2, 2, 18, 2}, .heads = {4, 8, 16, 32}}},
      {"swin-l", "Swin-L (196.5 M parameters)", SwinConfig{.blocks = {2, 2, 18, 2}, .heads = {6, 12, 24, 48}}},
      {"semantic-fpn", "Semantic FPN with ResNet-101 (47.5 M parameters) on images of 512 x 1,024",
       SemanticFpnConfig{}},
      {"gnmt", "GNMT v2 (160 M parameters): LSTM encoder and decoder with attention", GnmtConfig{}},
  };
  return families;
}

const std::vector<Family<ClusterConfig>>& ClusterFamilies() {
  static const auto& families = *new std::vector<Family<ClusterConfig>>{
      {"dgx1-v100",
       "N DGX-1 of 8 V100 32 GB; one: uniform, one NVLink for every pair (the cube mesh is not uniform); more: a "
       "hierarchy",
       NodesConfig{.accelerator = V100Sxm2(), .inside = {.gb = 20, .us = 5}, .between = {.gb = 12, .us = 10}}},
      {"dgx1-mesh", "N DGX-1 of 8 V100 32 GB with the hybrid cube mesh: pairs with two, one and no NVLink",
       CubeMeshConfig{.accelerator = V100Sxm2()}},
      {"dgx-a100", "N DGX A100 of 8 A100 80 GB; one: uniform over NVSwitch; more: a hierarchy",
       NodesConfig{.accelerator =
                       {.name = "a100-sxm4-80gb", .memory_gib = 80, .peak_tflops = 312, .memory_bandwidth_gb = 2'039},
                   .inside = {.gb = 240, .us = 5},
                   .between = {.gb = 24, .us = 10}}},
      {"dgx-h100", "N DGX H100 of 8 H100 80 GB; one: uniform over NVSwitch; more: a hierarchy",
       NodesConfig{.accelerator =
                       {.name = "h100-sxm5-80gb", .memory_gib = 80, .peak_tflops = 989, .memory_bandwidth_gb = 3'350},
                   .inside = {.gb = 370, .us = 5},
                   .between = {.gb = 48, .us = 10}}},
      {"gb200-nvl72", "N GB200 NVL72 racks of 72 B200 186 GB; one: uniform over NVSwitch; more: a hierarchy",
       NodesConfig{.accelerator =
                       {.name = "gb200-186gb", .memory_gib = 173, .peak_tflops = 2'500, .memory_bandwidth_gb = 8'000},
                   .devices = 72,
                   .inside = {.gb = 721, .us = 5},
                   .between = {.gb = 48, .us = 10}}},
      {"nodes", "N nodes alike of any accelerators; one: uniform; more: a hierarchy", NodesConfig{}},
      {"mesh2d", "N rows of N accelerators, neighbours joined", GridConfig{}},
      {"torus2d", "the same, each row and column a ring", GridConfig{.wrap_around = true}},
      {"mesh3d", "N layers of N rows of N accelerators, neighbours joined", GridConfig{.is_cube = true}},
      {"torus3d", "the same, rings in all three directions", GridConfig{.wrap_around = true, .is_cube = true}},
      {"fat-tree", "N pods of racks of nodes of accelerators under a tree of switches", FatTreeConfig{}},
      {"dragonfly", "N groups of routers with accelerators; routers of a group and groups are joined pair by pair",
       DragonflyConfig{}},
      {"random-blk1", "N accelerators in blocks of 8, each block and each two blocks of a random bandwidth",
       RandomConfig{.family = RandomFamily::kBlocksAlike}},
      {"random-blk2", "N accelerators in blocks of 2 to 16, no two pairs alike",
       RandomConfig{.family = RandomFamily::kBlocksVaried}},
      {"random-uniform", "N accelerators, every pair of a random bandwidth",
       RandomConfig{.family = RandomFamily::kUniform}},
      {"pcie", "one host with a CPU and N V100 16 GB on PCI Express 3.0 x16, staged through host memory",
       PcieConfig{.accelerator =
                      {.name = "v100-pcie-16gb", .memory_gib = 16, .peak_tflops = 112, .memory_bandwidth_gb = 900}}},
  };
  return families;
}

}  // namespace planwright
