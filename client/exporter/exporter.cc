#include "client/exporter/exporter.h"

#include <algorithm>
#include <array>

#include "client/exporter/dot.h"
#include "client/exporter/hostfile.h"
#include "client/exporter/svg.h"
#include "client/exporter/trainers.h"
#include "client/report/json.h"

namespace planwright::client {
namespace {

absl::StatusOr<Exported> ExportJson(const ExportInput& input) { return Exported{JsonText(input.plan), ""}; }

constexpr std::array<ExportTarget, 7> kTargets = {{
    {.name = "megatron",
     .summary = "the layout string of Megatron-LM's --pipeline-model-parallel-layout",
     .needs_graph = true,
     .runs_pipelines = true,
     .write = &ExportMegatron},
    {.name = "torchtitan",
     .summary = "module_fqns_per_model_part of torchtitan, as TOML",
     .needs_graph = true,
     .runs_pipelines = true,
     .write = &ExportTorchtitan},
    {.name = "vllm",
     .summary = "the layer counts of vLLM's VLLM_PP_LAYER_PARTITION",
     .needs_graph = true,
     .runs_pipelines = true,
     .serves = true,
     .write = &ExportVllm},
    {.name = "hostfile",
     .summary = "a host file of Open MPI and DeepSpeed, in the order of the ranks",
     .needs_cluster = true,
     .write = &ExportHostfile},
    {.name = "dot", .summary = "a picture of the stages for Graphviz", .needs_graph = true, .write = &ExportDot},
    {.name = "svg", .summary = "a picture of the load of every device", .write = &ExportSvg},
    {.name = "json", .summary = "the plan itself, as `plan --output=json` prints it", .write = &ExportJson},
}};

}  // namespace

std::span<const ExportTarget> ExportTargets() { return kTargets; }

const ExportTarget* FindExportTarget(std::string_view name) {
  const auto* const found = std::find_if(kTargets.begin(), kTargets.end(),
                                         [name](const ExportTarget& target) { return target.name == name; });
  return found == kTargets.end() ? nullptr : found;
}

}  // namespace planwright::client
