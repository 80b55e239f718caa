// Exports of plans of the joint search: what each target says, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/exporter/exporter.h"

namespace planwright::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr v1::LayerRecomputation kNone = v1::LAYER_RECOMPUTATION_NONE;
constexpr v1::LayerRecomputation kFull = v1::LAYER_RECOMPUTATION_FULL;

// An input, an embedding, `layers` layers, a head and a loss, in one chain; a Llama in miniature.
v1::Graph MakeModel(int layers) {
  v1::Graph graph;
  const auto add = [&graph](const std::string& name, const std::string& type, const std::string& layer) {
    if (graph.operators_size() > 0) {
      v1::Tensor& tensor = *graph.add_tensors();
      tensor.set_name("to " + name);
      tensor.set_producer(graph.operators(graph.operators_size() - 1).name());
      tensor.add_consumers(name);
    }
    v1::Operator& op = *graph.add_operators();
    op.set_name(name);
    op.set_type(type);
    op.set_layer(layer);
  };
  add("ids", "Input", "");
  add("embed", "Embedding", "embedding");
  for (int i = 0; i < layers; ++i) add(absl::StrCat("mlp", i), "Linear", absl::StrCat("layer.", i));
  add("logits", "Linear", "head");
  add("loss", "Loss", "loss");
  v1::Transformer& shape = *graph.mutable_transformer();
  shape.set_layers(layers);
  shape.set_hidden(64);
  shape.set_heads(8);
  shape.set_kv_heads(2);
  shape.set_head_width(8);
  shape.set_feed_forward(128);
  shape.set_gated(true);
  shape.set_vocabulary(1000);
  shape.set_sequence(256);
  shape.set_bytes_per_element(2);
  return graph;
}

struct Shape {
  // Layers of each run, run by run.
  std::vector<int> runs = {2, 2};
  int stages = 2;
  int tensor = 2;
  int data = 2;
};

// Micro-batches: 8 of 1 sample on each rank; the optimizer is sharded; nothing is computed again.
v1::Plan MakeJointPlan(const v1::Graph& graph, const Shape& shape = {}) {
  v1::Plan plan;
  plan.mutable_problem()->mutable_joint()->set_global_batch(int64_t{8} * shape.data);
  v1::JointPlan& joint = *plan.mutable_joint();
  const int chunks = static_cast<int>(shape.runs.size()) / shape.stages;
  joint.set_schedule(chunks > 1 ? v1::SCHEDULE_KIND_INTERLEAVED : v1::SCHEDULE_KIND_ONE_F_ONE_B);
  joint.set_chunks_per_stage(chunks);
  joint.set_optimizer_sharding(v1::OPTIMIZER_SHARDING_OPTIMIZER);
  joint.set_micro_batch_samples(1);
  joint.set_micro_batches(8);
  for (int i = 0; i < shape.stages; ++i) {
    v1::Stage& stage = *plan.add_stages();
    stage.set_index(i);
    stage.mutable_joint()->set_tensor_degree(shape.tensor);
    stage.mutable_joint()->set_context_degree(1);
    stage.mutable_joint()->set_expert_degree(1);
    stage.mutable_joint()->set_data_degree(shape.data);
    for (int rank = 0; rank < shape.tensor * shape.data; ++rank) {
      stage.add_replicas()->set_device(absl::StrCat("gpu", i * shape.tensor * shape.data + rank));
    }
  }
  int next = 0;
  for (std::size_t run = 0; run < shape.runs.size(); ++run) {
    v1::Stage& stage = *plan.mutable_stages(static_cast<int>(run) % shape.stages);
    v1::JointStage::Chunk& chunk = *stage.mutable_joint()->add_chunks();
    const auto add = [&](const std::string& layer) {
      chunk.add_layers(layer);
      chunk.add_recomputation(kNone);
      for (const v1::Operator& op : graph.operators()) {
        if (op.layer() == layer) stage.add_operators(op.name());
      }
    };
    if (run == 0) add("embedding");
    for (int i = 0; i < shape.runs[run]; ++i) add(absl::StrCat("layer.", next++));
    if (run + 1 == shape.runs.size()) add("head");
  }
  plan.mutable_stages(0)->add_operators("ids");
  plan.mutable_stages((static_cast<int>(shape.runs.size()) - 1) % shape.stages)->add_operators("loss");
  return plan;
}

// Of the numbered layers of a run, in their order.
void Recompute(v1::Plan& plan, int stage, int chunk, const std::vector<v1::LayerRecomputation>& kinds) {
  v1::JointStage::Chunk& run = *plan.mutable_stages(stage)->mutable_joint()->mutable_chunks(chunk);
  std::size_t next = 0;
  for (int i = 0; i < run.layers_size(); ++i) {
    if (run.layers(i).starts_with("layer.")) run.set_recomputation(i, kinds[next++]);
  }
}

std::string TextOf(std::string_view target, const v1::Plan& plan, const v1::Graph& graph) {
  const auto exported = FindExportTarget(target)->write({.plan = plan, .graph = &graph});
  EXPECT_TRUE(exported.ok()) << exported.status();
  return exported.ok() ? exported->text : "";
}

std::string AdviceOf(std::string_view target, const v1::Plan& plan, const v1::Graph& graph) {
  const auto exported = FindExportTarget(target)->write({.plan = plan, .graph = &graph});
  EXPECT_TRUE(exported.ok()) << exported.status();
  return exported.ok() ? exported->advice : "";
}

std::string RefusalOf(std::string_view target, const v1::Plan& plan, const v1::Graph& graph) {
  const auto exported = FindExportTarget(target)->write({.plan = plan, .graph = &graph});
  EXPECT_EQ(exported.status().code(), absl::StatusCode::kFailedPrecondition);
  return std::string(exported.status().message());
}

std::string ContradictionOf(const v1::Plan& plan, const v1::Graph& graph) {
  const auto exported = FindExportTarget("megatron")->write({.plan = plan, .graph = &graph});
  EXPECT_EQ(exported.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(exported.status().message());
}

TEST(JointMegatronTest, SaysDegreesBatchShardingAndShape) {
  const v1::Graph graph = MakeModel(4);
  EXPECT_EQ(
      TextOf("megatron", MakeJointPlan(graph), graph),
      "--tensor-model-parallel-size 2 --sequence-parallel --pipeline-model-parallel-size 2 --micro-batch-size 1 "
      "--global-batch-size 16 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --num-layers 4 "
      "--hidden-size 64 --ffn-hidden-size 128 --num-attention-heads 8 --kv-channels 8 --group-query-attention "
      "--num-query-groups 2 --attention-backend flash --swiglu --disable-bias-linear "
      "--untie-embeddings-and-output-weights --position-embedding-type rope --seq-length 256 "
      "--max-position-embeddings 256 --vocab-size 1000 --attention-dropout 0.0 --hidden-dropout 0.0 --bf16\n");
}

TEST(JointMegatronTest, SaysWhatThePlanCountsOfTensorRanks) {
  v1::Graph graph = MakeModel(4);
  EXPECT_THAT(
      AdviceOf("megatron", MakeJointPlan(graph), graph),
      HasSubstr(
          "; the plan counts on --tp-comm-overlap, which is yours to add, and not on the vocabulary being padded to "
          "1024; before Blackwell"));
  EXPECT_THAT(AdviceOf("megatron", MakeJointPlan(graph, {.tensor = 1}), graph), Not(HasSubstr("--tp-comm-overlap")));
  graph.mutable_transformer()->set_vocabulary(1024);
  EXPECT_THAT(AdviceOf("megatron", MakeJointPlan(graph), graph), Not(HasSubstr("vocabulary")));
}

TEST(JointMegatronTest, UnequalStagesAreALayout) {
  const v1::Graph graph = MakeModel(5);
  EXPECT_THAT(TextOf("megatron", MakeJointPlan(graph, {.runs = {2, 3}}), graph),
              HasSubstr("--pipeline-model-parallel-layout 'Et*2|t*3L' "));
  const v1::Graph seven = MakeModel(7);
  const std::string interleaved = TextOf("megatron", MakeJointPlan(seven, {.runs = {1, 2, 2, 2}}), seven);
  EXPECT_THAT(interleaved, HasSubstr("--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout "
                                     "'Et|t*2|t*2|t*2L' "));
}

TEST(JointMegatronTest, EqualInterleavedStagesAreLayersOfAVirtualStage) {
  const v1::Graph graph = MakeModel(8);
  EXPECT_THAT(TextOf("megatron", MakeJointPlan(graph, {.runs = {2, 2, 2, 2}}), graph),
              HasSubstr("--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2 --micro"));
}

TEST(JointMegatronTest, RecomputationIsUniformOrTheFirstLayersOfEveryRun) {
  const v1::Graph graph = MakeModel(5);
  v1::Plan plan = MakeJointPlan(graph, {.runs = {2, 3}});
  Recompute(plan, 0, 0, {kFull, kFull});
  Recompute(plan, 1, 0, {kFull, kFull, kNone});
  // Stage 0 has no third layer, so that two of each or three of each are not the same.
  EXPECT_THAT(TextOf("megatron", plan, graph),
              HasSubstr("--recompute-granularity full --recompute-method block --recompute-num-layers 2 "));
  Recompute(plan, 1, 0, {kFull, kFull, kFull});
  EXPECT_THAT(TextOf("megatron", plan, graph),
              HasSubstr("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1 "));
  Recompute(plan, 1, 0, {kNone, kFull, kFull});
  EXPECT_THAT(RefusalOf("megatron", plan, graph), HasSubstr("layers differ in what they compute again"));
  Recompute(plan, 1, 0, {kNone, kNone, kNone});
  EXPECT_THAT(RefusalOf("megatron", plan, graph), HasSubstr("layers differ in what they compute again"));
  const std::vector<v1::LayerRecomputation> scores(3, v1::LAYER_RECOMPUTATION_SELECTIVE);
  Recompute(plan, 0, 0, scores);
  Recompute(plan, 1, 0, scores);
  EXPECT_THAT(TextOf("megatron", plan, graph), HasSubstr("--recompute-granularity selective --num-layers"));
  EXPECT_THAT(RefusalOf("torchtitan", plan, graph), HasSubstr("no word for the scores"));
}

TEST(JointMegatronTest, ExpertsAndLatentAttention) {
  v1::Graph graph = MakeModel(4);
  v1::Transformer& shape = *graph.mutable_transformer();
  shape.set_kv_heads(8);
  shape.set_experts(16);
  shape.set_experts_per_token(4);
  shape.set_expert_feed_forward(32);
  shape.set_shared_experts(2);
  shape.set_dense_layers(1);
  shape.set_query_rank(48);
  shape.set_kv_rank(16);
  shape.set_rope_width(4);
  shape.set_value_width(8);
  v1::Plan plan = MakeJointPlan(graph);
  for (v1::Stage& stage : *plan.mutable_stages()) stage.mutable_joint()->set_expert_degree(2);
  const std::string text = TextOf("megatron", plan, graph);
  EXPECT_THAT(text, HasSubstr("--expert-model-parallel-size 2 --expert-tensor-parallel-size 2 "));
  EXPECT_THAT(text, HasSubstr("--kv-channels 8 --multi-latent-attention --q-lora-rank 48 --kv-lora-rank 16 "
                              "--qk-head-dim 8 --qk-pos-emb-head-dim 4 --v-head-dim 8 --attention-backend fused "));
  EXPECT_THAT(text, HasSubstr("--num-experts 16 --moe-router-topk 4 --moe-ffn-hidden-size 32 "
                              "--moe-shared-expert-intermediate-size 64 --moe-layer-freq '([0]*1+[1]*3)' "));
  EXPECT_THAT(text, HasSubstr(" --disable-bias-linear "));
  EXPECT_THAT(text, Not(HasSubstr("pre-softmax")));
  EXPECT_THAT(TextOf("torchtitan_toml", plan, graph),
              HasSubstr("expert_parallel_degree = 2\nexpert_tensor_parallel_degree = 2\n"));
  EXPECT_THAT(RefusalOf("torchtitan", plan, graph), HasSubstr("plan with --tensor_degrees=1"));
  v1::Plan whole = MakeJointPlan(graph, {.tensor = 1});
  for (v1::Stage& stage : *whole.mutable_stages()) stage.mutable_joint()->set_expert_degree(2);
  EXPECT_THAT(TextOf("torchtitan", whole, graph), HasSubstr("    expert_parallel_degree=2,\n    pipeline_parallel"));
  EXPECT_THAT(TextOf("torchtitan", whole, graph), HasSubstr("    disable_cuda_graphs=True,\n"));
  EXPECT_THAT(RefusalOf("deepspeed", plan, graph), HasSubstr("no context or expert degree"));
  shape.set_experts_per_token(1);
  EXPECT_THAT(TextOf("megatron", plan, graph), HasSubstr("--moe-router-topk 1 --moe-router-pre-softmax "));
}

v1::Plan WithContext(v1::Plan plan, int degree) {
  for (v1::Stage& stage : *plan.mutable_stages()) {
    stage.mutable_joint()->set_data_degree(1);
    stage.mutable_joint()->set_context_degree(degree);
  }
  plan.mutable_problem()->mutable_joint()->set_global_batch(8);
  return plan;
}

TEST(JointExportTest, ContextRanks) {
  v1::Graph graph = MakeModel(4);
  v1::Plan plan = WithContext(MakeJointPlan(graph), 2);
  EXPECT_THAT(TextOf("torchtitan", plan, graph),
              HasSubstr("    context_parallel_load_balancer=HeadTailCPLoadBalancer.Config(),\n"));
  EXPECT_THAT(TextOf("torchtitan_toml", plan, graph), Not(HasSubstr("balancer")));
  EXPECT_THAT(TextOf("megatron", plan, graph), HasSubstr("--context-parallel-size 2 "));
  graph.mutable_transformer()->set_stores_scores(true);
  EXPECT_THAT(RefusalOf("megatron", plan, graph), HasSubstr("cannot be divided among context ranks"));
  graph.mutable_transformer()->set_experts(4);
  plan = WithContext(MakeJointPlan(graph, {.tensor = 1, .data = 4}), 4);
  for (v1::Stage& stage : *plan.mutable_stages()) stage.mutable_joint()->set_expert_degree(2);
  EXPECT_THAT(RefusalOf("torchtitan_toml", plan, graph), HasSubstr("expert ranks are whole context ranks"));
}

TEST(JointTorchtitanTest, RefusesWhatItsPipelinesCannotRun) {
  const v1::Graph graph = MakeModel(8);
  v1::Plan few = MakeJointPlan(graph, {.runs = {4, 4}});
  few.mutable_joint()->set_micro_batches(1);
  few.mutable_problem()->mutable_joint()->set_global_batch(2);
  EXPECT_THAT(RefusalOf("torchtitan", few, graph), HasSubstr("as many micro-batches as stages"));
  v1::Graph long_ones = graph;
  for (const int64_t sequence : {int64_t{-1}, int64_t{0}, std::numeric_limits<int64_t>::max()}) {
    long_ones.mutable_transformer()->set_sequence(sequence);
    EXPECT_THAT(RefusalOf("torchtitan", MakeJointPlan(long_ones, {.runs = {4, 4}}), long_ones),
                HasSubstr("it counts in tokens"));
  }
  const v1::Plan runs = MakeJointPlan(graph, {.runs = {1, 1, 1, 1, 1, 1, 1, 1}});
  EXPECT_THAT(TextOf("torchtitan", runs, graph), HasSubstr("Interleaved1F1B"));
  EXPECT_THAT(RefusalOf("torchtitan_toml", runs, graph), HasSubstr("keep the parameters of three runs"));
  const v1::Plan alone = MakeJointPlan(graph, {.runs = {4, 4}, .data = 1});
  EXPECT_THAT(TextOf("torchtitan", alone, graph), HasSubstr("data_parallel_shard_degree=1,\n"));
  EXPECT_THAT(RefusalOf("torchtitan_toml", alone, graph), HasSubstr("in 32 where none do"));
}

TEST(JointShardingTest, EachTrainerSaysWhatItRuns) {
  const v1::Graph graph = MakeModel(4);
  v1::Plan pipeline = MakeJointPlan(graph);
  v1::Plan one = MakeJointPlan(graph, {.runs = {4}, .stages = 1});
  for (v1::Plan* plan : {&pipeline, &one}) {
    plan->mutable_joint()->set_optimizer_sharding(v1::OPTIMIZER_SHARDING_PARAMETERS);
  }
  EXPECT_THAT(RefusalOf("megatron", pipeline, graph), HasSubstr("pipelines of one stage alone"));
  EXPECT_THAT(RefusalOf("megatron", one, graph), HasSubstr("those of embedding and head as well"));
  one.mutable_joint()->set_optimizer_sharding(v1::OPTIMIZER_SHARDING_GRADIENTS);
  EXPECT_THAT(
      TextOf("megatron", one, graph),
      HasSubstr("--use-distributed-optimizer --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads "));
  EXPECT_THAT(AdviceOf("megatron", one, graph), HasSubstr("CUDA_DEVICE_MAX_CONNECTIONS must not be 1"));
  one.mutable_joint()->set_optimizer_sharding(v1::OPTIMIZER_SHARDING_PARAMETERS);
  EXPECT_THAT(RefusalOf("torchtitan", pipeline, graph), HasSubstr("plan with --optimizer_sharding=optimizer"));
  EXPECT_THAT(TextOf("torchtitan", one, graph), HasSubstr("fsdp_reshard_after_forward=\"always\",\n"));
  EXPECT_THAT(RefusalOf("deepspeed", pipeline, graph), HasSubstr("no ZeRO above 1"));
  pipeline.mutable_joint()->set_optimizer_sharding(v1::OPTIMIZER_SHARDING_NONE);
  EXPECT_THAT(TextOf("megatron", pipeline, graph), Not(HasSubstr("--use-distributed-optimizer")));
  EXPECT_THAT(TextOf("megatron", pipeline, graph), HasSubstr(" --overlap-grad-reduce --num-layers"));
  EXPECT_THAT(RefusalOf("torchtitan", pipeline, graph), HasSubstr("nothing is sharded"));
  EXPECT_THAT(TextOf("deepspeed", pipeline, graph),
              HasSubstr("    \"zero_optimization\": {\"stage\": 0},\n    \"bf16\": {\"enabled\": True},\n}\n"));
  v1::Plan replicas = MakeJointPlan(graph, {.runs = {4}, .stages = 1, .tensor = 1});
  replicas.mutable_joint()->set_optimizer_sharding(v1::OPTIMIZER_SHARDING_NONE);
  EXPECT_THAT(TextOf("torchtitan", replicas, graph), HasSubstr("data_parallel_replicate_degree=2,\n"));
}

TEST(JointTorchtitanTest, SaysItsSections) {
  const v1::Graph graph = MakeModel(5);
  const v1::Plan plan = MakeJointPlan(graph, {.runs = {2, 3}});
  EXPECT_EQ(TextOf("torchtitan_toml", plan, graph),
            "[parallelism]\n"
            "data_parallel_replicate_degree = 1\n"
            "data_parallel_shard_degree = 2\n"
            "fsdp_reshard_after_forward = \"never\"\n"
            "tensor_parallel_degree = 2\n"
            "context_parallel_degree = 1\n"
            "pipeline_parallel_degree = 2\n"
            "pipeline_parallel_schedule = \"1F1B\"\n"
            "pipeline_parallel_microbatch_size = 1\n"
            "module_fqns_per_model_part = [\n"
            "        [\"tok_embeddings\", \"layers.0\", \"layers.1\"],\n"
            "        [\"layers.2\", \"layers.3\", \"layers.4\", \"norm\", \"output\"],\n"
            "    ]\n"
            "\n"
            "[training]\n"
            "local_batch_size = 8\n"
            "global_batch_size = 16\n"
            "seq_len = 256\n"
            "\n"
            "[activation_checkpoint]\n"
            "mode = \"none\"\n");
  EXPECT_EQ(TextOf("torchtitan", plan, graph),
            "# Of torchtitan's configuration.\n"
            "parallelism = dict(\n"
            "    data_parallel_replicate_degree=1,\n"
            "    data_parallel_shard_degree=2,\n"
            "    fsdp_reshard_after_forward=\"never\",\n"
            "    tensor_parallel_degree=2,\n"
            "    context_parallel_degree=1,\n"
            "    pipeline_parallel_degree=2,\n"
            "    pipeline_parallel_schedule=\"1F1B\",\n"
            "    num_pp_microbatches=8,\n"
            "    pipeline_parallel_module_fqns_per_model_part=[\n"
            "        [\"tok_embeddings\", \"layers.0\", \"layers.1\"],\n"
            "        [\"layers.2\", \"layers.3\", \"layers.4\", \"norm\", \"lm_head\"],\n"
            "    ],\n"
            ")\n"
            "training = dict(\n"
            "    num_tokens_per_microbatch_per_dp_rank=256,\n"
            "    num_tokens_per_train_step=4096,\n"
            "    max_context_length=256,\n"
            ")\n"
            "activation_checkpoint = None\n");
}

TEST(JointTorchtitanTest, SaysProductsInEightBits) {
  v1::Graph graph = MakeModel(4);
  const v1::Plan plan = MakeJointPlan(graph);
  EXPECT_THAT(TextOf("torchtitan_toml", plan, graph), Not(HasSubstr("float8")));
  EXPECT_THAT(AdviceOf("torchtitan", plan, graph), Not(HasSubstr("8 bits")));
  graph.mutable_transformer()->set_eight_bit_products(true);
  EXPECT_THAT(TextOf("torchtitan_toml", plan, graph),
              HasSubstr("\n[model]\nconverters = [\"quantize.linear.float8\"]\n"));
  EXPECT_THAT(AdviceOf("torchtitan", plan, graph), HasSubstr("8 bits: convert it by Float8LinearConverter"));
  EXPECT_THAT(AdviceOf("deepspeed", plan, graph), HasSubstr("8 bits: your layers make them"));
  EXPECT_THAT(AdviceOf("torch_pipelining", plan, graph), HasSubstr("8 bits: your layers make them"));
  graph.mutable_transformer()->set_experts(4);
  EXPECT_THAT(TextOf("torchtitan_toml", plan, graph),
              HasSubstr("converters = [\"quantize.linear.float8\", \"quantize.grouped_mm.float8\"]\n"
                        "\n[quantize.grouped_mm.float8]\nfqns = [\"experts\"]\n"));
}

TEST(JointExportTest, TrainersHearOfTablesThatStagesShare) {
  v1::Graph graph = MakeModel(4);
  graph.mutable_transformer()->set_tied(true);
  const v1::Plan pipeline = MakeJointPlan(graph);
  v1::Plan one = MakeJointPlan(graph, {.runs = {4}, .stages = 1});
  one.mutable_joint()->set_optimizer_sharding(v1::OPTIMIZER_SHARDING_PARAMETERS);
  EXPECT_THAT(RefusalOf("torchtitan", pipeline, graph), HasSubstr("do not tie the embedding to the head"));
  EXPECT_THAT(RefusalOf("torchtitan_toml", pipeline, graph), HasSubstr("plan with --stages=1"));
  EXPECT_THAT(TextOf("torchtitan", one, graph), HasSubstr("pipeline_parallel_degree=1"));
  EXPECT_THAT(AdviceOf("deepspeed", pipeline, graph), HasSubstr("TiedLayerSpec"));
  EXPECT_THAT(AdviceOf("torch_pipelining", pipeline, graph), HasSubstr("add up their gradients"));
  EXPECT_THAT(AdviceOf("torch_pipelining", one, graph), Not(HasSubstr("gradients")));
  graph.mutable_transformer()->set_learned_positions(true);
  EXPECT_THAT(AdviceOf("torchtitan", one, graph), HasSubstr("positions are a table of parameters"));
}

TEST(JointScheduleCsvTest, InterleavedStagesTakeTurnsWithTheirRuns) {
  const v1::Graph graph = MakeModel(4);
  v1::Plan plan = MakeJointPlan(graph, {.runs = {1, 1, 1, 1}});
  plan.mutable_joint()->set_micro_batches(2);
  EXPECT_EQ(TextOf("schedule_csv", plan, graph),
            "0F0,0F1,2F0,2F1,,2B0,,2B1,0B0,0B1\n"
            ",1F0,1F1,3F0,3B0,3F1,3B1,1B0,1B1,\n");
  plan.mutable_joint()->set_micro_batches(3);
  EXPECT_THAT(RefusalOf("schedule_csv", plan, graph), HasSubstr("cannot be interleaved"));
  EXPECT_THAT(RefusalOf(
                  "megatron",
                  [&] {
                    plan.mutable_problem()->mutable_joint()->set_global_batch(6);
                    return plan;
                  }(),
                  graph),
              HasSubstr("interleaves only where"));
}

TEST(JointExportTest, UnequalDegreesAreRefusedByTrainers) {
  const v1::Graph graph = MakeModel(4);
  v1::Plan plan = MakeJointPlan(graph);
  plan.mutable_stages(1)->mutable_joint()->set_tensor_degree(4);
  plan.mutable_stages(1)->mutable_joint()->set_data_degree(1);
  for (const char* target : {"megatron", "torchtitan", "torchtitan_toml", "deepspeed", "torch_pipelining"}) {
    EXPECT_THAT(RefusalOf(target, plan, graph), HasSubstr("plan with --degrees=uniform")) << target;
  }
}

TEST(JointExportTest, PlansThatContradictThemselvesAreNotWritten) {
  const v1::Graph graph = MakeModel(4);
  const v1::Plan good = MakeJointPlan(graph);
  v1::Plan plan = good;
  plan.mutable_stages(0)->mutable_joint()->set_data_degree(0);
  EXPECT_THAT(ContradictionOf(plan, graph), HasSubstr("has a degree of 0"));
  plan = good;
  plan.mutable_stages(1)->mutable_replicas()->RemoveLast();
  EXPECT_THAT(ContradictionOf(plan, graph), HasSubstr("stage 1 has 3 replicas"));
  plan = good;
  plan.mutable_joint()->set_micro_batches(1 << 24);
  plan.mutable_joint()->set_micro_batch_samples(1 << 24);
  EXPECT_THAT(ContradictionOf(plan, graph), HasSubstr("global_batch is 16"));
  plan = good;
  plan.mutable_joint()->set_chunks_per_stage(3);
  EXPECT_THAT(ContradictionOf(plan, graph), HasSubstr("has 1 runs of layers"));
  plan = good;
  plan.mutable_stages(0)->mutable_joint()->mutable_chunks(0)->add_layers("layer.2");
  EXPECT_THAT(ContradictionOf(plan, graph), HasSubstr("does not say for each layer"));
  plan.mutable_stages(0)->mutable_joint()->mutable_chunks(0)->add_recomputation(kNone);
  EXPECT_THAT(ContradictionOf(plan, graph), HasSubstr("layer layer.2 is in two runs"));
  plan = good;
  std::swap(*plan.mutable_stages(0)->mutable_joint()->mutable_chunks(0)->mutable_layers(1),
            *plan.mutable_stages(0)->mutable_joint()->mutable_chunks(0)->mutable_layers(2));
  EXPECT_THAT(ContradictionOf(plan, graph), HasSubstr("layer layer.0 is out of order"));
  plan = good;
  plan.mutable_stages(0)->add_operators("mlp3");
  EXPECT_THAT(ContradictionOf(plan, graph), HasSubstr("its layer layer.3 in stage 1"));
  EXPECT_THAT(ContradictionOf(good, MakeModel(5)), HasSubstr("no operator \"mlp4\""));
}

TEST(JointPictureTest, BarsFillTheStep) {
  const v1::Graph graph = MakeModel(4);
  v1::Plan plan = MakeJointPlan(graph);
  plan.set_objective_ms(100);
  plan.mutable_stages(0)->set_compute_ms(10);
  plan.mutable_stages(0)->set_allreduce_ms(20);
  v1::DeviceUsage& device = *plan.add_devices();
  device.set_device("gpu0");
  device.add_stages(0);
  const std::string svg = TextOf("svg", plan, graph);
  EXPECT_THAT(svg, HasSubstr("100.000 ms per step"));
  // 8 micro-batches of 10 ms take four fifths of the picture's 760.
  EXPECT_THAT(svg, HasSubstr("width=\"608.00\""));
  EXPECT_THAT(TextOf("dot", plan, graph), HasSubstr("gpu0 .. gpu3\\ntensor 2, context 1, expert 1, data 2"));
}

}  // namespace
}  // namespace planwright::client
