#include "client/cli/commands/training_memory.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/message_differencer.h"

namespace planwright::client {
namespace {

constexpr char kPreset[] = "adam_mixed";
constexpr std::array<std::string_view, 7> kTransformers = {
    "zoo:bert", "zoo:gpt", "zoo:llama", "zoo:transformer", "zoo:mixtral", "zoo:deepseek", "zoo:qwen3"};

bool IsTransformer(std::string_view model) {
  return std::any_of(kTransformers.begin(), kTransformers.end(),
                     [model](std::string_view prefix) { return model.starts_with(prefix); });
}

// Bytes that devices keep for other things say nothing of training.
bool SaysNothing(v1::MemoryModel memory) {
  memory.clear_reserved_bytes();
  return google::protobuf::util::MessageDifferencer::Equals(memory, v1::MemoryModel());
}

bool IsPipelineOfStages(const v1::PlanningProblem& problem) {
  return problem.split() == v1::SPLIT_UNSPECIFIED || problem.split() == v1::SPLIT_CONTIGUOUS;
}

bool HasShape(const v1::CreatePlanRequest& request) {
  return IsTransformer(request.graph_reference()) || request.graph().has_transformer();
}

}  // namespace

std::string AskForTrainingMemory(v1::CreatePlanRequest& request, std::string_view model, bool takes_schedule) {
  v1::PlanningProblem& problem = *request.mutable_problem();
  const bool is_throughput =
      problem.objective() == v1::OBJECTIVE_UNSPECIFIED || problem.objective() == v1::OBJECTIVE_MAX_THROUGHPUT;
  // The joint search counts all of it.
  if (problem.has_joint()) return "";
  const bool is_transformer = IsTransformer(model) || HasShape(request);
  if (!is_transformer || problem.workload() == v1::WORKLOAD_INFERENCE || !is_throughput ||
      !SaysNothing(problem.memory_model()) || problem.schedule() == v1::SCHEDULE_KIND_PERIODIC) {
    return "";
  }
  problem.mutable_memory_model()->set_preset(kPreset);
  const bool has_schedule = problem.schedule() != v1::SCHEDULE_KIND_UNSPECIFIED;
  const bool may_have_any = IsPipelineOfStages(problem) && request.options().algorithm() <= v1::ALGORITHM_AUTO;
  const std::string off = "--memory_preset=sgd counts less";
  if (has_schedule || !may_have_any || !takes_schedule) {
    return absl::StrCat("the memory of training with an optimizer was asked for (--memory_preset=", kPreset, "); ",
                        off);
  }
  problem.set_schedule(v1::SCHEDULE_KIND_ONE_F_ONE_B);
  return absl::StrCat("the memory of training with an optimizer and 1F1B was asked for (--memory_preset=", kPreset,
                      " --schedule=one_f_one_b); ", off);
}

std::string PipelinesOnly(const v1::CreatePlanRequest& request, std::string_view model, const v1::Plan& plan) {
  const v1::PlanningProblem& problem = plan.problem();
  const bool is_transformer = IsTransformer(model) || HasShape(request);
  if (!is_transformer || plan.has_joint() || problem.workload() != v1::WORKLOAD_TRAINING ||
      problem.schedule() == v1::SCHEDULE_KIND_PERIODIC || plan.devices_size() < 2) {
    return "";
  }
  return "pipelines only: --global_batch=SAMPLES also chooses tensor, data, context and expert ranks";
}

std::string OperatorsInVain(const v1::CreatePlanRequest& request) {
  const v1::PlanningProblem& problem = request.problem();
  const bool has_encoder = request.graph_reference().starts_with("zoo:bert");
  const bool is_whole = problem.has_joint() && HasShape(request) && !has_encoder;
  if (!is_whole || problem.granularity() != v1::GRANULARITY_OPERATOR) return "";
  return "--granularity=operator does not count for transformers beside --global_batch: operators of a layer stay "
         "together";
}

std::string HintWhereNothingFits(const v1::CreatePlanRequest& request) {
  if (request.problem().has_joint() || !HasShape(request)) return "";
  return "Every operator is whole on a device here; --global_batch=SAMPLES may divide operators among tensor ranks, "
         "shard the optimizer and compute layers again (docs/joint-search.md)";
}

}  // namespace planwright::client
