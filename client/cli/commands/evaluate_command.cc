#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/commands/commands.h"
#include "client/cli/commands/given_plan.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/message_flags.h"
#include "client/cli/terminal/resolve_input.h"
#include "client/cli/terminal/shared_flags.h"
#include "client/report/json.h"
#include "client/report/text_report.h"

namespace planwright::client {
namespace {

// What a device may hold was resolved for the mode of the plan, and means nothing in another; so does a target.
void ForgetOtherMode(const v1::PlanningProblem& asked, v1::PlanningProblem& problem) {
  const bool is_other_mode =
      asked.objective() != v1::OBJECTIVE_UNSPECIFIED || asked.split() != v1::SPLIT_UNSPECIFIED ||
      (asked.schedule() != v1::SCHEDULE_KIND_UNSPECIFIED && asked.schedule() != problem.schedule());
  if (is_other_mode) {
    problem.clear_max_stages_per_device();
    problem.clear_max_subgraphs_per_device();
  }
  const bool keeps_target =
      asked.objective() == v1::OBJECTIVE_UNSPECIFIED || asked.objective() == v1::OBJECTIVE_MIN_DEVICES;
  if (!keeps_target) problem.clear_target_period_ms();
}

// What a parameter costs was resolved for the preset, the kind of memory and the workload of the plan: settings of
// these replace it.
void ForgetOtherMemory(const v1::PlanningProblem& asked, v1::PlanningProblem& problem) {
  const v1::MemoryModel::Kind kind = asked.memory_model().kind();
  v1::MemoryModel& memory = *problem.mutable_memory_model();
  const bool is_other_kind = kind != v1::MemoryModel::KIND_UNSPECIFIED && kind != memory.kind();
  const bool is_other_workload = asked.workload() != v1::WORKLOAD_UNSPECIFIED && asked.workload() != problem.workload();
  if (asked.memory_model().preset().empty() && !is_other_kind && !is_other_workload) return;
  memory.clear_weight_versions();
  memory.clear_gradient_copies();
  memory.clear_optimizer_bytes_per_parameter_byte();
  if (is_other_kind) memory.clear_reserved_bytes();
}

class EvaluateCommand final : public Command {
 public:
  std::string_view name() const override { return "evaluate"; }
  std::string_view summary() const override { return "check and cost a plan that anybody made"; }
  std::string_view usage() const override {
    return "planwright evaluate --graph=FILE|zoo:NAME --plan=FILE|plans/ID|- [--cluster=FILE|zoo:NAME] [flags]\n"
           "\n"
           "A plan is what `planwright plan --output=json` prints, text proto, a split of device-placement, or what\n"
           "others run: a layout or the arguments of Megatron-LM, torchtitan's list, vLLM's counts, PipeDream's graph\n"
           "with stages, Piper's plan; those take the accelerators of the cluster in their order. It is judged under\n"
           "its own problem unless flags say otherwise. Exit code 3: the plan is not valid.\n"
           "\n"
           "Examples:\n"
           "  planwright plan --graph=zoo:bert-large --cluster=zoo:pcie:4 --output=json --output_file=plan.json\n"
           "  planwright evaluate --graph=zoo:bert-large --cluster=zoo:pcie:4 --plan=plan.json\n"
           "  echo 'Et*6|t*6|t*6|t*6L' | planwright evaluate --graph=zoo:bert-large --cluster=zoo:pcie:4 --plan=-\n"
           "  planwright evaluate --graph=zoo:bert-large --cluster=zoo:pcie:4 --plan=- --reserved_bytes=1GiB < "
           "plan.json\n";
  }

  std::vector<FlagGroup> Flags() override {
    return given_.WithFileFlags({given_.Flags(), ProblemFlags(problem_, &settings_), server_.Flags(), output_.Flags()});
  }

  absl::StatusOr<ExitCode> Run(Environment& environment) override {
    auto given = given_.Load(environment, problem_);
    if (!given.ok()) return given.status();
    const auto client = server_.Connect(environment);
    const CallOptions call{.stop = environment.interrupt};
    const v1::EvaluatePlanRequest request = MakeRequest(*std::move(given));
    const auto response = client->EvaluatePlan(request, call);
    if (!response.ok()) return response.status();
    const std::string text = output_.is_json()
                                 ? JsonText(*response)
                                 : EvaluationReport(*response, given_.Title(), CpusOf(*client, call, request));
    const absl::Status written = output_.Write(text, environment);
    if (!written.ok()) return written;
    return response->valid() ? ExitCode::kOk : ExitCode::kInfeasible;
  }

 private:
  // The problem of the plan; flags override single settings, and what was resolved from those.
  v1::EvaluatePlanRequest MakeRequest(GivenPlan given) const {
    v1::EvaluatePlanRequest request;
    v1::PlanningProblem& problem = *request.mutable_problem();
    problem = given.Problem(problem_);
    ForgetOtherMode(problem_, problem);
    ForgetOtherMemory(problem_, problem);
    // 0 and false would not be merged, lists would be appended.
    for (const std::string& path : settings_) ClearFieldAt(path, problem);
    problem.MergeFrom(problem_);
    *request.mutable_plan() = std::move(given.plan);
    MoveSources(std::move(given.input), request);
    return request;
  }

  v1::PlanningProblem problem_;
  // What flags set of it.
  std::vector<std::string> settings_;
  ServerFlags server_;
  GivenPlanFlags given_{server_};
  OutputFlags output_;
};

}  // namespace

std::unique_ptr<Command> MakeEvaluateCommand() { return std::make_unique<EvaluateCommand>(); }

}  // namespace planwright::client
