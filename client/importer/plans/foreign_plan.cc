#include "client/importer/plans/foreign_plan.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
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

// Keeps the hint.
absl::Status Of(std::string_view source, const absl::Status& status) {
  absl::Status refused = Refused(source, std::string_view(status.message().data(), status.message().size()));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) { refused.SetPayload(url, payload); });
  return refused;
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

bool AsksForTurns(const v1::PlanningProblem& problem) {
  return problem.has_joint() && problem.replication() == v1::REPLICATION_PER_STAGE &&
         problem.joint().degrees() != v1::JOINT_DEGREES_PER_STAGE;
}

// Stages with nodes and degrees of parallelism.
class PiperPlanReader {
 public:
  PiperPlanReader(std::string_view source, bool takes_turns) : source_(source), takes_turns_(takes_turns) {}

  absl::StatusOr<v1::Plan> Read(std::string_view text, const v1::Cluster& cluster) {
    const json file = json::parse(text);
    FieldReader root(file, "", violations_);
    const json* stages = root.Array("stages");
    for (std::size_t i = 0; stages != nullptr && i < stages->size(); ++i) {
      FieldReader reader((*stages)[i], absl::StrCat("stages[", i, "]"), violations_);
      AddStage(reader);
    }
    if (plan_.stages().empty() && violations_.empty()) violations_.Add("stages", "must not be empty");
    if (!violations_.empty()) return violations_.ToStatus(source_);
    const absl::Status placed = PlaceStages(cluster, replicas_, replicas_.size(), plan_);
    if (!placed.ok()) return Of(source_, placed);
    return std::move(plan_);
  }

 private:
  void AddStage(FieldReader& reader) {
    reader.Require("nodes");
    v1::Stage& stage = *plan_.add_stages();
    stage.set_index(plan_.stages_size() - 1);
    const json* nodes = reader.Array("nodes");
    for (std::size_t k = 0; nodes != nullptr && k < nodes->size(); ++k) {
      const auto id = WholeNumber((*nodes)[k]);
      if (!id.has_value()) reader.Report("nodes", absl::StrCat("must hold ids of nodes, holds ", Shown((*nodes)[k])));
      stage.add_operators(absl::StrCat(id.value_or(0)));
    }
    const int64_t data = reader.Integer("dataParallelDegree", 1, kMaxReplicas).value_or(1);
    const int64_t tensor = reader.Integer("tensorParallelDegree", 1, kMaxReplicas).value_or(1);
    replicas_.push_back(static_cast<std::size_t>(std::min(data * tensor, kMaxReplicas)));
    if (takes_turns_) return AddChoices(reader, data, tensor, stage);
    if (tensor == 1) return;
    reader.Report("tensorParallelDegree",
                  "must be 1: stages that are split within operators are judged where replicas take turns alone "
                  "(--global_batch and --replication=per_stage)");
  }

  static void AddChoices(FieldReader& reader, int64_t data, int64_t tensor, v1::Stage& stage) {
    v1::JointStage& joint = *stage.mutable_joint();
    joint.set_tensor_degree(static_cast<int32_t>(tensor));
    joint.set_context_degree(1);
    joint.set_expert_degree(1);
    joint.set_data_degree(static_cast<int32_t>(data));
    const std::set<std::string> again = ComputedAgain(reader);
    v1::JointStage::Chunk& chunk = *joint.add_chunks();
    for (const std::string& name : stage.operators()) {
      chunk.add_layers(name);
      chunk.add_recomputation(again.contains(name) ? v1::LAYER_RECOMPUTATION_FULL : v1::LAYER_RECOMPUTATION_NONE);
    }
  }

  // Pairs of a node and how it runs.
  static std::set<std::string> ComputedAgain(FieldReader& reader) {
    constexpr char kVariants[] = "TMPCids";
    std::set<std::string> again;
    const json* variants = reader.Array(kVariants);
    for (std::size_t k = 0; variants != nullptr && k < variants->size(); ++k) {
      const json& pair = (*variants)[k];
      const auto id = pair.is_array() && pair.size() == 2 ? WholeNumber(pair[0]) : std::nullopt;
      const bool is_again = id.has_value() && pair[1] == "activation recomp";
      if (is_again) again.insert(absl::StrCat(*id));
      if (is_again || (id.has_value() && pair[1] == "vanilla")) continue;
      reader.Report(
          kVariants,
          absl::StrCat("must hold pairs of a node and \"vanilla\" or \"activation recomp\", holds ", Shown(pair)));
    }
    return again;
  }

  std::string_view source_;
  bool takes_turns_;
  ViolationList violations_;
  v1::Plan plan_;
  std::vector<std::size_t> replicas_;
};

// What the stages have in common where replicas take turns.
void AddTurns(const v1::Graph& graph, const v1::PlanningProblem& problem, v1::Plan& plan) {
  v1::JointPlan& joint = *plan.mutable_joint();
  joint.set_schedule(v1::SCHEDULE_KIND_ONE_F_ONE_B);
  joint.set_chunks_per_stage(1);
  joint.set_optimizer_sharding(v1::OPTIMIZER_SHARDING_NONE);
  joint.set_degrees(v1::JOINT_DEGREES_PER_STAGE);
  const int64_t samples =
      std::max<int64_t>(graph.has_samples_per_micro_batch() ? graph.samples_per_micro_batch() : 1, 1);
  joint.set_micro_batch_samples(samples);
  joint.set_micro_batches(problem.joint().global_batch() / samples);
}

absl::StatusOr<v1::Plan> ReadPiperPlan(std::string_view text, std::string_view source, const v1::Graph& graph,
                                       const v1::Cluster& cluster, const v1::PlanningProblem& problem) {
  const bool takes_turns = AsksForTurns(problem);
  auto plan = PiperPlanReader(source, takes_turns).Read(text, cluster);
  if (plan.ok() && takes_turns) AddTurns(graph, problem, *plan);
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

absl::StatusOr<TrainerStages> ReadTrainerStages(ForeignPlan kind, std::string_view text, const v1::Graph& graph) {
  if (kind == ForeignPlan::kMegatron) {
    const int64_t samples = std::max<int64_t>(graph.samples_per_micro_batch(), 1);
    return ReadMegatronStages(text, {samples, graph.transformer().sequence()});
  }
  if (kind == ForeignPlan::kTorchtitan) return ReadTorchtitanStages(text);
  return ReadVllmStages(text);
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
                                         const v1::Cluster& cluster, const v1::PlanningProblem& problem) {
  if (!IsUtf8(text)) return Refused(source, "is not valid UTF-8");
  const ForeignPlan kind = RecognisePlan(text);
  if (kind == ForeignPlan::kPipeDream) return ReadPipeDreamPlan(text, source, cluster);
  if (kind == ForeignPlan::kPiper) {
    const auto outline = OutlineOf(text, source);
    return outline.ok() ? ReadPiperPlan(text, source, graph, cluster, problem) : outline.status();
  }
  const auto stages = ReadTrainerStages(kind, text, graph);
  if (!stages.ok()) return Of(source, stages.status());
  auto plan = PlanOfLayers(*stages, graph, cluster);
  if (!plan.ok()) return Of(source, plan.status());
  for (const std::string& warning : stages->warnings)
    plan->add_warnings(absl::StrCat(std::string(source), ": ", warning));
  if (kind == ForeignPlan::kVllm) plan->mutable_problem()->set_workload(v1::WORKLOAD_INFERENCE);
  return plan;
}

}  // namespace planwright::client
