#include "client/exporter/exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace planwright::client {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A decoder: a graph input, an embedding, `layers` layers of two operators, a head and a loss, in one chain.
v1::Graph MakeDecoder(int layers) {
  v1::Graph graph;
  const auto add = [&graph](const std::string& name, const std::string& type, const std::string& layer) {
    if (graph.operators_size() > 0) {
      v1::Tensor& tensor = *graph.add_tensors();
      tensor.set_name("to " + name);
      tensor.set_producer(graph.operators(graph.operators_size() - 1).name());
      tensor.add_consumers(name);
      tensor.set_size_bytes(2048);
    }
    v1::Operator& op = *graph.add_operators();
    op.set_name(name);
    op.set_type(type);
    op.set_layer(layer);
  };
  add("ids", "Input", "");
  add("embed", "Embedding", "embedding");
  for (int i = 0; i < layers; ++i) {
    add(absl::StrCat("attention", i), "Attention", absl::StrCat("layer.", i));
    add(absl::StrCat("mlp", i), "Linear", absl::StrCat("layer.", i));
  }
  add("logits", "Linear", "head");
  add("loss", "Loss", "loss");
  return graph;
}

// Stages by the layers they hold, each on devices of its own: "gpu0", "gpu1", ...
v1::Plan MakePlan(const v1::Graph& graph, const std::vector<std::set<std::string>>& stages, int replicas = 1) {
  v1::Plan plan;
  int device = 0;
  for (const std::set<std::string>& layers : stages) {
    v1::Stage& stage = *plan.add_stages();
    stage.set_index(plan.stages_size() - 1);
    for (const v1::Operator& op : graph.operators()) {
      const bool is_input = op.type() == "Input" && stage.index() == 0;
      if (is_input || layers.contains(op.layer())) stage.add_operators(op.name());
    }
    for (int copy = 0; copy < replicas; ++copy) {
      v1::Replica& replica = *stage.add_replicas();
      replica.set_device(absl::StrCat("gpu", device++));
      replica.set_copy(copy);
    }
    stage.set_load_ms(2);
    stage.set_compute_ms(2);
  }
  return plan;
}

// Hosts of `devices_each` devices: gpu0.. on node0, and so on.
v1::Cluster MakeCluster(int hosts, int devices_each) {
  v1::Cluster cluster;
  for (int i = 0; i < hosts * devices_each; ++i) {
    v1::Device& device = *cluster.add_devices();
    device.set_name(absl::StrCat("gpu", i));
    device.set_host(absl::StrCat("node", i / devices_each));
  }
  return cluster;
}

absl::StatusOr<Exported> ExportTo(std::string_view target, const v1::Plan& plan, const v1::Graph* graph,
                                  const v1::Cluster* cluster = nullptr) {
  return FindExportTarget(target)->write({.plan = plan, .graph = graph, .cluster = cluster});
}

const std::vector<std::set<std::string>> kThreeStages = {
    {"embedding", "layer.0", "layer.1"}, {"layer.2"}, {"layer.3", "layer.4", "head", "loss"}};

TEST(ExportMegatronTest, WritesTheLayoutOfEachStage) {
  const v1::Graph graph = MakeDecoder(5);
  const auto exported = ExportTo("megatron", MakePlan(graph, kThreeStages), &graph);
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(exported->text,
            "--num-layers 5 --pipeline-model-parallel-size 3 --pipeline-model-parallel-layout 'Et*2|t|t*2L'\n");
}

TEST(ExportMegatronTest, AllowsStagesWithoutLayers) {
  const v1::Graph graph = MakeDecoder(2);
  const auto exported =
      ExportTo("megatron", MakePlan(graph, {{"embedding"}, {"layer.0", "layer.1"}, {"head", "loss"}}), &graph);
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_THAT(exported->text, HasSubstr(" 'E|t*2|L'\n"));
}

TEST(ExportMegatronTest, RefusesWhatTrainersDoNotRun) {
  v1::Graph graph = MakeDecoder(5);
  graph.set_samples_per_micro_batch(1);
  v1::Plan plan = MakePlan(graph, kThreeStages, /*replicas=*/2);
  const auto refusal = [&](const char* target) {
    return std::string(ExportTo(target, plan, &graph).status().message());
  };
  // Of seven micro-batches two replicas cannot have equally many.
  plan.mutable_problem()->set_replication(v1::REPLICATION_PER_STAGE);
  plan.mutable_problem()->set_micro_batches(7);
  for (const char* target : {"megatron", "torchtitan", "torchtitan_toml", "deepspeed"}) {
    EXPECT_THAT(refusal(target), HasSubstr("its 2 replicas do not divide the 7 micro-batches")) << target;
  }
  plan.mutable_problem()->set_micro_batches(8);
  EXPECT_EQ(refusal("megatron"), "");
  plan.mutable_problem()->set_schedule(v1::SCHEDULE_KIND_GPIPE);
  EXPECT_THAT(refusal("megatron"), HasSubstr("under GPIPE"));
  EXPECT_THAT(refusal("deepspeed"), HasSubstr("under GPIPE"));
  const auto titan = ExportTo("torchtitan", plan, &graph);
  ASSERT_TRUE(titan.ok()) << titan.status();
  EXPECT_THAT(titan->text, HasSubstr("pipeline_parallel_schedule=\"GPipe\",\n"));
  plan.mutable_problem()->mutable_memory_model()->set_recomputation(v1::MemoryModel::RECOMPUTATION_FULL);
  EXPECT_THAT(refusal("torchtitan"), HasSubstr("keep nothing but their inputs"));
  plan.mutable_problem()->set_workload(v1::WORKLOAD_INFERENCE);
  for (const char* target : {"megatron", "torchtitan", "torchtitan_toml", "deepspeed"}) {
    EXPECT_THAT(refusal(target), HasSubstr("it is for inference")) << target;
  }
}

TEST(ExportMegatronTest, CountsReplicasAsDataParallelism) {
  const v1::Graph graph = MakeDecoder(5);
  const auto exported = ExportTo("megatron", MakePlan(graph, kThreeStages, /*replicas=*/2), &graph);
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_THAT(exported->advice, HasSubstr("data parallelism 2"));
}

TEST(ExportTorchtitanTest, NamesTheModulesOfEachStage) {
  const v1::Graph graph = MakeDecoder(5);
  const auto exported = ExportTo("torchtitan", MakePlan(graph, kThreeStages), &graph);
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_THAT(exported->text, HasSubstr("        [\"tok_embeddings\", \"layers.0\", \"layers.1\"],\n"
                                        "        [\"layers.2\"],\n"
                                        "        [\"layers.3\", \"layers.4\", \"norm\", \"lm_head\"],\n"));
  EXPECT_THAT(exported->text, HasSubstr("pipeline_parallel_degree=3,\n"));
  const auto toml = ExportTo("torchtitan_toml", MakePlan(graph, kThreeStages), &graph);
  ASSERT_TRUE(toml.ok()) << toml.status();
  EXPECT_THAT(toml->text, HasSubstr("pipeline_parallel_degree = 3\npipeline_parallel_schedule = \"1F1B\"\n"));
}

TEST(ExportMegatronTest, FoldsRunsOfEqualStagesAndSaysTheBatch) {
  v1::Graph graph = MakeDecoder(9);
  graph.set_samples_per_micro_batch(2);
  std::vector<std::set<std::string>> stages = {{"embedding", "layer.0"}};
  for (int i = 1; i < 8; ++i) stages.push_back({absl::StrCat("layer.", i)});
  stages.push_back({"layer.8", "head", "loss"});
  v1::Plan plan = MakePlan(graph, stages);
  plan.mutable_problem()->set_micro_batches(16);
  const auto exported = ExportTo("megatron", plan, &graph);
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(exported->text,
            "--num-layers 9 --pipeline-model-parallel-size 9 --pipeline-model-parallel-layout 'Et|(t|)*7tL' "
            "--micro-batch-size 2 --global-batch-size 32\n");
}

TEST(ExportDeepspeedTest, BoundariesCountTheLayersInFront) {
  const v1::Graph graph = MakeDecoder(5);
  const v1::Plan plan = MakePlan(graph, kThreeStages);
  const auto exported = FindExportTarget("deepspeed")->write({.plan = plan, .graph = &graph, .layer_offset = 3});
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_THAT(exported->text, HasSubstr("    BOUNDARIES = [0, 5, 6]\n"));
}

TEST(ExportTorchPipeliningTest, SplitsBeforeTheFirstLayerOfAStage) {
  const v1::Graph graph = MakeDecoder(5);
  const auto exported = ExportTo("torch_pipelining", MakePlan(graph, kThreeStages), &graph);
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_THAT(exported->text, HasSubstr("    \"layers.2\": SplitPoint.BEGINNING,\n"
                                        "    \"layers.3\": SplitPoint.BEGINNING,\n}"));
}

TEST(ExportScheduleCsvTest, OneForwardOneBackward) {
  const v1::Graph graph = MakeDecoder(2);
  v1::Plan plan = MakePlan(graph, {{"embedding", "layer.0"}, {"layer.1", "head", "loss"}});
  EXPECT_THAT(std::string(ExportTo("schedule_csv", plan, &graph).status().message()), HasSubstr("--micro_batches"));
  plan.mutable_problem()->set_micro_batches(3);
  const auto exported = ExportTo("schedule_csv", plan, &graph);
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(exported->text,
            "0F0,0F1,,0B0,0F2,0B1,,0B2\n"
            ",1F0,1B0,1F1,1B1,1F2,1B2,\n");
  plan.mutable_problem()->set_schedule(v1::SCHEDULE_KIND_GPIPE);
  EXPECT_EQ(ExportTo("schedule_csv", plan, &graph)->text,
            "0F0,0F1,0F2,,,0B0,0B1,0B2\n"
            ",1F0,1F1,1F2,1B0,1B1,1B2,\n");
  plan.mutable_problem()->set_schedule(v1::SCHEDULE_KIND_PERIODIC);
  EXPECT_EQ(ExportTo("schedule_csv", plan, &graph).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(ExportRanksTest, FilesOfRanksNeedNotKeepHostsTogether) {
  const v1::Graph graph = MakeDecoder(2);
  v1::Plan plan = MakePlan(graph, {{"embedding"}, {"layer.0"}, {"layer.1", "head", "loss"}});
  plan.mutable_stages(1)->mutable_replicas(0)->set_device("gpu3");
  plan.mutable_stages(2)->mutable_replicas(0)->set_device("gpu1");
  const v1::Cluster cluster = MakeCluster(2, 2);
  EXPECT_THAT(std::string(ExportTo("hostfile", plan, &graph, &cluster).status().message()),
              HasSubstr("are not consecutive: the pipeline leaves it and comes back; rankfile can say that"));
  EXPECT_EQ(ExportTo("rankfile", plan, &graph, &cluster)->text,
            "rank 0=node0 slot=0\nrank 1=node1 slot=1\nrank 2=node0 slot=1\n");
  EXPECT_EQ(ExportTo("slurm_hostfile", plan, &graph, &cluster)->text, "node0\nnode1\nnode0\n");
  EXPECT_THAT(
      ExportTo("kubernetes", plan, &graph, &cluster)->text,
      ::testing::EndsWith("                values:\n                  - \"node0\"\n                  - \"node1\"\n"));
}

TEST(ExportPipedreamTest, NodesSayTheirStages) {
  v1::Graph graph = MakeDecoder(1);
  const v1::Plan plan = MakePlan(graph, {{"embedding", "layer.0"}, {"head", "loss"}});
  EXPECT_THAT(std::string(ExportTo("pipedream", plan, &graph).status().message()), HasSubstr("has no measured times"));
  for (v1::Operator& op : *graph.mutable_operators()) {
    v1::OperatorCost& cost = *op.add_costs();
    cost.set_forward_ms(1.5);
    cost.set_backward_ms(3);
  }
  const auto exported = ExportTo("pipedream", plan, &graph);
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_THAT(exported->text,
              HasSubstr("node2 -- Embedding -- forward_compute_time=1.500000, backward_compute_time=3.000000, "
                        "activation_size=2048.0, parameter_size=0.000 -- stage_id=0\n"));
  EXPECT_THAT(exported->text, HasSubstr("\tnode4 -- node5\n"));
  EXPECT_EQ(exported->advice, "with --stage_to_num_ranks 0:1,1:1");
}

TEST(ExportPiperTest, WantsIds) {
  const v1::Graph graph = MakeDecoder(1);
  EXPECT_THAT(
      std::string(
          ExportTo("piper", MakePlan(graph, {{"embedding", "layer.0", "head", "loss"}}), &graph).status().message()),
      HasSubstr("operator ids is no id of a node of Piper's"));
}

TEST(ExportPiperTest, SaysDegreesAndVariantsWhereReplicasTakeTurns) {
  const v1::Graph graph = MakeDecoder(1);
  v1::Plan plan = MakePlan(graph, {{"embedding", "layer.0", "head", "loss"}});
  plan.mutable_joint();
  plan.mutable_problem()->set_replication(v1::REPLICATION_PER_STAGE);
  v1::JointStage& stage = *plan.mutable_stages(0)->mutable_joint();
  stage.set_tensor_degree(2);
  stage.set_data_degree(3);
  v1::JointStage::Chunk& chunk = *stage.add_chunks();
  for (const char* name : {"7", "3"}) chunk.add_layers(name);
  chunk.add_recomputation(v1::LAYER_RECOMPUTATION_FULL);
  chunk.add_recomputation(v1::LAYER_RECOMPUTATION_NONE);
  const auto exported = ExportTo("piper", plan, &graph);
  ASSERT_TRUE(exported.ok()) << exported.status();
  const nlohmann::json json = nlohmann::json::parse(exported->text);
  EXPECT_EQ(json.at("stages").at(0).at("tensorParallelDegree"), 2);
  EXPECT_EQ(json.at("stages").at(0).at("dataParallelDegree"), 3);
  EXPECT_EQ(json.at("stages").at(0).at("TMPCids").dump(), R"([[7,"activation recomp"],[3,"vanilla"]])");
  EXPECT_THAT(std::string(ExportTo("schedule_csv", plan, &graph).status().message()), HasSubstr("in turn"));
  chunk.set_layers(0, "seven");
  EXPECT_FALSE(ExportTo("piper", plan, &graph).ok());
}

TEST(ExportVllmTest, CountsTheLayersOfEachStage) {
  const v1::Graph graph = MakeDecoder(5);
  const auto exported = ExportTo("vllm", MakePlan(graph, kThreeStages), &graph);
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(exported->text, "2,1,2\n");
}

TEST(ExportVllmTest, RefusesStagesWithoutLayersAndTraining) {
  const v1::Graph graph = MakeDecoder(2);
  const auto empty = ExportTo("vllm", MakePlan(graph, {{"embedding", "layer.0", "layer.1"}, {"head", "loss"}}), &graph);
  EXPECT_EQ(empty.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(empty.status().message()), HasSubstr("stage 1 has no numbered layer"));
  v1::Plan training = MakePlan(graph, {{"embedding", "layer.0"}, {"layer.1", "head", "loss"}});
  training.mutable_problem()->set_workload(v1::WORKLOAD_TRAINING);
  const auto refused = ExportTo("vllm", training, &graph);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("plan with --workload=inference"));
  EXPECT_TRUE(ExportTo("megatron", training, &graph).ok());
}

struct Refusal {
  std::string name;
  std::function<void(v1::Graph&, v1::Plan&)> spoil;
  std::string reason;
  absl::StatusCode code = absl::StatusCode::kFailedPrecondition;
};

class ExportRefusalTest : public ::testing::TestWithParam<Refusal> {};

TEST_P(ExportRefusalTest, SaysWhatCannotBeExpressed) {
  v1::Graph graph = MakeDecoder(5);
  v1::Plan plan = MakePlan(graph, kThreeStages);
  GetParam().spoil(graph, plan);
  for (const char* target : {"megatron", "torchtitan", "vllm"}) {
    const auto exported = ExportTo(target, plan, &graph);
    EXPECT_EQ(exported.status().code(), GetParam().code);
    EXPECT_THAT(std::string(exported.status().message()), HasSubstr(GetParam().reason));
    if (GetParam().code == absl::StatusCode::kFailedPrecondition) {
      EXPECT_THAT(std::string(exported.status().message()), StartsWith(target));
    }
  }
}

v1::Operator& OperatorNamed(v1::Graph& graph, const std::string& name) {
  for (v1::Operator& op : *graph.mutable_operators()) {
    if (op.name() == name) return op;
  }
  throw std::out_of_range(name);
}

INSTANTIATE_TEST_SUITE_P(
    , ExportRefusalTest,
    ::testing::Values(
        Refusal{"SplitLayer",
                [](v1::Graph& graph, v1::Plan& plan) {
                  plan = MakePlan(
                      graph, {{"embedding", "layer.0", "layer.1", "layer.2", "layer.3"}, {"layer.4", "head", "loss"}});
                  plan.mutable_stages(0)->mutable_operators()->RemoveLast();
                  plan.mutable_stages(1)->add_operators("mlp3");
                },
                "layer layer.3 is split between the stages 0 and 1; plan with --granularity=layer"},
        Refusal{"NoLabel", [](v1::Graph& graph, v1::Plan&) { OperatorNamed(graph, "mlp1").clear_layer(); },
                "operator mlp1 has no layer label"},
        Refusal{"NoNumbers",
                [](v1::Graph& graph, v1::Plan&) {
                  for (v1::Operator& op : *graph.mutable_operators()) op.set_layer(op.name() + "_");
                },
                "no layer label of the graph ends in a number"},
        Refusal{"TwoKinds",
                [](v1::Graph& graph, v1::Plan&) {
                  OperatorNamed(graph, "attention4").set_layer("decoder.0");
                  OperatorNamed(graph, "mlp4").set_layer("decoder.0");
                },
                "the layers layer.0 and decoder.0 are of two kinds"},
        Refusal{"NoTransformer",
                [](v1::Graph& graph, v1::Plan& plan) {
                  for (const char* name : {"ids", "embed"}) OperatorNamed(graph, name).set_layer("layer.0");
                  plan.mutable_stages(0)->clear_operators();
                  for (const char* name : {"ids", "embed", "attention0", "mlp0", "attention1", "mlp1"}) {
                    plan.mutable_stages(0)->add_operators(name);
                  }
                },
                "the model begins with a numbered layer, where transformers have an embedding"},
        Refusal{"OutOfOrder",
                [](v1::Graph& graph, v1::Plan&) {
                  for (const char* name : {"attention4", "mlp4"}) OperatorNamed(graph, name).set_layer("layer.7");
                },
                "layer layer.7 is out of order"},
        Refusal{"BackInTheMiddle",
                [](v1::Graph& graph, v1::Plan& plan) {
                  plan = MakePlan(
                      graph,
                      {{"embedding", "layer.0"}, {"layer.1", "layer.2", "layer.3", "layer.4", "head"}, {"loss"}});
                },
                "head is in stage 1, and must be in the last"},
        Refusal{"FrontLater",
                [](v1::Graph& graph, v1::Plan& plan) {
                  plan = MakePlan(
                      graph,
                      {{}, {"embedding", "layer.0", "layer.1", "layer.2", "layer.3", "layer.4", "head", "loss"}});
                },
                "embedding is in stage 1, and must be in the first"},
        Refusal{"UnevenReplicas",
                [](v1::Graph&, v1::Plan& plan) { plan.mutable_stages(1)->add_replicas()->set_device("gpu9"); },
                "stage 0 has 1 replicas and stage 1 has 2"},
        Refusal{"SeveralStagesOnADevice",
                [](v1::Graph&, v1::Plan& plan) { plan.mutable_stages(2)->mutable_replicas(0)->set_device("gpu0"); },
                "device gpu0 holds several stages"},
        Refusal{"AnotherGraph", [](v1::Graph&, v1::Plan& plan) { plan.mutable_stages(0)->add_operators("stranger"); },
                "plan.stages[0]: the graph has no operator \"stranger\"", absl::StatusCode::kInvalidArgument},
        Refusal{"MissingOperator",
                [](v1::Graph&, v1::Plan& plan) { plan.mutable_stages(1)->mutable_operators()->RemoveLast(); },
                "the plan holds no operator \"mlp2\"", absl::StatusCode::kInvalidArgument}),
    [](const auto& refusal) { return refusal.param.name; });

TEST(ExportHostfileTest, ListsHostsInTheOrderOfTheRanks) {
  const v1::Graph graph = MakeDecoder(5);
  const v1::Cluster cluster = MakeCluster(3, 2);
  v1::Plan plan = MakePlan(graph, kThreeStages, /*replicas=*/2);
  std::swap(*plan.mutable_stages(0)->mutable_replicas(), *plan.mutable_stages(2)->mutable_replicas());
  const auto exported = ExportTo("hostfile", plan, nullptr, &cluster);
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(exported->text, "node2 slots=2\nnode1 slots=2\nnode0 slots=2\n");
}

TEST(ExportHostfileTest, SaysWhichDevicesWhereTheirOrderIsNotTheirOwn) {
  const v1::Graph graph = MakeDecoder(5);
  const v1::Cluster cluster = MakeCluster(1, 4);
  v1::Plan plan = MakePlan(graph, kThreeStages);
  plan.mutable_stages(0)->mutable_replicas(0)->set_device("gpu3");
  const auto exported = ExportTo("hostfile", plan, nullptr, &cluster);
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(exported->text, "# on node0: CUDA_VISIBLE_DEVICES=3,1,2\nnode0 slots=3\n");
}

TEST(ExportHostfileTest, ExpandsDeviceGroups) {
  const v1::Graph graph = MakeDecoder(5);
  v1::Cluster cluster;
  v1::DeviceGroup& group = *cluster.add_device_groups();
  group.set_name_prefix("gpu");
  group.set_count(4);
  group.add_hosts("a");
  group.add_hosts("b");
  const auto exported = ExportTo("hostfile", MakePlan(graph, kThreeStages), nullptr, &cluster);
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(exported->text, "a slots=2\nb slots=1\n");
}

TEST(ExportHostfileTest, RefusesPlansThatComeBackToAHost) {
  const v1::Graph graph = MakeDecoder(5);
  const v1::Cluster cluster = MakeCluster(2, 2);
  v1::Plan plan = MakePlan(graph, kThreeStages);
  plan.mutable_stages(1)->mutable_replicas(0)->set_device("gpu2");
  plan.mutable_stages(2)->mutable_replicas(0)->set_device("gpu1");
  const auto exported = ExportTo("hostfile", plan, nullptr, &cluster);
  EXPECT_EQ(exported.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(exported.status().message()), HasSubstr("the ranks on host node0 are not consecutive"));
}

TEST(ExportHostfileTest, RefusesDevicesWithoutAHost) {
  const v1::Graph graph = MakeDecoder(5);
  v1::Cluster cluster = MakeCluster(1, 4);
  cluster.mutable_devices(1)->set_host("not a word");
  const auto exported = ExportTo("hostfile", MakePlan(graph, kThreeStages), nullptr, &cluster);
  EXPECT_EQ(exported.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(exported.status().message()), HasSubstr("device gpu1 has no host"));
}

TEST(ExportHostfileTest, CountsAcceleratorsAndRefusesStagesOnCpus) {
  const v1::Graph graph = MakeDecoder(5);
  v1::Cluster cluster = MakeCluster(1, 4);
  v1::DeviceClass& cpu = *cluster.add_device_classes();
  cpu.set_name("cpu");
  cpu.set_kind(v1::DEVICE_KIND_CPU);
  cluster.mutable_devices(0)->set_device_class("cpu");
  v1::Plan plan = MakePlan(graph, kThreeStages);
  const auto refused = ExportTo("hostfile", plan, nullptr, &cluster);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("stage 0 is on gpu0, a CPU"));
  plan.mutable_stages(0)->mutable_replicas(0)->set_device("gpu3");
  const auto exported = ExportTo("hostfile", plan, nullptr, &cluster);
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(exported->text, "# on node0: CUDA_VISIBLE_DEVICES=2,0,1\nnode0 slots=3\n");
}

TEST(ExportDotTest, DrawsOperatorsInTheirStages) {
  v1::Graph graph = MakeDecoder(2);
  OperatorNamed(graph, "embed").set_type("say \"hi\" \\");
  const auto exported =
      ExportTo("dot", MakePlan(graph, {{"embedding", "layer.0"}, {"layer.1", "head", "loss"}}), &graph);
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_THAT(exported->text, HasSubstr("label=\"stage 1: gpu1\\n2.000 ms, 0 B\""));
  EXPECT_THAT(exported->text, HasSubstr("n1 [label=\"embed\\nsay \\\"hi\\\" \\\\\"]"));
  EXPECT_THAT(exported->text, HasSubstr("n3 -> n4 [label=\"2.00 KiB\", penwidth=2]"));
}

TEST(ExportDotTest, DrawsLayersWhereThereAreTooManyOperators) {
  const v1::Graph graph = MakeDecoder(40);
  std::set<std::string> all;
  for (const v1::Operator& op : graph.operators()) all.insert(op.layer());
  const auto exported = ExportTo("dot", MakePlan(graph, {all}), &graph);
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_THAT(exported->text, HasSubstr("[label=\"layer.39\"]"));
  EXPECT_THAT(exported->text, ::testing::Not(HasSubstr("mlp")));
}

TEST(ExportSvgTest, DrawsABarForEachDeviceInUse) {
  const v1::Graph graph = MakeDecoder(5);
  v1::Plan plan = MakePlan(graph, kThreeStages);
  plan.set_objective_ms(2);
  plan.set_lower_bound_ms(1.5);
  for (int i = 0; i < 4; ++i) {
    v1::DeviceUsage& device = *plan.add_devices();
    device.set_device(i == 1 ? "<b>" : absl::StrCat("gpu", i));
    if (i < 3) device.add_stages(i);
  }
  const auto exported = ExportTo("svg", plan, nullptr);
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_THAT(exported->text, HasSubstr("&lt;b&gt;</text>"));
  EXPECT_THAT(exported->text, HasSubstr("plan 2.000 ms"));
  EXPECT_THAT(exported->text, HasSubstr("bound 1.500 ms"));
  EXPECT_THAT(exported->text, ::testing::Not(HasSubstr("gpu3")));
}

TEST(ExportSvgTest, StepsReduceOnceAfterTheMicroBatchesOfAllReplicas) {
  v1::Plan plan;
  plan.mutable_problem()->set_replication(v1::REPLICATION_UNIFORM);
  plan.mutable_problem()->set_micro_batches(4);
  plan.set_objective_ms(6);
  v1::Stage& stage = *plan.add_stages();
  stage.add_replicas();
  stage.add_replicas();
  stage.set_compute_ms(8);
  stage.set_allreduce_ms(16);
  v1::DeviceUsage& device = *plan.add_devices();
  device.set_device("gpu0");
  device.add_stages(0);
  const auto exported = ExportTo("svg", plan, nullptr);
  ASSERT_TRUE(exported.ok()) << exported.status();
  // 8 / 2 and 16 / 2 / 4 of 6 ms, which are 760 pixels.
  EXPECT_THAT(exported->text, HasSubstr("width=\"506.67\""));
  EXPECT_THAT(exported->text, HasSubstr("width=\"253.33\""));
}

// A step of 3 micro-batches of 8 ms with 6 ms at its end: 30 ms; where two replicas take turns, 8 / 2 + 6 ms each.
TEST(ExportSvgTest, BarsOfJointPlansAreStepsUnlessReplicasTakeTurns) {
  v1::Plan plan;
  plan.mutable_joint()->set_micro_batches(3);
  plan.set_objective_ms(30);
  v1::Stage& stage = *plan.add_stages();
  stage.set_compute_ms(8);
  stage.set_allreduce_ms(6);
  stage.mutable_joint()->set_data_degree(2);
  v1::DeviceUsage& device = *plan.add_devices();
  device.set_device("gpu0");
  device.add_stages(0);
  device.set_load_ms(8);
  const auto step = ExportTo("svg", plan, nullptr);
  ASSERT_TRUE(step.ok()) << step.status();
  // 24 and 6 of 30 ms, which are 760 pixels.
  EXPECT_THAT(step->text, HasSubstr("width=\"608.00\""));
  EXPECT_THAT(step->text, HasSubstr("width=\"152.00\""));
  EXPECT_THAT(step->text, HasSubstr("<title>gpu0: stage 0, 30.000 ms</title>"));
  plan.mutable_problem()->set_replication(v1::REPLICATION_PER_STAGE);
  plan.set_objective_ms(10);
  const auto turn = ExportTo("svg", plan, nullptr);
  ASSERT_TRUE(turn.ok()) << turn.status();
  EXPECT_THAT(turn->text, HasSubstr("width=\"304.00\""));
  EXPECT_THAT(turn->text, HasSubstr("width=\"456.00\""));
}

TEST(ExportTargetsTest, AreFoundByName) {
  for (const ExportTarget& target : ExportTargets()) EXPECT_EQ(FindExportTarget(target.name), &target);
  EXPECT_EQ(FindExportTarget("megatrom"), nullptr);
}

}  // namespace
}  // namespace planwright::client
