#include "client/cli/commands/runnable_on.h"

#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands/runnable_joint.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/resolve_input.h"
#include "client/exporter/exporter.h"
#include "client/library/did_you_mean.h"

namespace planwright::client {
namespace {

absl::StatusOr<const ExportTarget*> FindTarget(std::string_view name) {
  const ExportTarget* target = FindExportTarget(name);
  if (target != nullptr && target->runs_pipelines) return target;
  const std::vector<std::string> names = RunnableTargets();
  return UsageError(
      absl::StrCat("--runnable_on: \"", std::string(name), "\" runs no pipelines of layers", DidYouMean(name, names)),
      absl::StrCat("Targets: ", absl::StrJoin(names, ", "), "."));
}

// Settings that no plan of whole layers with equal replicas has.
absl::Status CheckSettings(const ExportTarget& target, const v1::PlanningProblem& problem) {
  if (problem.granularity() == v1::GRANULARITY_OPERATOR) {
    return Contradiction(target.name, "--granularity=operator", "it wants whole layers");
  }
  if (problem.split() == v1::SPLIT_NON_CONTIGUOUS) {
    return Contradiction(target.name, "--split=non_contiguous", "its stages are contiguous");
  }
  if (problem.replication() == v1::REPLICATION_PER_STAGE) {
    return Contradiction(target.name, "--replication=per_stage", "its stages have as many replicas each");
  }
  if (problem.objective() == v1::OBJECTIVE_MIN_LATENCY) {
    return Contradiction(target.name, "--objective=min_latency", "its stages form a pipeline");
  }
  if (target.serves && problem.workload() == v1::WORKLOAD_TRAINING) {
    return Contradiction(target.name, "--workload=training", "it serves");
  }
  if (!target.serves && problem.workload() == v1::WORKLOAD_INFERENCE) {
    return Contradiction(target.name, "--workload=inference", "it trains");
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> RunnableTargets() {
  std::vector<std::string> names;
  for (const ExportTarget& target : ExportTargets()) {
    if (target.runs_pipelines) names.emplace_back(target.name);
  }
  return names;
}

absl::Status MakeRunnable(std::string_view target, PlanningClient& client, const CallOptions& call,
                          v1::CreatePlanRequest& request) {
  const auto found = FindTarget(target);
  if (!found.ok()) return found.status();
  v1::PlanningProblem& problem = *request.mutable_problem();
  if (problem.has_joint()) return CheckJointTarget((*found)->name, problem);
  const absl::Status checked = CheckSettings(**found, problem);
  if (!checked.ok()) return checked;
  problem.set_granularity(v1::GRANULARITY_LAYER);
  problem.set_workload((*found)->serves ? v1::WORKLOAD_INFERENCE : v1::WORKLOAD_TRAINING);
  for (const std::string& cpu : CpusOf(client, call, request)) {
    problem.mutable_devices_to_use()->add_excluded_devices(cpu);
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::CreatePlanResponse> PlanRunnable(std::string_view target, PlanningClient& client,
                                                    const CallOptions& call, const v1::CreatePlanRequest& request,
                                                    const PlanSearch& search) {
  const auto found = FindTarget(target);
  if (!found.ok()) return found.status();
  std::optional<v1::Graph> graph;
  const auto express = [&](const v1::Plan& plan) {
    if (!graph.has_value()) {
      v1::CreatePlanRequest named = request;
      const absl::Status resolved = ResolveGraph(client, call, named);
      if (!resolved.ok()) return resolved;
      graph = std::move(*named.mutable_graph());
    }
    return (*found)->write({.plan = plan, .graph = &*graph}).status();
  };
  if (request.problem().has_joint()) {
    const auto spent = [start = CallOptions::Clock::now()] {
      return std::chrono::duration_cast<std::chrono::milliseconds>(CallOptions::Clock::now() - start);
    };
    return PlanJointlyFor((*found)->name, request, {.plan = search, .express = express, .spent = spent});
  }
  auto response = search(request);
  if (!response.ok()) return response;
  const absl::Status expressed = express(response->plan());
  if (expressed.ok()) return response;
  return UsageError(std::string(expressed.message()), "Leave out --runnable_on, or choose another target.");
}

}  // namespace planwright::client
