#include "client/cli/commands/given_plan.h"

#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "client/cli/commands/store_access.h"
#include "client/cli/commands/training_memory.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/files.h"
#include "client/cli/terminal/resolve_input.h"
#include "client/importer/importer.h"
#include "client/importer/plans/foreign_plan.h"

namespace planwright::client {
namespace {

// Files in a folder of that name are files.
bool IsKept(const std::string& name) {
  std::error_code ignored;
  return name.starts_with("plans/") && !std::filesystem::exists(name, ignored);
}

// As interleaved layouts do.
bool HasDeviceOfSeveralStages(const v1::Plan& plan) {
  std::set<std::string_view> devices;
  for (const v1::Stage& stage : plan.stages()) {
    for (const v1::Replica& replica : stage.replicas()) {
      if (!devices.insert(replica.device()).second) return true;
    }
  }
  return false;
}

absl::StatusOr<v1::Plan> FetchPlan(const std::string& name, const ServerFlags& server, const Environment& environment) {
  const auto access = ConnectToStore(server, environment);
  if (!access.ok()) return access.status();
  v1::GetPlanRequest request;
  request.set_name(name);
  auto response = access->store->GetPlan(request, ShortCall(environment));
  if (!response.ok()) return WithNotFoundHint(response.status(), "`planwright plans` lists what there is.");
  return std::move(*response->mutable_plan());
}

// A plan that says neither operators nor devices: those of the input.
absl::StatusOr<v1::Plan> LoadForeignPlan(const std::string& text, const std::string& source,
                                         const v1::CreatePlanRequest& input, const ServerFlags& server,
                                         const Environment& environment) {
  v1::CreatePlanRequest known = input;
  const auto client = server.Connect(environment);
  absl::Status status = ResolveGraph(*client, ShortCall(environment), known);
  if (status.ok()) status = ResolveCluster(*client, ShortCall(environment), known);
  if (!status.ok()) return status;
  if (!known.has_graph() || !known.has_cluster()) {
    return UsageError(source + ": names neither operators nor devices",
                      "Say what it is for with --graph and --cluster.");
  }
  auto plan = ReadForeignPlan(text, source, known.graph(), known.cluster(), known.problem());
  if (!plan.ok()) return plan;
  for (const std::string& warning : plan->warnings()) PrintNote("warning: ", warning, environment.err);
  plan->clear_warnings();
  return plan;
}

}  // namespace

FlagGroup GivenPlanFlags::Flags() {
  FlagGroup group = input_.Flags();
  group.flags.push_back(StringFlag("plan", "FILE|plans/ID|-",
                                   "the plan: a file (- reads standard input), or one that a server keeps", plan_));
  return group;
}

absl::StatusOr<GivenPlan> GivenPlanFlags::Load(Environment& environment, const v1::PlanningProblem& asked) {
  if (plan_.empty()) return UsageError("--plan is missing", "Name a file that holds a plan, or plans/ID of a server.");
  if (plan_ == "-" && input_.graph() == "-") {
    return UsageError("graph and plan cannot both come from standard input", "Put one of them into a file.");
  }
  auto input = input_.Load(environment);
  if (!input.ok()) return input.status();
  v1::CreatePlanRequest meant = *input;
  meant.mutable_problem()->MergeFrom(asked);
  auto plan = LoadPlan(plan_, meant, "Mend " + InputName(plan_) + " and try again.", server_, environment);
  if (!plan.ok()) return plan.status();
  return GivenPlan{*std::move(input), *std::move(plan), input_.model()};
}

v1::PlanningProblem GivenPlan::Problem(const v1::PlanningProblem& asked) const {
  if (plan.has_problem()) return plan.problem();
  v1::CreatePlanRequest request;
  if (input.graph().has_transformer()) *request.mutable_graph()->mutable_transformer() = input.graph().transformer();
  *request.mutable_problem() = input.problem();
  request.mutable_problem()->MergeFrom(asked);
  const bool is_any_split = request.problem().split() == v1::SPLIT_UNSPECIFIED;
  if (is_any_split && HasDeviceOfSeveralStages(plan)) request.mutable_problem()->set_split(v1::SPLIT_NON_CONTIGUOUS);
  AskForTrainingMemory(request, model);
  return request.problem();
}

absl::StatusOr<v1::Plan> LoadPlan(const std::string& name, const v1::CreatePlanRequest& input, std::string_view hint,
                                  const ServerFlags& server, Environment& environment) {
  if (IsKept(name)) return FetchPlan(name, server, environment);
  const auto text = ReadInput(name, environment.in);
  if (!text.ok()) {
    return WithDefaultHint(text.status(), "Check the path; a plan that a server keeps is plans/ID.");
  }
  auto plan = RecognisePlan(*text) == ForeignPlan::kNone
                  ? ImportPlan(*text, InputName(name), input.has_graph() ? &input.graph() : nullptr)
                  : LoadForeignPlan(*text, InputName(name), input, server, environment);
  if (!plan.ok()) return WithDefaultHint(plan.status(), hint);
  return plan;
}

}  // namespace planwright::client
