#include "client/importer/plans/foreign_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/library/hint.h"

namespace planwright::client {
namespace {

using ::testing::HasSubstr;

// An input, an embedding, `layers` layers with a backward operator each, and a head.
v1::Graph MakeDecoder(int layers) {
  v1::Graph graph;
  const auto add = [&graph](const std::string& name, const std::string& layer) -> v1::Operator& {
    v1::Operator& op = *graph.add_operators();
    op.set_name(name);
    op.set_layer(layer);
    return op;
  };
  add("ids", "").set_type("Input");
  add("embed", "embedding");
  for (int i = 0; i < layers; ++i) add(absl::StrCat("l", i), absl::StrCat("layer.", i));
  add("head", "head");
  for (int i = 0; i < layers; ++i) {
    v1::Operator& backward = add(absl::StrCat("b", i), "");
    backward.set_pass(v1::PASS_BACKWARD);
    backward.set_forward_operator(absl::StrCat("l", i));
  }
  return graph;
}

// A CPU, then `devices` accelerators.
v1::Cluster MakeCluster(int devices) {
  v1::Cluster cluster;
  cluster.add_device_classes()->set_name("gpu");
  v1::DeviceClass& cpu = *cluster.add_device_classes();
  cpu.set_name("cpu");
  cpu.set_kind(v1::DEVICE_KIND_CPU);
  v1::Device& host = *cluster.add_devices();
  host.set_name("c0");
  host.set_device_class("cpu");
  v1::DeviceGroup& group = *cluster.add_device_groups();
  group.set_name_prefix("g");
  group.set_device_class("gpu");
  group.set_count(devices);
  return cluster;
}

// "ids,embed,l0@g0 l1,head@g1".
std::string ReadPlan(const std::string& text, int layers = 2, int devices = 4) {
  const auto plan = ReadForeignPlan(text, "p", MakeDecoder(layers), MakeCluster(devices));
  EXPECT_TRUE(plan.ok()) << plan.status() << "\n" << text;
  if (!plan.ok()) return "";
  return absl::StrJoin(plan->stages(), " ", [](std::string* out, const v1::Stage& stage) {
    std::vector<std::string> forward;
    for (const std::string& name : stage.operators()) {
      if (!name.starts_with("b")) forward.push_back(name);
    }
    absl::StrAppend(out, absl::StrJoin(forward, ","), "@",
                    absl::StrJoin(stage.replicas(), "+", [](std::string* name, const v1::Replica& replica) {
                      absl::StrAppend(name, replica.device());
                    }));
  });
}

std::string ErrorInPlan(const std::string& text, int layers = 2, int devices = 4) {
  const auto plan = ReadForeignPlan(text, "p", MakeDecoder(layers), MakeCluster(devices));
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(plan.status().message());
}

TEST(RecognisePlanTest, ByContent) {
  EXPECT_EQ(RecognisePlan("Et*3|(t|)*29t,L\n"), ForeignPlan::kMegatron);
  EXPECT_EQ(RecognisePlan("--num-layers 4 --pipeline-model-parallel-size 2"), ForeignPlan::kMegatron);
  EXPECT_EQ(RecognisePlan("9,11\n"), ForeignPlan::kVllm);
  EXPECT_EQ(RecognisePlan("export VLLM_PP_LAYER_PARTITION=\"9,11\""), ForeignPlan::kVllm);
  EXPECT_EQ(RecognisePlan("[['layers.0'], ['layers.1']]"), ForeignPlan::kTorchtitan);
  EXPECT_EQ(RecognisePlan("parallelism = dict(module_fqns_per_model_part=[])"), ForeignPlan::kTorchtitan);
  EXPECT_EQ(RecognisePlan(R"({"stages": [{"nodes": [1], "dataParallelDegree": 1}]})"), ForeignPlan::kPiper);
  EXPECT_EQ(RecognisePlan("node1 -- a -- forward_compute_time=1 -- stage_id=0\n"), ForeignPlan::kPipeDream);
  for (const char* text : {"", " \n", "{}", R"({"stages": []})", "stages { }", "12", "hello", "[1, 2]"}) {
    EXPECT_EQ(RecognisePlan(text), ForeignPlan::kNone) << text;
  }
}

TEST(ForeignPlanTest, LayoutsOfMegatron) {
  EXPECT_EQ(ReadPlan("Et|tL"), "ids,embed,l0@g0 l1,head@g1");
  EXPECT_EQ(ReadPlan("E|tt|L\n"), "ids,embed@g0 l0,l1@g1 head@g2");
  EXPECT_EQ(ReadPlan("Et*2|(t*2|)*2t,t*1,L", 8), "ids,embed,l0,l1@g0 l2,l3@g1 l4,l5@g2 l6,l7,head@g3");
  EXPECT_EQ(ReadPlan("E(t|)*3tL", 4), "ids,embed,l0@g0 l1@g1 l2@g2 l3,head@g3");
  // A group of one letter stands there as often as it says.
  EXPECT_EQ(ReadPlan("Et(t)*3|tL", 5), "ids,embed,l0,l1,l2,l3@g0 l4,head@g1");
}

TEST(ForeignPlanTest, ArgumentsOfMegatron) {
  EXPECT_EQ(ReadPlan("--num-layers 4 --pipeline-model-parallel-size 2 --bf16", 4), "ids,embed,l0,l1@g0 l2,l3,head@g1");
  EXPECT_EQ(ReadPlan("torchrun pretrain.py --num-layers=4 \\\n  --pipeline-model-parallel-size=2 "
                     "--decoder-last-pipeline-num-layers 1",
                     4),
            "ids,embed,l0,l1,l2@g0 l3,head@g1");
  EXPECT_EQ(ReadPlan("--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et|t|t|tL'", 4),
            "ids,embed,l0@g0 l1@g1 l2@g0 l3,head@g1");
  EXPECT_EQ(ReadPlan("--num-layers 4 --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1", 4),
            "ids,embed,l0@g0 l1@g1 l2@g0 l3,head@g1");
  EXPECT_EQ(ErrorInPlan("--num-layers 4 --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 3",
                        /*layers=*/4),
            "p: --num-layers-per-virtual-pipeline-stage 3 does not divide the 4 layers");
  EXPECT_EQ(ReadPlan("--num-layers 4 --pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2", 4),
            "ids,embed,l0@g0 l1@g1 l2@g0 l3,head@g1");
  EXPECT_THAT(ErrorInPlan("--num-layers 4 --pipeline-model-parallel-size 2 --account-for-loss-in-pipeline-split",
                          /*layers=*/4),
              HasSubstr("--account-for-loss-in-pipeline-split moves layers between stages"));
  // The first rank has so many layers, in all of its parts.
  const std::string first = "--num-layers 8 --pipeline-model-parallel-size 2 --decoder-first-pipeline-num-layers ";
  EXPECT_EQ(ReadPlan(absl::StrCat(first, "2 --num-virtual-stages-per-pipeline-rank 2"), 8),
            "ids,embed,l0@g0 l1,l2,l3@g1 l4@g0 l5,l6,l7,head@g1");
  // What the first rank leaves is divided.
  EXPECT_EQ(ReadPlan("--num-layers 8 --pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 2", 8),
            "ids,embed,l0,l1@g0 l2,l3@g1 l4,l5@g2 l6,l7,head@g3");
  EXPECT_THAT(ErrorInPlan("--num-layers 8 --pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 1", 8),
              HasSubstr("cannot divide 8 layers among 4 stages evenly"));
  EXPECT_THAT(ErrorInPlan(absl::StrCat(first, "3 --num-virtual-stages-per-pipeline-rank 2"), 8),
              HasSubstr("cannot divide 8 layers among 4 stages evenly"));
  EXPECT_THAT(ErrorInPlan("--num-layers 6 --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2",
                          /*layers=*/6),
              HasSubstr("makes 3 stages, no multiple of the 2"));
}

TEST(ForeignPlanTest, BackwardOperatorsGoWithTheirForwardOperators) {
  const auto plan = ReadForeignPlan("Et|tL", "p", MakeDecoder(2), MakeCluster(2));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->stages(0).operators().rbegin()->substr(0), "b0");
  EXPECT_EQ(plan->stages(1).operators().rbegin()->substr(0), "b1");
}

TEST(ForeignPlanTest, ListsOfTorchtitanAndCountsOfVllm) {
  const std::string stages = "ids,embed,l0@g0 l1,head@g1";
  EXPECT_EQ(ReadPlan("[[\"tok_embeddings\", \"layers.0\"], [\"layers.1\", \"norm\", \"output\"]]"), stages);
  EXPECT_EQ(ReadPlan("parallelism = dict(\n  module_fqns_per_model_part=[['tok_embeddings', 'layers.0'], "
                     "['layers.1', 'norm', 'output']],\n)"),
            stages);
  const std::string parts = "[['tok_embeddings', 'layers.0'], ['layers.1'], ['layers.2'], ['layers.3', 'output']]";
  EXPECT_EQ(ReadPlan(absl::StrCat("pipeline_parallel_degree = 2\nmodule_fqns_per_model_part = ", parts), 4),
            "ids,embed,l0@g0 l1@g1 l2@g0 l3,head@g1");
  EXPECT_EQ(ErrorInPlan(absl::StrCat("pipeline_parallel_degree=3, module_fqns_per_model_part=", parts), 4),
            "p: there are 4 model parts, no multiple of the 3 of pipeline_parallel_degree");
  EXPECT_EQ(ReadPlan(absl::StrCat("# pipeline_parallel_degree = 4\n{'pipeline_parallel_degree':\t2,\n"
                                  "'module_fqns_per_model_part': ",
                                  parts, "}"),
                     4),
            "ids,embed,l0@g0 l1@g1 l2@g0 l3,head@g1");
  EXPECT_THAT(ErrorInPlan(absl::StrCat("pipeline_parallel_schedule_csv = \"\"\n"
                                       "pipeline_parallel_schedule = \"ZBVZeroBubble\"\n"
                                       "pipeline_parallel_degree = 2\nmodule_fqns_per_model_part = ",
                                       parts),
                          4),
              HasSubstr("lie as a V"));
  EXPECT_EQ(ReadPlan("1, 1\n"), stages);
  const auto plan = ReadForeignPlan("1,1", "p", MakeDecoder(2), MakeCluster(2));
  EXPECT_EQ(plan->problem().workload(), v1::WORKLOAD_INFERENCE);
}

TEST(ForeignPlanTest, PlansOfOtherPlanners) {
  EXPECT_EQ(ReadPlan(R"({"stages": [{"nodes": [3, 7], "dataParallelDegree": 2, "tensorParallelDegree": 1},
                                {"nodes": [9], "dataParallelDegree": 1}]})"),
            "3,7@g0+g1 9@g2");
  const std::string numbers = "forward_compute_time=1, backward_compute_time=1, activation_size=1, parameter_size=1";
  EXPECT_EQ(
      ReadPlan(absl::StrCat("node1 -- a -- ", numbers, " -- stage_id=0\nnode2 -- c -- ", numbers, " -- stage_id=1\n")),
      "node1@g0 node2@g1");
}

TEST(ForeignPlanTest, SaysWhatIsWrong) {
  EXPECT_EQ(ErrorInPlan("Et|tL", 3), "p: the plan has no layer 2, and the graph has 3 layers");
  EXPECT_EQ(ErrorInPlan("Et|ttL"), "p: the plan has a layer 2, and the graph 2 layers");
  EXPECT_EQ(ErrorInPlan("t|tL"), "p: the plan says not where the embedding and the head are");
  EXPECT_EQ(ErrorInPlan("Et|E,tL"), "p: the embedding is in the stages 0 and 1 of the plan");
  EXPECT_EQ(ErrorInPlan("Et|mtL"),
            "p: the layout must have E, t, L and |, has \"m\": multi-token prediction is not known here");
  EXPECT_EQ(ErrorInPlan("E(t|(t|)*2)*2L"), "p: a group of the layout must not hold another one");
  EXPECT_EQ(ErrorInPlan("E(t|tL"), "p: the layout has a \"(\" without its \")\"");
  EXPECT_EQ(ErrorInPlan("Et)tL"), "p: the layout has a \")\" without its \"(\"");
  EXPECT_EQ(ErrorInPlan("Et*99999999tL"), "p: a \"*\" of the layout needs what it repeats, and how often");
  EXPECT_EQ(ErrorInPlan("E(t*90000|)*90000tL"), "p: the layout has too many layers");
  EXPECT_EQ(ErrorInPlan("Et|t|tL", 3, 2), "p: the plan needs 3 accelerators, the cluster has 2");
  EXPECT_EQ(ErrorInPlan("--num-layers 5 --pipeline-model-parallel-size 2", 5),
            "p: Megatron-LM cannot divide 5 layers among 2 stages evenly; give its layout");
  EXPECT_EQ(ErrorInPlan("--pipeline-model-parallel-size two --num-layers 2"),
            "p: --pipeline-model-parallel-size must be a whole number >= 1, is \"two\"");
  EXPECT_THAT(ErrorInPlan("--pipeline-model-parallel-size 2"), HasSubstr("must have --num-layers"));
  EXPECT_EQ(ErrorInPlan("--pipeline-model-parallel-size 3 --pipeline-model-parallel-layout 'Et|tL'"),
            "p: the layout has 2 stages, no multiple of the 3 of --pipeline-model-parallel-size");
  EXPECT_EQ(ErrorInPlan("1,,1"), "p: must be counts of layers, such as 9,11");
  EXPECT_EQ(ErrorInPlan("[['layers.0', 'layers.x']]"), "p: \"layers.x\" is no layer");
  EXPECT_EQ(ErrorInPlan("[['layers.0'"), "p: must be a list of lists of names, which is not closed");
  EXPECT_EQ(ErrorInPlan("[[['layers.0']]]"), "p: must be a list of lists of names, is nested deeper");
  EXPECT_THAT(ErrorInPlan(R"({"stages": [{"nodes": [1.5], "dataParallelDegree": 0, "tensorParallelDegree": 2}]})"),
              HasSubstr("stages[0].tensorParallelDegree: must be 1"));
  v1::Graph flat;
  flat.add_operators()->set_name("a");
  EXPECT_THAT(std::string(ReadForeignPlan("EtL", "p", flat, MakeCluster(1)).status().message()),
              HasSubstr("the graph has no numbered layers"));
}

// "p: REASON | HINT".
std::string RefusalOf(const std::string& text) {
  const auto plan = ReadForeignPlan(text, "p", MakeDecoder(2), MakeCluster(4));
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return absl::StrCat(plan.status().message(), " | ", HintOf(plan.status()).value_or(""));
}

TEST(ForeignPlanTest, DegreesOfMegatronAreRefusedWithTheCommandThatCountsThem) {
  EXPECT_EQ(RefusalOf("--num-layers 2 --pipeline-model-parallel-size 2 --tensor-model-parallel-size 8 "
                      "--micro-batch-size 2"),
            "p: --tensor-model-parallel-size 8 divides layers among devices, which is not read | Cost it with these "
            "degrees by `planwright plan --global_batch=SAMPLES --tensor_degrees=8 --stages=2 --samples=2 ...`; or "
            "evaluate the plan that it comes from, as `planwright plan --save=FILE` writes it.");
}

TEST(ForeignPlanTest, DegreesOfTorchtitanAreRefusedWithTheCommandThatCountsThem) {
  const std::string parts = "module_fqns_per_model_part = [['tok_embeddings', 'layers.0'], ['layers.1', 'output']]\n";
  EXPECT_EQ(RefusalOf(absl::StrCat("[parallelism]\ntensor_parallel_degree = 8\npipeline_parallel_degree = 2\n", parts)),
            "p: tensor_parallel_degree = 8 spreads stages over devices, which is not read | Cost it with these degrees "
            "by `planwright plan --global_batch=SAMPLES --tensor_degrees=8 --stages=2 ...`; or evaluate the plan that "
            "it comes from, as `planwright plan --save=FILE` writes it.");
  EXPECT_THAT(RefusalOf(absl::StrCat("data_parallel_shard_degree=4, data_parallel_replicate_degree=2,\n",
                                     "global_batch_size = 64\n", parts)),
              testing::AllOf(HasSubstr("p: data_parallel_shard_degree = 4 spreads"),
                             HasSubstr("plan --global_batch=64 --data_degrees=8 ...`")));
  EXPECT_THAT(RefusalOf(absl::StrCat("data_parallel_replicate_degree = 2\n", parts)),
              HasSubstr("p: data_parallel_replicate_degree = 2 spreads"));
  EXPECT_THAT(RefusalOf(absl::StrCat("context_parallel_degree = 2\n", parts)), HasSubstr("--context_degrees=2"));
  EXPECT_THAT(RefusalOf(absl::StrCat("expert_parallel_degree = 4\n", parts)), HasSubstr("--expert_degrees=4"));
  // Degrees of 1, and another name that ends as one of them.
  const std::string stages = "ids,embed,l0@g0 l1,head@g1";
  EXPECT_EQ(ReadPlan(absl::StrCat("tensor_parallel_degree = 1\nexpert_tensor_parallel_degree = 4\n", parts)), stages);
}

// The warnings of a plan that is read, joined.
std::string WarningsIn(const std::string& text, const v1::Graph& graph) {
  const auto plan = ReadForeignPlan(text, "p", graph, MakeCluster(4));
  EXPECT_TRUE(plan.ok()) << plan.status() << "\n" << text;
  return plan.ok() ? absl::StrJoin(plan->warnings(), "\n") : "";
}

TEST(ForeignPlanTest, WarnsOfWhatDoesNotCount) {
  v1::Graph graph = MakeDecoder(2);
  graph.mutable_transformer()->set_sequence(1024);
  const std::string arguments = "--num-layers 2 --pipeline-model-parallel-size 2 --bf16 --lr 1e-4 ";
  EXPECT_EQ(WarningsIn(absl::StrCat(arguments, "--micro-batch-size 1 --seq-length 1024"), graph), "");
  EXPECT_EQ(WarningsIn(absl::StrCat(arguments,
                                    "--micro-batch-size=2 --seq-length 2048 --recompute-granularity full "
                                    "--use-distributed-optimizer"),
                       graph),
            "p: not read, so not counted: --micro-batch-size 2, --seq-length 2048, --recompute-granularity full, "
            "--use-distributed-optimizer");
  graph.set_samples_per_micro_batch(2);
  EXPECT_EQ(WarningsIn(absl::StrCat(arguments, "--micro-batch-size 2"), graph), "");
  EXPECT_EQ(WarningsIn("data_parallel_shard_degree = -1\n"
                       "module_fqns_per_model_part = [['tok_embeddings', 'layers.0'], ['layers.1', 'output']]",
                       graph),
            "p: data_parallel_shard_degree = -1 spreads stages over the devices that are left, how many is not known "
            "here: each is counted on one device");
}

v1::PlanningProblem TakingTurns() {
  v1::PlanningProblem problem;
  problem.set_replication(v1::REPLICATION_PER_STAGE);
  problem.mutable_joint()->set_global_batch(12);
  return problem;
}

// Degrees and what is computed again count where replicas take turns; elsewhere a stage is whole on each replica.
TEST(ForeignPlanTest, PlansOfPiperHaveTheirDegreesWhereReplicasTakeTurns) {
  const std::string text =
      R"({"stages": [{"nodes": [3, 7], "dataParallelDegree": 2, "tensorParallelDegree": 1,
                      "TMPCids": [[3, "vanilla"], [7, "activation recomp"]]},
                     {"nodes": [9], "dataParallelDegree": 1, "tensorParallelDegree": 2}]})";
  v1::Graph graph;
  graph.set_samples_per_micro_batch(3);
  const auto plan = ReadForeignPlan(text, "p", graph, MakeCluster(4), TakingTurns());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->joint().micro_batch_samples(), 3);
  EXPECT_EQ(plan->joint().micro_batches(), 4);
  EXPECT_EQ(plan->joint().degrees(), v1::JOINT_DEGREES_PER_STAGE);
  ASSERT_EQ(plan->stages_size(), 2);
  const v1::JointStage& first = plan->stages(0).joint();
  EXPECT_EQ(first.data_degree(), 2);
  ASSERT_EQ(first.chunks(0).recomputation_size(), 2);
  EXPECT_EQ(first.chunks(0).recomputation(0), v1::LAYER_RECOMPUTATION_NONE);
  EXPECT_EQ(first.chunks(0).recomputation(1), v1::LAYER_RECOMPUTATION_FULL);
  EXPECT_EQ(plan->stages(1).joint().tensor_degree(), 2);
  EXPECT_EQ(plan->stages(1).replicas_size(), 2);
  const auto whole = ReadForeignPlan(text, "p", graph, MakeCluster(4));
  EXPECT_THAT(std::string(whole.status().message()), testing::HasSubstr("stages[1].tensorParallelDegree"));
}

TEST(ForeignPlanTest, PlansOfPiperNameWhatRunsOtherwise) {
  for (const char* variants : {R"([[3, "other"]])", R"([3])", R"([["x", "vanilla"]])", R"([[3]])"}) {
    const std::string text =
        absl::StrCat(R"({"stages": [{"nodes": [3], "dataParallelDegree": 1, "TMPCids": )", variants, "}]}");
    const auto plan = ReadForeignPlan(text, "p", v1::Graph(), MakeCluster(1), TakingTurns());
    EXPECT_THAT(std::string(plan.status().message()), testing::HasSubstr("stages[0].TMPCids")) << variants;
  }
}

}  // namespace
}  // namespace planwright::client
