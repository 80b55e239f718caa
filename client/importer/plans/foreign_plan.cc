#include "client/importer/plans/foreign_plan.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/importer/graphs/pipedream.h"
#include "client/importer/plans/layer_rows.h"
#include "client/importer/plans/trainer_stages.h"
#include "client/importer/reading/json_fields.h"
#include "client/importer/reading/json_text.h"
#include "client/importer/reading/native.h"
#include "client/library/error_details.h"

namespace planwright::client {
namespace {

using nlohmann::json;

constexpr int64_t kMaxReplicas = 100'000;

absl::Status Refused(std::string_view source, std::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(source), ": ", std::string(reason)));
}

absl::Status Of(std::string_view source, const absl::Status& status) {
  return Refused(source, std::string_view(status.message().data(), status.message().size()));
}

bool HasOnly(std::string_view text, std::string_view letters) {
  return text.find_first_not_of(letters) == std::string_view::npos;
}

// Accelerators in the order of the cluster.
std::vector<std::string> AcceleratorsOf(const v1::Cluster& cluster) {
  std::set<std::string> cpus;
  for (const v1::DeviceClass& device_class : cluster.device_classes()) {
    if (device_class.kind() == v1::DEVICE_KIND_CPU) cpus.insert(device_class.name());
  }
  std::vector<std::string> devices;
  for (const v1::Device& device : cluster.devices()) {
    if (!cpus.contains(device.device_class())) devices.push_back(device.name());
  }
  constexpr int32_t kMost = 100'000;
  for (const v1::DeviceGroup& group : cluster.device_groups()) {
    if (cpus.contains(group.device_class())) continue;
    for (int32_t i = 0; i < std::min(group.count(), kMost); ++i)
      devices.push_back(absl::StrCat(group.name_prefix(), i));
  }
  return devices;
}

// `ranks` of the pipeline have devices of their own, the first of them for stages 0, ranks, 2 ranks, ...
absl::Status PlaceStages(const v1::Cluster& cluster, const std::vector<std::size_t>& replicas, std::size_t ranks,
                         v1::Plan& plan) {
  const std::vector<std::string> devices = AcceleratorsOf(cluster);
  std::vector<std::size_t> first(ranks + 1, 0);
  for (std::size_t rank = 0; rank < ranks; ++rank) first[rank + 1] = first[rank] + replicas[rank];
  if (first[ranks] > devices.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan needs ", first[ranks], " accelerators, the cluster has ", devices.size()));
  }
  for (int stage = 0; stage < plan.stages_size(); ++stage) {
    const std::size_t rank = static_cast<std::size_t>(stage) % ranks;
    for (std::size_t copy = 0; copy < replicas[rank]; ++copy) {
      v1::Replica& replica = *plan.mutable_stages(stage)->add_replicas();
      replica.set_device(devices[first[rank] + copy]);
      replica.set_copy(static_cast<int32_t>(copy));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Plan> PlanOfLayers(const TrainerStages& read, const v1::Graph& graph, const v1::Cluster& cluster) {
  const auto operators = OperatorsOfStages(graph, read.stages);
  if (!operators.ok()) return operators.status();
  v1::Plan plan;
  for (const std::vector<std::string>& names : *operators) {
    v1::Stage& stage = *plan.add_stages();
    stage.set_index(plan.stages_size() - 1);
    stage.mutable_operators()->Add(names.begin(), names.end());
  }
  const absl::Status placed = PlaceStages(cluster, std::vector<std::size_t>(read.ranks, 1), read.ranks, plan);
  if (!placed.ok()) return placed;
  return plan;
}

// Stages with nodes and degrees of parallelism.
absl::StatusOr<v1::Plan> ReadPiperPlan(std::string_view text, std::string_view source, const v1::Cluster& cluster) {
  const json file = json::parse(text);
  ViolationList violations;
  FieldReader root(file, "", violations);
  const json* stages = root.Array("stages");
  v1::Plan plan;
  std::vector<std::size_t> replicas;
  for (std::size_t i = 0; stages != nullptr && i < stages->size(); ++i) {
    FieldReader reader((*stages)[i], absl::StrCat("stages[", i, "]"), violations);
    reader.Require("nodes");
    v1::Stage& stage = *plan.add_stages();
    stage.set_index(static_cast<int32_t>(i));
    const json* nodes = reader.Array("nodes");
    for (std::size_t k = 0; nodes != nullptr && k < nodes->size(); ++k) {
      const auto id = WholeNumber((*nodes)[k]);
      if (!id.has_value()) reader.Report("nodes", absl::StrCat("must hold ids of nodes, holds ", Shown((*nodes)[k])));
      stage.add_operators(absl::StrCat(id.value_or(0)));
    }
    replicas.push_back(static_cast<std::size_t>(reader.Integer("dataParallelDegree", 1, kMaxReplicas).value_or(1)));
    if (reader.Integer("tensorParallelDegree", 1, kMaxReplicas).value_or(1) > 1) {
      reader.Report("tensorParallelDegree", "must be 1: stages that are split within operators cannot be judged here");
    }
  }
  if (plan.stages().empty() && violations.empty()) violations.Add("stages", "must not be empty");
  if (!violations.empty()) return violations.ToStatus(source);
  const absl::Status placed = PlaceStages(cluster, replicas, replicas.size(), plan);
  if (!placed.ok()) return Of(source, placed);
  return plan;
}

absl::StatusOr<v1::Plan> ReadPipeDreamPlan(std::string_view text, std::string_view source, const v1::Cluster& cluster) {
  auto plan = ReadPipeDreamStages(text, source);
  if (!plan.ok()) return plan;
  const auto stages = static_cast<std::size_t>(plan->stages_size());
  const absl::Status placed = PlaceStages(cluster, std::vector<std::size_t>(stages, 1), stages, *plan);
  if (!placed.ok()) return Of(source, placed);
  return plan;
}

}  // namespace

ForeignPlan RecognisePlan(std::string_view text) {
  constexpr std::size_t kBeginning = 65536;
  const std::string_view beginning = text.substr(0, kBeginning);
  const std::size_t begin = beginning.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return ForeignPlan::kNone;
  if (beginning.find("module_fqns_per_model_part") != std::string_view::npos) return ForeignPlan::kTorchtitan;
  if (beginning[begin] == '[' && beginning.find("layers.") != std::string_view::npos) return ForeignPlan::kTorchtitan;
  if (beginning[begin] == '{') {
    const bool is_piper = beginning.find("\"dataParallelDegree\"") != std::string_view::npos;
    return is_piper ? ForeignPlan::kPiper : ForeignPlan::kNone;
  }
  if (HasPipeDreamStages(beginning.substr(begin))) return ForeignPlan::kPipeDream;
  if (beginning.find("VLLM_PP_LAYER_PARTITION") != std::string_view::npos) return ForeignPlan::kVllm;
  if (beginning.find("--pipeline-model-parallel") != std::string_view::npos) return ForeignPlan::kMegatron;
  const bool is_counts = HasOnly(text, "0123456789, \t\r\n") && text.find(',') != std::string_view::npos;
  if (is_counts) return ForeignPlan::kVllm;
  const bool is_layout = HasOnly(text, "EtmL|*(),0123456789 \t\r\n") && text.find('t') != std::string_view::npos;
  return is_layout ? ForeignPlan::kMegatron : ForeignPlan::kNone;
}

absl::StatusOr<v1::Plan> ReadForeignPlan(std::string_view text, std::string_view source, const v1::Graph& graph,
                                         const v1::Cluster& cluster) {
  if (!IsUtf8(text)) return Refused(source, "is not valid UTF-8");
  const ForeignPlan kind = RecognisePlan(text);
  if (kind == ForeignPlan::kPipeDream) return ReadPipeDreamPlan(text, source, cluster);
  if (kind == ForeignPlan::kPiper) {
    const auto outline = OutlineOf(text, source);
    return outline.ok() ? ReadPiperPlan(text, source, cluster) : outline.status();
  }
  const auto stages = kind == ForeignPlan::kMegatron     ? ReadMegatronStages(text)
                      : kind == ForeignPlan::kTorchtitan ? ReadTorchtitanStages(text)
                                                         : ReadVllmStages(text);
  if (!stages.ok()) return Of(source, stages.status());
  auto plan = PlanOfLayers(*stages, graph, cluster);
  if (!plan.ok()) return Of(source, plan.status());
  if (kind == ForeignPlan::kVllm) plan->mutable_problem()->set_workload(v1::WORKLOAD_INFERENCE);
  return plan;
}

}  // namespace planwright::client
