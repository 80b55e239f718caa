#include <memory>
#include <string>
#include <utility>

#include "client/cli/commands.h"
#include "client/cli/errors.h"
#include "client/cli/files.h"
#include "client/cli/shared_flags.h"
#include "client/importer/importer.h"
#include "client/report/json.h"
#include "client/report/text_report.h"

namespace planwright::client {
namespace {

class EvaluateCommand final : public Command {
 public:
  std::string_view name() const override { return "evaluate"; }
  std::string_view summary() const override { return "check and cost a plan that anybody made"; }
  std::string_view usage() const override {
    return "planwright evaluate --graph=FILE|zoo:NAME --plan=FILE|- [--cluster=FILE|zoo:NAME] [flags]\n"
           "\n"
           "A plan is what `planwright plan --output=json` prints, text proto, or a split of device-placement. It is\n"
           "judged under its own problem unless flags say otherwise. Exit code 3: the plan is not valid.\n"
           "\n"
           "Examples:\n"
           "  planwright evaluate --graph=bert.json --plan=plan.json\n"
           "  planwright plan --graph=bert.json --output=json | planwright evaluate --graph=bert.json --plan=-\n"
           "  planwright evaluate --graph=layer_bert24_inference.json --plan=expert_bert24_inference.json\n";
  }

  std::vector<FlagGroup> Flags() override {
    std::vector<FlagGroup> groups = {input_.Flags(), ProblemFlags(problem_), server_.Flags(), output_.Flags()};
    groups.front().flags.push_back(StringFlag("plan", "FILE|-", "the plan to judge (- reads standard input)", plan_));
    return groups;
  }

  absl::StatusOr<ExitCode> Run(Environment& environment) override {
    auto request = Load(environment);
    if (!request.ok()) return request.status();
    const auto response =
        server_.Connect(environment)->EvaluatePlan(*request, CallOptions{.stop = environment.interrupt});
    if (!response.ok()) return response.status();
    const std::string text = output_.is_json() ? JsonText(*response) : EvaluationReport(*response, input_.Title());
    const absl::Status written = output_.Write(text, environment);
    if (!written.ok()) return written;
    return response->valid() ? ExitCode::kOk : ExitCode::kInfeasible;
  }

 private:
  absl::StatusOr<v1::EvaluatePlanRequest> Load(Environment& environment) {
    if (plan_.empty()) return UsageError("--plan is missing", "Name a file that holds a plan.");
    if (plan_ == "-" && input_.graph() == "-") {
      return UsageError("graph and plan cannot both come from standard input", "Put one of them into a file.");
    }
    auto input = input_.Load(environment);
    if (!input.ok()) return input.status();
    auto plan = LoadPlan(environment, input->has_graph() ? &input->graph() : nullptr);
    if (!plan.ok()) return plan.status();
    return MakeRequest(*std::move(input), *std::move(plan));
  }

  absl::StatusOr<v1::Plan> LoadPlan(Environment& environment, const v1::Graph* graph) const {
    const std::string hint = "Mend " + InputName(plan_) + " and try again.";
    const auto text = ReadInput(plan_, environment.in);
    if (!text.ok()) return WithDefaultHint(text.status(), hint);
    auto plan = ImportPlan(*text, InputName(plan_), graph);
    if (!plan.ok()) return WithDefaultHint(plan.status(), hint);
    return plan;
  }

  // The problem: what the plan says, else what the graph's file says; flags override single settings.
  v1::EvaluatePlanRequest MakeRequest(v1::CreatePlanRequest input, v1::Plan plan) const {
    v1::EvaluatePlanRequest request;
    v1::PlanningProblem& problem = *request.mutable_problem();
    problem = plan.has_problem() ? plan.problem() : input.problem();
    if (problem_.objective() != v1::OBJECTIVE_UNSPECIFIED || problem_.split() != v1::SPLIT_UNSPECIFIED) {
      // What a device may hold was resolved for the mode of the plan, and means nothing in another.
      problem.clear_max_stages_per_device();
      problem.clear_max_subgraphs_per_device();
    }
    problem.MergeFrom(problem_);
    *request.mutable_plan() = std::move(plan);
    if (input.has_graph()) {
      *request.mutable_graph() = std::move(*input.mutable_graph());
    } else {
      request.set_graph_reference(input.graph_reference());
    }
    if (input.has_cluster()) {
      *request.mutable_cluster() = std::move(*input.mutable_cluster());
    } else {
      request.set_cluster_reference(input.cluster_reference());
    }
    return request;
  }

  InputFlags input_;
  std::string plan_;
  v1::PlanningProblem problem_;
  ServerFlags server_;
  OutputFlags output_;
};

}  // namespace

std::unique_ptr<Command> MakeEvaluateCommand() { return std::make_unique<EvaluateCommand>(); }

}  // namespace planwright::client
