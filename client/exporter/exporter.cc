#include "client/exporter/exporter.h"

#include <algorithm>
#include <array>

#include "client/exporter/accelerate.h"
#include "client/exporter/dot.h"
#include "client/exporter/hostfile.h"
#include "client/exporter/planners.h"
#include "client/exporter/schedule_csv.h"
#include "client/exporter/svg.h"
#include "client/exporter/trainers.h"
#include "client/report/json.h"

namespace planwright::client {
namespace {

absl::StatusOr<Exported> ExportJson(const ExportInput& input) { return Exported{JsonText(input.plan), ""}; }

constexpr auto kTargets = std::to_array<ExportTarget>({
    {.name = "megatron",
     .summary = "the arguments of Megatron-LM, with --pipeline-model-parallel-layout",
     .needs_graph = true,
     .runs_pipelines = true,
     .write = &ExportMegatron},
    {.name = "torchtitan",
     .summary = "what a plan says of torchtitan's configuration, as Python",
     .needs_graph = true,
     .runs_pipelines = true,
     .write = &ExportTorchtitan},
    {.name = "torchtitan_toml",
     .summary = "the same as TOML, for releases until February 2026",
     .needs_graph = true,
     .runs_pipelines = true,
     .write = &ExportTorchtitanToml},
    {.name = "deepspeed",
     .summary = "a PipelineModule of DeepSpeed with these boundaries",
     .needs_graph = true,
     .runs_pipelines = true,
     .write = &ExportDeepspeed},
    {.name = "torch_pipelining",
     .summary = "split_spec of torch.distributed.pipelining",
     .needs_graph = true,
     .runs_pipelines = true,
     .write = &ExportTorchPipelining},
    {.name = "schedule_csv",
     .summary = "the order of work for its schedules, compute only",
     .write = &ExportScheduleCsv},
    {.name = "vllm",
     .summary = "the layer counts of vLLM's VLLM_PP_LAYER_PARTITION",
     .needs_graph = true,
     .runs_pipelines = true,
     .serves = true,
     .write = &ExportVllm},
    {.name = "accelerate",
     .summary = "the device_map of Hugging Face's accelerate, for a Llama",
     .needs_graph = true,
     .needs_cluster = true,
     .write = &ExportAccelerate},
    {.name = "hostfile",
     .summary = "a host file of Open MPI and DeepSpeed, in the order of the ranks",
     .needs_cluster = true,
     .write = &ExportHostfile},
    {.name = "rankfile", .summary = "a rank file of Open MPI", .needs_cluster = true, .write = &ExportRankfile},
    {.name = "slurm_hostfile",
     .summary = "the host of each task, for SLURM_HOSTFILE",
     .needs_cluster = true,
     .write = &ExportSlurmHostfile},
    {.name = "kubernetes",
     .summary = "a patch for pods with the hosts of the plan",
     .needs_cluster = true,
     .write = &ExportKubernetes},
    {.name = "pipedream",
     .summary = "PipeDream's graph with the stage of each node",
     .needs_graph = true,
     .write = &ExportPipedream},
    {.name = "piper", .summary = "the plan as Piper writes it", .write = &ExportPiper},
    {.name = "dot", .summary = "a picture of the stages for Graphviz", .needs_graph = true, .write = &ExportDot},
    {.name = "svg", .summary = "a picture of the load of every device", .write = &ExportSvg},
    {.name = "json", .summary = "the plan itself, as `plan --output=json` prints it", .write = &ExportJson},
});

}  // namespace

std::span<const ExportTarget> ExportTargets() { return kTargets; }

const ExportTarget* FindExportTarget(std::string_view name) {
  const auto* const found = std::find_if(kTargets.begin(), kTargets.end(),
                                         [name](const ExportTarget& target) { return target.name == name; });
  return found == kTargets.end() ? nullptr : found;
}

}  // namespace planwright::client
