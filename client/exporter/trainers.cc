#include "client/exporter/trainers.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/exporter/cannot_express.h"
#include "client/exporter/joint_megatron.h"
#include "client/exporter/joint_trainers.h"
#include "client/exporter/layouts.h"
#include "client/exporter/model_layers.h"

namespace planwright::client {
namespace {

// A pipeline of whole layers with the same number of replicas everywhere, the front first and the back last. What these
// targets train and serve are transformers, whose layers follow an embedding.
absl::StatusOr<std::vector<StageLayers>> PipelineOf(const ExportInput& input, const char* target) {
  auto stages = LayersOfStages(*input.graph, input.plan, target);
  if (!stages.ok()) return stages;
  const absl::Status ends = CheckEnds(*stages, target);
  if (!ends.ok()) return ends;
  const int replicas = input.plan.stages(0).replicas_size();
  for (std::size_t i = 0; i < stages->size(); ++i) {
    const int own = input.plan.stages(static_cast<int>(i)).replicas_size();
    if (own != replicas) {
      return CannotExpress(target, absl::StrFormat("stage 0 has %d replicas and stage %d has %d; every stage must have "
                                                   "the same number",
                                                   replicas, i, own));
    }
  }
  return stages;
}

// PipelineOf, of what is trained.
absl::StatusOr<std::vector<StageLayers>> TrainingPipelineOf(const ExportInput& input, const char* target) {
  const v1::PlanningProblem& problem = input.plan.problem();
  if (problem.workload() == v1::WORKLOAD_INFERENCE) {
    return CannotExpress(target, "it is for inference; plan with --workload=training");
  }
  if (problem.memory_model().recomputation() == v1::MemoryModel::RECOMPUTATION_FULL) {
    return CannotExpress(target,
                         "its stages keep nothing but their inputs, and trainers those of each layer; plan with "
                         "--global_batch, which chooses recomputation by layer");
  }
  auto stages = PipelineOf(input, target);
  if (!stages.ok()) return stages;
  // Replicas that take turns have shares of these; others have as many each.
  const int replicas = input.plan.stages(0).replicas_size();
  if (problem.replication() != v1::REPLICATION_UNIFORM && problem.micro_batches() % replicas != 0) {
    return CannotExpress(target, absl::StrCat("its ", replicas, " replicas do not divide the ", problem.micro_batches(),
                                              " micro-batches of a step"));
  }
  return stages;
}

// TrainingPipelineOf, for what knows no other schedule.
absl::StatusOr<std::vector<StageLayers>> OneFOneBPipelineOf(const ExportInput& input, const char* target) {
  auto stages = TrainingPipelineOf(input, target);
  if (stages.ok() && input.plan.problem().schedule() == v1::SCHEDULE_KIND_GPIPE) {
    return CannotExpress(target, "it runs under GPIPE; plan with --schedule=one_f_one_b");
  }
  return stages;
}

// As torchtitan calls it.
const char* TorchtitanSchedule(const v1::PlanningProblem& problem) {
  return problem.schedule() == v1::SCHEDULE_KIND_GPIPE ? "GPipe" : "1F1B";
}

// Says the sizes of batches where the problem counts micro-batches and the graph says how many samples one has.
std::string MegatronBatchArguments(const ExportInput& input, int replicas) {
  if (!input.graph->has_samples_per_micro_batch()) return "";
  const int64_t micro_batch = input.graph->samples_per_micro_batch();
  std::string arguments = absl::StrCat(" --micro-batch-size ", micro_batch);
  const v1::PlanningProblem& problem = input.plan.problem();
  const bool counts_copies = problem.replication() == v1::REPLICATION_UNIFORM;
  if (problem.has_micro_batches()) {
    const int64_t all = problem.micro_batches() * micro_batch * (counts_copies ? replicas : 1);
    absl::StrAppend(&arguments, " --global-batch-size ", all);
  }
  return arguments;
}

}  // namespace

absl::StatusOr<Exported> ExportMegatron(const ExportInput& input) {
  if (input.plan.has_joint()) return ExportJointMegatron(input);
  const auto stages = OneFOneBPipelineOf(input, "megatron");
  if (!stages.ok()) return stages.status();
  const int replicas = input.plan.stages(0).replicas_size();
  return Exported{
      absl::StrFormat("--num-layers %d --pipeline-model-parallel-size %d --pipeline-model-parallel-layout '%s'%s\n",
                      CountLayers(*stages), stages->size(), MegatronLayout(*stages),
                      MegatronBatchArguments(input, replicas)),
      absl::StrFormat("for %d processes, one for each stage and replica: data parallelism %d",
                      stages->size() * static_cast<std::size_t>(replicas), replicas)};
}

absl::StatusOr<Exported> ExportTorchtitan(const ExportInput& input) {
  if (input.plan.has_joint()) return ExportJointTorchtitan(input);
  const auto stages = TrainingPipelineOf(input, "torchtitan");
  if (!stages.ok()) return stages.status();
  return Exported{
      absl::StrFormat("# Of torchtitan's configuration.\n"
                      "parallelism = dict(\n"
                      "    pipeline_parallel_degree=%d,\n"
                      "    pipeline_parallel_schedule=\"%s\",\n"
                      "    data_parallel_replicate_degree=%d,\n"
                      "    pipeline_parallel_module_fqns_per_model_part=[\n%s    ],\n"
                      ")\n",
                      stages->size(), TorchtitanSchedule(input.plan.problem()), input.plan.stages(0).replicas_size(),
                      TorchtitanParts(*stages, kTorchtitanHead, "        ")),
      "set these fields of the configuration's parallelism, as its sources name them since September 2026; releases "
      "until February 2026 read torchtitan_toml"};
}

absl::StatusOr<Exported> ExportTorchtitanToml(const ExportInput& input) {
  if (input.plan.has_joint()) return ExportJointTorchtitanToml(input);
  const auto stages = TrainingPipelineOf(input, "torchtitan_toml");
  if (!stages.ok()) return stages.status();
  return Exported{
      absl::StrFormat("[parallelism]\n"
                      "pipeline_parallel_degree = %d\n"
                      "pipeline_parallel_schedule = \"%s\"\n"
                      "data_parallel_replicate_degree = %d\n"
                      "module_fqns_per_model_part = [\n%s]\n",
                      stages->size(), TorchtitanSchedule(input.plan.problem()), input.plan.stages(0).replicas_size(),
                      TorchtitanParts(*stages, kTorchtitanTomlHead, "    ")),
      "merge it into the job's TOML file"};
}

absl::StatusOr<Exported> ExportDeepspeed(const ExportInput& input) {
  if (input.plan.has_joint()) return ExportJointDeepspeed(input);
  const auto stages = OneFOneBPipelineOf(input, "deepspeed");
  if (!stages.ok()) return stages.status();
  return Exported{
      absl::StrCat("from deepspeed.pipe import PipelineModule\n"
                   "\n"
                   "\n",
                   DeepspeedModule(*stages, input.layer_offset)),
      absl::StrFormat("use it in place of PipelineModule, with num_stages=%d; --layer_offset says how many layers your "
                      "pipeline has before the first numbered one",
                      stages->size())};
}

absl::StatusOr<Exported> ExportTorchPipelining(const ExportInput& input) {
  if (input.plan.has_joint()) return ExportJointTorchPipelining(input);
  const auto stages = PipelineOf(input, "torch_pipelining");
  if (!stages.ok()) return stages.status();
  std::string points;
  for (std::size_t i = 1; i < stages->size(); ++i) {
    const StageLayers& stage = (*stages)[i];
    if (stage.num_layers == 0) {
      return CannotExpress("torch_pipelining",
                           absl::StrCat("stage ", i, " has no numbered layer, before which it could be split"));
    }
    absl::StrAppendFormat(&points, "    \"layers.%d\": SplitPoint.BEGINNING,\n", stage.first_layer);
  }
  return Exported{
      absl::StrCat("from torch.distributed.pipelining import SplitPoint\n\nsplit_spec = {\n", points, "}\n"),
      "pass it to torch.distributed.pipelining.pipeline(module, mb_args, split_spec=split_spec)"};
}

absl::StatusOr<Exported> ExportVllm(const ExportInput& input) {
  const auto stages = PipelineOf(input, "vllm");
  if (!stages.ok()) return stages.status();
  if (input.plan.problem().workload() == v1::WORKLOAD_TRAINING) {
    return CannotExpress("vllm", "it is for training, and vLLM serves; plan with --workload=inference");
  }
  const auto is_empty = [](const StageLayers& stage) { return stage.num_layers == 0; };
  const auto empty = std::find_if(stages->begin(), stages->end(), is_empty);
  if (empty != stages->end()) {
    return CannotExpress("vllm", absl::StrCat("stage ", empty - stages->begin(),
                                              " has no numbered layer, and every rank must have one; plan for fewer "
                                              "devices with --max_devices"));
  }
  const auto append_count = [](std::string* out, const StageLayers& stage) { absl::StrAppend(out, stage.num_layers); };
  return Exported{
      absl::StrCat(absl::StrJoin(*stages, ",", append_count), "\n"),
      absl::StrFormat("set VLLM_PP_LAYER_PARTITION to it, with --pipeline-parallel-size %d", stages->size())};
}

}  // namespace planwright::client
