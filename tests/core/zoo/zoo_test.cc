#include "core/zoo/zoo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <tuple>

#include "core/base/violations.h"
#include "core/model/validator.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;

// Everything of an operator that costs.
auto CostOf(const Operator& op) {
  return std::tuple(op.name, op.forward_flops, op.backward_flops, op.forward_bytes_accessed, op.backward_bytes_accessed,
                    op.parameter_bytes, op.activation_bytes);
}

template <typename T>
std::string MessageOf(const absl::StatusOr<T>& result) {
  return std::string(result.status().message());
}

std::vector<std::string_view> NamesIn(std::span<const ZooEntry> entries) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const ZooEntry& entry : entries) {
    EXPECT_FALSE(entry.description.empty());
    names.push_back(entry.name);
  }
  return names;
}

TEST(ZooTest, ListsWhatItCanMake) {
  EXPECT_THAT(NamesIn(ZooModels()),
              ElementsAre("bert-base", "bert-large", "transformer", "gpt-125m", "gpt-350m", "gpt-760m", "gpt-1.3b",
                          "gpt-2.7b", "gpt-6.7b", "gpt-13b", "gpt-175b", "llama2-7b", "llama2-13b", "llama2-70b",
                          "llama3-8b", "llama3-70b", "llama3-405b", "mixtral-8x7b", "deepseek-v3", "qwen3-30b-a3b",
                          "qwen3-235b-a22b", "resnet50", "resnet101", "resnet152", "inception-v3", "densenet121",
                          "vgg16", "swin-t", "swin-s", "swin-b", "swin-l", "semantic-fpn", "gnmt"));
  EXPECT_THAT(NamesIn(ZooClusters()),
              ElementsAre("dgx1-v100:N", "dgx1-mesh:N", "dgx-a100:N", "dgx-h100:N", "gb200-nvl72:N", "nodes:N",
                          "mesh2d:N", "torus2d:N", "mesh3d:N", "torus3d:N", "fat-tree:N", "dragonfly:N",
                          "random-blk1:N", "random-blk2:N", "random-uniform:N", "pcie:N"));
}

TEST(ZooTest, DescribesKeysAndDefaults) {
  const auto description = [](std::span<const ZooEntry> entries, std::string_view name) {
    return std::ranges::find(entries, name, &ZooEntry::name)->description;
  };
  EXPECT_EQ(
      description(ZooModels(), "llama2-70b"),
      "Llama 2 70B; keys: kind=llama layers=80 hidden=8192 heads=64 kv_heads=8 ffn=28672 vocab=32000 "
      "sequence=4096 micro_batch=1 dtype=bf16 tied=no attention=fused head_width=hidden/heads head_norm=no "
      "experts=0 experts_per_token=1 expert_ffn=ffn shared_experts=0 dense_layers=0 expert_load=1 q_rank=0 kv_rank=0 "
      "rope_width=0 value_width=head_width fp8=no");
  EXPECT_EQ(description(ZooModels(), "vgg16"), "VGG-16 (138.4 M parameters); keys: batch=32 image=224 dtype=bf16");
  EXPECT_EQ(description(ZooClusters(), "pcie:N"),
            "one host with a CPU and N V100 16 GB on PCI Express 3.0 x16, staged through host memory; keys: "
            "memory_gib=16 peak_tflops=112 memory_bandwidth_gb=900 compute_efficiency=0.5 kernel_overhead_us=5 "
            "host_gb=12 host_us=10");
}

// Each key of each architecture at least once, and the corners of some domains.
constexpr auto kVariants = std::to_array<const char*>({
    "bert-base?sequence=1&micro_batch=1&dtype=fp32",
    "bert-large?micro_batch=65536",
    "transformer?kind=llama&layers=2&hidden=96&heads=6&kv_heads=2&ffn=100&vocab=7&sequence=5&micro_batch=3",
    "transformer?layers=1&hidden=1&heads=1&ffn=1&vocab=1&sequence=1&attention=unfused",
    "transformer?layers=2&hidden=1048576&heads=1024&ffn=4194304&vocab=4194304&sequence=1048576&micro_batch=16&dtype="
    "fp32&attention=unfused",
    "gpt-175b?sequence=8192&dtype=fp32&tied=no",
    "llama3-405b?kind=gpt&attention=unfused",
    "resnet50?batch=1&image=32&dtype=fp32",
    "resnet152?batch=65536&image=4096",
    "inception-v3?batch=65536&image=4096&dtype=fp32",
    "densenet121?image=32",
    "densenet121?image=4096&batch=65536&dtype=fp32",
    "vgg16?image=32",
    "vgg16?image=4096&batch=65536&dtype=fp32",
    "swin-t?image=4096&window=128&batch=65536&dtype=fp32",
    "swin-l?image=384&window=12&batch=1",
    "semantic-fpn?height=32&width=64&batch=1&classes=150&dtype=fp32",
    "semantic-fpn?height=4096&width=4096&batch=65536&classes=1024&dtype=fp32",
    "gnmt?layers=2&hidden=1&vocab=1&sequence=1&batch=1",
    "gnmt?layers=3&hidden=65536&vocab=4194304&sequence=65536&batch=65536&dtype=fp32",
});

TEST(ZooTest, MakesEveryListedModelTheSameEachTime) {
  for (const ZooEntry& entry : ZooModels()) {
    const absl::StatusOr<OperatorGraph> first = MakeZooModel(entry.name);
    const absl::StatusOr<OperatorGraph> second = MakeZooModel(entry.name);
    ASSERT_TRUE(first.ok()) << first.status();
    ASSERT_TRUE(second.ok()) << second.status();
    EXPECT_EQ(first->display_name, entry.name);
    ASSERT_EQ(first->operators.size(), second->operators.size());
    for (std::size_t op = 0; op < first->operators.size(); ++op) {
      EXPECT_EQ(CostOf(first->operators[op]), CostOf(second->operators[op]));
    }
  }
}

TEST(ZooTest, ModelsAndClustersAreValid) {
  Violations violations;
  for (const ZooEntry& entry : ZooModels()) ValidateGraph(MakeZooModel(entry.name).value(), {}, violations);
  for (const char* name : kVariants) ValidateGraph(MakeZooModel(name).value(), {}, violations);
  for (const char* name : {"dgx-h100:1",
                           "dgx-h100:2048",
                           "gb200-nvl72:1",
                           "gb200-nvl72:227",
                           "nodes:1",
                           "nodes:16384?devices=1",
                           "nodes:1?devices=16384",
                           "nodes:2?memory_gib=0.001&inside_us=0&between_us=1000000",
                           "pcie:3?host_gb=1000000",
                           "mesh2d:128",
                           "torus2d:3?width=1",
                           "mesh3d:25",
                           "torus3d:2?width=4&height=1&far=link_bandwidth&link_us=0",
                           "fat-tree:128",
                           "fat-tree:1?devices=1&nodes=1&racks=1&taper=1000&tier_us=0",
                           "dragonfly:512",
                           "dragonfly:2?routers=1&router_gb=1&local_us=3&global_gb=0.001",
                           "random-blk1:2048?seed=7",
                           "random-blk2:3",
                           "random-uniform:1",
                           "dgx1-mesh:1",
                           "dgx1-mesh:2048?pcie_gb=30",
                           "dgx1-v100:1",
                           "dgx1-v100:3",
                           "dgx-a100:1",
                           "dgx-a100:2048",
                           "pcie:1",
                           "pcie:16383"}) {
    ValidateCluster(MakeZooCluster(name).value(), {}, violations);
  }
  EXPECT_TRUE(violations.empty()) << violations.ToStatus();
}

TEST(ZooTest, EveryModelCanBePosedOnEveryCluster) {
  Violations violations;
  for (const ZooEntry& entry : ZooModels()) {
    for (const char* name : {"dgx1-v100:2", "dgx1-mesh:2", "dgx-a100:1", "pcie:2"}) {
      ValidateProblem(MakeZooModel(entry.name).value(), MakeZooCluster(name).value(), {}, {}, violations);
    }
  }
  EXPECT_TRUE(violations.empty()) << violations.ToStatus();
}

// Producers come before consumers, so the graphs are acyclic; every operator but the loss is read by another.
TEST(ZooTest, ModelsAreConnectedGraphsInTopologicalOrder) {
  for (const ZooEntry& entry : ZooModels()) {
    const OperatorGraph graph = MakeZooModel(entry.name).value();
    std::set<std::string> names;
    for (const Operator& op : graph.operators) EXPECT_TRUE(names.insert(op.name).second) << op.name;
    ASSERT_EQ(graph.tensors.size(), graph.operators.size());
    for (const Tensor& tensor : graph.tensors) {
      EXPECT_EQ(tensor.consumers.empty(), &tensor == &graph.tensors.back()) << tensor.name;
      EXPECT_GT(tensor.size_bytes, 0) << tensor.name;
      for (const OperatorId consumer : tensor.consumers) EXPECT_LT(tensor.producer, consumer) << tensor.name;
    }
  }
}

TEST(ZooTest, EveryOperatorButInputsMovesBytes) {
  for (const ZooEntry& entry : ZooModels()) {
    const OperatorGraph graph = MakeZooModel(entry.name).value();
    for (const Operator& op : graph.operators) {
      EXPECT_EQ(op.forward_bytes_accessed == 0, op.type == kInputOperatorType) << op.name;
      EXPECT_GE(op.backward_bytes_accessed, 0) << op.name;
      EXPECT_GE(op.activation_bytes, 0) << op.name;
      EXPECT_FALSE(op.layer.empty()) << op.name;
    }
  }
}

// The graphs of the first version, whatever keys have come since.
TEST(ZooTest, KeepsTheMeaningOfNamesWithoutKeys) {
  struct Totals {
    const char* name = nullptr;
    double forward_flops = 0;
    double backward_flops = 0;
    int64_t forward_bytes = 0;
    int64_t backward_bytes = 0;
    int64_t activation_bytes = 0;
    int64_t workspace_bytes = 0;
  };
  for (const Totals& totals : {Totals{"bert-base", 778'501'714'016.0, 1'552'234'788'912.0, 9'985'447'494,
                                      14'142'887'050, 2'802'921'504, 9'426'421'826},
                               Totals{"bert-large", 2'694'421'012'576.0, 5'376'142'057'520.0, 26'677'874'758,
                                      37'833'955'466, 7'461'759'008, 25'050'859'586},
                               Totals{"resnet50", 265'098'276'352.0, 521'386'964'736.0, 5'228'061'778, 7'989'722'914,
                                      1'348'925'952, 5'176'947'714}}) {
    Totals sum;
    const OperatorGraph graph = MakeZooModel(totals.name).value();
    for (const Operator& op : graph.operators) {
      sum.forward_flops += op.forward_flops;
      sum.backward_flops += op.backward_flops;
      sum.forward_bytes += op.forward_bytes_accessed;
      sum.backward_bytes += op.backward_bytes_accessed;
      sum.activation_bytes += op.activation_bytes;
      sum.workspace_bytes += op.workspace_bytes;
    }
    EXPECT_EQ(sum.forward_flops, totals.forward_flops) << totals.name;
    EXPECT_EQ(sum.backward_flops, totals.backward_flops) << totals.name;
    EXPECT_EQ(sum.forward_bytes, totals.forward_bytes) << totals.name;
    EXPECT_EQ(sum.backward_bytes, totals.backward_bytes) << totals.name;
    EXPECT_EQ(sum.activation_bytes, totals.activation_bytes) << totals.name;
    EXPECT_EQ(sum.workspace_bytes, totals.workspace_bytes) << totals.name;
  }
}

// The most operators that the domains of the keys allow.
TEST(ZooTest, NeverMakesMoreThanAMillionOperators) {
  for (const char* name : {"transformer?layers=50000&kind=llama&attention=unfused&hidden=8&heads=1&sequence=8&vocab=8",
                           "gnmt?layers=50000&hidden=1&vocab=8&sequence=1"}) {
    const OperatorGraph graph = MakeZooModel(name).value();
    EXPECT_GT(graph.operators.size(), 300'000U) << name;
    EXPECT_LE(graph.operators.size(), 1'000'000U) << name;
  }
  EXPECT_EQ(MessageOf(MakeZooModel("transformer?layers=50001")),
            "model \"transformer\" of the zoo: layers must be a whole number from 1 to 50000, is \"50001\"");
  EXPECT_EQ(MessageOf(MakeZooModel("gnmt?layers=50001")),
            "model \"gnmt\" of the zoo: layers must be a whole number from 2 to 50000, is \"50001\"");
}

TEST(ZooTest, NamesTheModelAfterWhatWasAsked) {
  const OperatorGraph graph = MakeZooModel("gpt-1.3b?sequence=1024&micro_batch=4").value();
  EXPECT_EQ(graph.display_name, "gpt-1.3b?sequence=1024&micro_batch=4");
  EXPECT_EQ(graph.samples_per_micro_batch, 4);
}

TEST(ZooTest, SaysWhatIsWrongWithKeys) {
  EXPECT_EQ(MessageOf(MakeZooModel("gpt-1.3b?seqence=1024")),
            "model \"gpt-1.3b\" of the zoo has no key \"seqence\"; the closest is \"sequence\" of: kind, layers, "
            "hidden, heads, kv_heads, ffn, vocab, sequence, micro_batch, dtype, tied, attention, head_width, "
            "head_norm, experts, "
            "experts_per_token, expert_ffn, shared_experts, dense_layers, expert_load, q_rank, kv_rank, rope_width, "
            "value_width, fp8");
  EXPECT_EQ(MessageOf(MakeZooModel("resnet50?image=31")),
            "model \"resnet50\" of the zoo: image must be a whole number from 32 to 4096, is \"31\"");
  EXPECT_EQ(MessageOf(MakeZooModel("inception-v3?image=224")),
            "model \"inception-v3\" of the zoo: image must be a whole number from 299 to 4096, is \"224\"");
  EXPECT_EQ(MessageOf(MakeZooModel("bert-base?sequence=513")),
            "model \"bert-base\" of the zoo: sequence must be a whole number from 1 to 512, is \"513\"");
  EXPECT_EQ(MessageOf(MakeZooModel("gnmt?batch=2&batch=2")), "model \"gnmt\" of the zoo: batch is set twice");
  EXPECT_EQ(MessageOf(MakeZooModel("vgg16?")), "model \"vgg16\" of the zoo: \"\" must have the form key=value");
  EXPECT_EQ(MessageOf(MakeZooCluster("dgx-h100:4?between=50")),
            "cluster \"dgx-h100:4\" of the zoo has no key \"between\"; the closest is \"between_gb\" of: devices, "
            "memory_gib, peak_tflops, memory_bandwidth_gb, compute_efficiency, kernel_overhead_us, inside_gb, "
            "inside_us, between_gb, between_us");
  EXPECT_EQ(MessageOf(MakeZooCluster("nodes:4?inside_gb=0")),
            "cluster \"nodes:4\" of the zoo: inside_gb must be a number from 0.001 to 1e+06, is \"0\"");
}

TEST(ZooTest, SaysWhichKeysDoNotGoTogether) {
  EXPECT_EQ(MessageOf(MakeZooModel("transformer?hidden=100")),
            "model \"transformer\" of the zoo: heads must divide hidden, is 12 of 100");
  EXPECT_EQ(MessageOf(MakeZooModel("swin-t?image=256")),
            "model \"swin-t\" of the zoo: image must be a multiple of 32 x window, 224, is 256");
  EXPECT_EQ(MessageOf(MakeZooModel("semantic-fpn?height=500")),
            "model \"semantic-fpn\" of the zoo: height and width must be multiples of 32, are 500 and 1024");
  EXPECT_EQ(MessageOf(MakeZooModel("transformer?kv_heads=5")),
            "model \"transformer\" of the zoo: kv_heads must divide heads, is 5 of 12");
  EXPECT_EQ(MessageOf(MakeZooModel("transformer?sequence=1048576&micro_batch=17")),
            "model \"transformer\" of the zoo: micro_batch x sequence must be at most 16777216, is 17825792");
}

TEST(ZooTest, RefusesLongNames) {
  EXPECT_EQ(MessageOf(MakeZooModel(std::string(1'025, 'x'))),
            "names of the zoo have at most 1024 bytes, this one has 1025");
  EXPECT_EQ(MessageOf(MakeZooCluster("pcie:" + std::string(2'000, '1'))),
            "names of the zoo have at most 1024 bytes, this one has 2005");
}

TEST(ZooTest, NamesTheClosestModel) {
  const absl::Status status = MakeZooModel("bert_large").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(std::string(status.message()),
            "the zoo has no model \"bert_large\"; the closest is \"bert-large\" of: "
            "bert-base, bert-large, transformer, gpt-125m, gpt-350m, gpt-760m, gpt-1.3b, gpt-2.7b, gpt-6.7b, "
            "gpt-13b, gpt-175b, llama2-7b, llama2-13b, llama2-70b, llama3-8b, llama3-70b, llama3-405b, mixtral-8x7b, "
            "deepseek-v3, qwen3-30b-a3b, qwen3-235b-a22b, resnet50, resnet101, "
            "resnet152, inception-v3, densenet121, vgg16, swin-t, swin-s, swin-b, swin-l, semantic-fpn, gnmt");
  EXPECT_THAT(std::string(MakeZooModel("ResNet-50").status().message()), ::testing::HasSubstr("is \"resnet50\""));
}

TEST(ZooTest, NamesTheClosestCluster) {
  const absl::Status status = MakeZooCluster("dgx_a100:2").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(std::string(status.message()),
            "the zoo has no cluster \"dgx_a100:2\"; the closest is \"dgx-a100:N\" of: dgx1-v100:N, dgx1-mesh:N, "
            "dgx-a100:N, dgx-h100:N, gb200-nvl72:N, nodes:N, mesh2d:N, torus2d:N, mesh3d:N, torus3d:N, fat-tree:N, "
            "dragonfly:N, random-blk1:N, random-blk2:N, random-uniform:N, pcie:N");
}

TEST(ZooTest, MakesClustersOfTheGivenSize) {
  EXPECT_EQ(MakeZooCluster("dgx1-v100:2")->devices.size(), 16U);
  EXPECT_EQ(MakeZooCluster("dgx-a100:2048")->devices.size(), 16'384U);
  EXPECT_EQ(MakeZooCluster("pcie:16383")->devices.size(), 16'384U);
  EXPECT_EQ(MakeZooCluster("pcie:3")->display_name, "pcie:3");
  EXPECT_EQ(MakeZooCluster("gb200-nvl72:4")->devices.size(), 288U);
}

TEST(ZooTest, RefusesNumbersThatAreMissingOrOutOfRange) {
  for (const char* name : {"pcie", "pcie:", "pcie:0", "pcie:-1", "pcie:2x", "pcie:1.5", "pcie: 2", "pcie:16384",
                           "dgx-a100:2049", "pcie:99999999999999999999", "dgx1-v100:1:2"}) {
    const absl::Status status = MakeZooCluster(name).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(std::string(MakeZooCluster("dgx1-v100").status().message()),
            "cluster \"dgx1-v100\" of the zoo: N in \"dgx1-v100:N\" must be a whole number from 1 to 2048");
  EXPECT_EQ(std::string(MakeZooCluster("mesh3d:26").status().message()),
            "cluster \"mesh3d:26\" of the zoo: N in \"mesh3d:N\" must be a whole number from 1 to 25");
  EXPECT_EQ(std::string(MakeZooCluster("random-blk1:2049").status().message()),
            "cluster \"random-blk1:2049\" of the zoo: N in \"random-blk1:N\" must be a whole number from 1 to 2048");
  EXPECT_EQ(std::string(MakeZooCluster("fat-tree:1?nodes=500&racks=5").status().message()),
            "cluster \"fat-tree:1\" of the zoo: must have at most 16384 devices, has more whatever N is");
  EXPECT_EQ(std::string(MakeZooCluster("nodes:5?devices=4000").status().message()),
            "cluster \"nodes:5\" of the zoo: N in \"nodes:N\" must be a whole number from 1 to 4");
}

}  // namespace
}  // namespace planwright
