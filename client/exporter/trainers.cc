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
#include "client/exporter/model_layers.h"

namespace planwright::client {
namespace {

// A pipeline of whole layers with the same number of replicas everywhere, the front first and the back last. What these
// targets train and serve are transformers, whose layers follow an embedding.
absl::StatusOr<std::vector<StageLayers>> PipelineOf(const ExportInput& input, const char* target) {
  auto stages = LayersOfStages(*input.graph, input.plan, target);
  if (!stages.ok()) return stages;
  const auto has_front = [](const StageLayers& stage) { return !stage.front.empty(); };
  if (std::none_of(stages->begin(), stages->end(), has_front)) {
    return CannotExpress(target, "the model begins with a numbered layer, where transformers have an embedding");
  }
  const int replicas = input.plan.stages(0).replicas_size();
  for (std::size_t i = 0; i < stages->size(); ++i) {
    const StageLayers& stage = (*stages)[i];
    const int own = input.plan.stages(static_cast<int>(i)).replicas_size();
    if (own != replicas) {
      return CannotExpress(target, absl::StrFormat("stage 0 has %d replicas and stage %d has %d; every stage must have "
                                                   "the same number",
                                                   replicas, i, own));
    }
    if (i > 0 && !stage.front.empty()) {
      return CannotExpress(target, absl::StrCat(stage.front.front(), " is in stage ", i, ", and must be in the first"));
    }
    if (i + 1 < stages->size() && !stage.back.empty()) {
      return CannotExpress(target, absl::StrCat(stage.back.front(), " is in stage ", i, ", and must be in the last"));
    }
  }
  return stages;
}

std::size_t CountLayers(const std::vector<StageLayers>& stages) {
  std::size_t count = 0;
  for (const StageLayers& stage : stages) count += stage.num_layers;
  return count;
}

// "", "t", "t*15".
std::string Repeated(char letter, std::size_t count) {
  if (count == 0) return "";
  return count == 1 ? std::string(1, letter) : absl::StrCat(std::string(1, letter), "*", count);
}

// The modules of one stage, by the names that torchtitan gives them.
std::vector<std::string> ModulesOf(const StageLayers& stage, bool is_first, bool is_last) {
  std::vector<std::string> modules;
  if (is_first) modules.emplace_back("\"tok_embeddings\"");
  for (std::size_t i = 0; i < stage.num_layers; ++i) {
    modules.push_back(absl::StrCat("\"layers.", stage.first_layer + i, "\""));
  }
  if (is_last) modules.insert(modules.end(), {"\"norm\"", "\"output\""});
  return modules;
}

}  // namespace

absl::StatusOr<Exported> ExportMegatron(const ExportInput& input) {
  const auto stages = PipelineOf(input, "megatron");
  if (!stages.ok()) return stages.status();
  std::vector<std::string> layout;
  for (const StageLayers& stage : *stages) layout.push_back(Repeated('t', stage.num_layers));
  layout.front().insert(0, "E");
  layout.back().append("L");
  return Exported{absl::StrCat(absl::StrJoin(layout, "|"), "\n"),
                  absl::StrFormat("pass it as --pipeline-model-parallel-layout, with --pipeline-model-parallel-size %d "
                                  "--num-layers %d and data parallelism %d",
                                  stages->size(), CountLayers(*stages), input.plan.stages(0).replicas_size())};
}

absl::StatusOr<Exported> ExportTorchtitan(const ExportInput& input) {
  const auto stages = PipelineOf(input, "torchtitan");
  if (!stages.ok()) return stages.status();
  std::string parts;
  for (std::size_t i = 0; i < stages->size(); ++i) {
    const bool is_last = i + 1 == stages->size();
    absl::StrAppend(&parts, "    [", absl::StrJoin(ModulesOf((*stages)[i], i == 0, is_last), ", "), "],\n");
  }
  return Exported{absl::StrFormat("[parallelism]\n"
                                  "pipeline_parallel_degree = %d\n"
                                  "data_parallel_replicate_degree = %d\n"
                                  "module_fqns_per_model_part = [\n%s]\n",
                                  stages->size(), input.plan.stages(0).replicas_size(), parts),
                  "merge it into the job's TOML file"};
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
