#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/given_plan.h"
#include "client/cli/commands/runnable_on.h"
#include "client/cli/commands/store_access.h"
#include "client/cli/commands/training_memory.h"
#include "client/cli/results/plan_page.h"
#include "client/cli/results/simulate.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/files.h"
#include "client/cli/terminal/input_flags.h"
#include "client/cli/terminal/message_flags.h"
#include "client/cli/terminal/progress.h"
#include "client/cli/terminal/resolve_input.h"
#include "client/cli/terminal/shared_flags.h"
#include "client/cli/terminal/time_limit.h"
#include "client/report/json.h"
#include "client/report/text_report.h"
#include "client/report/timeline/timeline_svg.h"
#include "client/report/timeline/trace.h"

namespace planwright::client {
namespace {

class PlanCommand final : public Command {
 public:
  std::string_view name() const override { return "plan"; }
  std::string_view summary() const override { return "make a plan: which operators run where"; }
  std::string_view usage() const override {
    return "planwright plan --graph=FILE|zoo:NAME [--cluster=FILE|zoo:NAME] [flags]\n"
           "\n"
           "Examples:\n"
           "  planwright plan --graph=zoo:bert-large --cluster=zoo:dgx1-v100:1\n"
           "  planwright plan --graph=zoo:bert-large --cluster=zoo:pcie:4 --time_limit=10s --gap=0.01 --explain\n"
           "  planwright plan --graph=zoo:bert-large --cluster=zoo:pcie:4 --save=plan.json\n"
           "  planwright plan --graph=zoo:bert-large --cluster=zoo:pcie:4 --start_from=plan.json --exclude=host0/gpu3\n"
           "  planwright plan --graph=zoo:bert-large --cluster=zoo:pcie:4 --server=localhost:50051\n"
           "  planwright plan --graph=zoo:llama3-70b --cluster=zoo:dgx-h100:8 --global_batch=512\n"
           "\n"
           "--output=html writes a page to look at (docs/page.md).\n";
  }

  std::vector<FlagGroup> Flags() override {
    std::vector<FlagGroup> groups = {input_.Flags(), ProblemFlags(problem_), SolverFlags(options_), server_.Flags(),
                                     output_.Flags()};
    groups[1].flags.push_back(
        StringFlag("start_from", "FILE|plans/ID|-",
                   "a plan to go on from after devices have failed or joined: as few of its stages "
                   "move as a plan about as fast as the best allows; with --global_batch the first plan of the search",
                   start_from_));
    groups[1].flags.push_back(MessageFlag("replan_tolerance", "replan_tolerance",
                                          "start_from: how much slower the plan may be, as a share (default: 0.05)",
                                          problem_));
    groups[1].flags.back().field = "problem.replan_tolerance";
    groups[1].flags.push_back(StringFlag("runnable_on", absl::StrJoin(RunnableTargets(), "|"),
                                         "plan what this trainer or server can run: whole layers, as many replicas of "
                                         "each stage, no CPUs; with --global_batch also degrees, sharding and "
                                         "recomputation as it has them, with the price of that",
                                         runnable_on_));
    groups.back().flags.push_back(StringFlag(
        "plan_id", "ID", "have the server keep the plan as plans/ID (`planwright plans` lists them)", plan_id_));
    groups.back().flags.push_back(
        StringFlag("save", "FILE", "write the plan there as JSON besides what is printed", save_));
    groups.back().flags.push_back(ProgressFlag(progress_));
    return input_.WithFileFlags(std::move(groups));
  }

  absl::StatusOr<ExitCode> Run(Environment& environment) override {
    const absl::Status can_write = output_.is_html() ? CheckPages() : absl::OkStatus();
    if (!can_write.ok()) return can_write;
    auto request = input_.LoadRequest(problem_, options_, environment);
    if (!request.ok()) return request.status();
    request->set_plan_id(plan_id_);
    const absl::Status runnable = Constrain(*request, environment);
    if (!runnable.ok()) return runnable;
    asked_ = AskForTrainingMemory(*request, input_.model());
    in_vain_ = OperatorsInVain(*request);
    hint_ = HintWhereNothingFits(*request);
    const absl::Status started = AddStart(*request, environment);
    if (!started.ok()) return started;
    const auto deadline = SettleTimeLimit(*request, input_.import_time());
    auto response = Search(*request, deadline, environment);
    if (!response.ok()) return Explained(response.status(), environment);
    v1::Plan& plan = *response->mutable_plan();
    plan.mutable_warnings()->Add(input_.warnings().begin(), input_.warnings().end());
    for (const std::string& said : {asked_, in_vain_}) {
      if (!said.empty()) plan.add_warnings(said);
    }
    const auto text = TextOf(*std::move(request), plan, environment);
    if (!text.ok()) return text.status();
    const absl::Status saved = Save(plan, environment);
    if (!saved.ok()) return saved;
    const absl::Status written = output_.Write(*text, environment);
    if (!written.ok()) return written;
    if (!environment.interrupt.stop_requested()) return ExitCode::kOk;
    environment.err << "interrupted: this is the best plan so far\n";
    return ExitCode::kInterrupted;
  }

 private:
  absl::Status Constrain(v1::CreatePlanRequest& request, const Environment& environment) const {
    if (runnable_on_.empty()) return absl::OkStatus();
    return MakeRunnable(runnable_on_, *server_.Connect(environment), ShortCall(environment), request);
  }

  // The plan as JSON, where --save names a file.
  absl::Status Save(const v1::Plan& plan, Environment& environment) const {
    return save_.empty() ? absl::OkStatus() : WriteOutput(JsonText(plan), save_, environment.out);
  }

  // What a plan of the joint search chose beside places.
  static v1::JointChoices ChoicesOf(const v1::Plan& plan) {
    v1::JointChoices choices;
    choices.set_schedule(plan.joint().schedule());
    choices.set_optimizer_sharding(plan.joint().optimizer_sharding());
    choices.set_degrees(plan.joint().degrees());
    choices.set_micro_batch_samples(plan.joint().micro_batch_samples());
    for (const v1::Stage& from : plan.stages()) {
      const v1::JointStage& stage = from.joint();
      v1::JointChoices::SpreadStage& spread = *choices.add_stages();
      spread.set_tensor_degree(stage.tensor_degree());
      spread.set_context_degree(stage.context_degree());
      spread.set_expert_degree(stage.expert_degree());
      spread.set_data_degree(stage.data_degree());
      for (const v1::JointStage::Chunk& chunk : stage.chunks()) {
        v1::JointChoices::LayerRun& run = *spread.add_chunks();
        *run.mutable_layers() = chunk.layers();
        *run.mutable_recomputation() = chunk.recomputation();
      }
    }
    return choices;
  }

  // The placement of the plan that --start_from names.
  absl::Status AddStart(v1::CreatePlanRequest& request, Environment& environment) const {
    if (start_from_.empty()) return absl::OkStatus();
    const auto plan = LoadPlan(start_from_, request, "Name a plan of the same graph, as --output=json writes it.",
                               server_, environment);
    if (!plan.ok()) return plan.status();
    if (request.problem().has_joint() && plan->has_joint()) {
      *request.mutable_problem()->mutable_start_from()->mutable_joint() = ChoicesOf(*plan);
    }
    for (const v1::Stage& stage : plan->stages()) {
      v1::Placement::PlacedStage& placed = *request.mutable_problem()->mutable_start_from()->add_stages();
      *placed.mutable_operators() = stage.operators();
      for (const v1::Replica& replica : stage.replicas()) placed.add_devices(replica.device());
      *placed.mutable_ring_order() = stage.ring_order();
    }
    return absl::OkStatus();
  }

  // Traces and pictures are those of a step of the plan on the simulator, and so is the timeline of a page.
  absl::StatusOr<std::string> TextOf(v1::CreatePlanRequest request, const v1::Plan& plan, Environment& environment) {
    if (output_.is_json()) return JsonText(plan);
    const auto client = server_.Connect(environment);
    // Also after ^C: the plan is there, and its report is to be whole.
    CallOptions call;
    call.deadline = ShortCall(environment).deadline;
    if (output_.is_html()) return PlanPage(*client, call, std::move(request), {{input_.Title(), &plan}});
    if (!output_.is_trace() && !output_.is_svg()) {
      v1::Plan shown = plan;
      const std::string pipelines = PipelinesOnly(request, input_.model(), plan);
      if (!pipelines.empty()) shown.add_warnings(pipelines);
      return PlanReport(shown, input_.Title(), CpusOf(*client, call, request));
    }
    v1::SimulatePlanRequest simulated;
    MoveSources(std::move(request), simulated);
    *simulated.mutable_plan() = plan;
    simulated.set_view(v1::SimulatePlanRequest::VIEW_FULL);
    const auto simulation = Simulate(*client, simulated, CallOptions());
    if (!simulation.ok()) return simulation.status();
    return output_.is_svg() ? TimelineSvg(*simulation, input_.Title()) : TraceText(*simulation);
  }

  absl::StatusOr<v1::CreatePlanResponse> Search(const v1::CreatePlanRequest& request,
                                                CallOptions::Clock::time_point deadline, Environment& environment) {
    if (runnable_on_.empty()) return SearchOnce(request, deadline, environment);
    // Each of several searches states how much of the time it has.
    const auto search = [&](v1::CreatePlanRequest one) {
      const auto own_deadline = SettleTimeLimit(one);
      return SearchOnce(one, own_deadline, environment);
    };
    return PlanRunnable(runnable_on_, *server_.Connect(environment), ShortCall(environment), request, search);
  }

  absl::StatusOr<v1::CreatePlanResponse> SearchOnce(const v1::CreatePlanRequest& request,
                                                    CallOptions::Clock::time_point deadline, Environment& environment) {
    const auto display = MakeProgressDisplay(environment.err_is_terminal, progress_, environment.err);
    const std::string address = server_.Address(environment);
    if (display != nullptr && !address.empty()) display->OnPhase("asking " + address);
    const CallOptions call{.deadline = deadline, .stop = environment.interrupt, .progress = display.get()};
    return server_.Connect(environment)->CreatePlan(request, call);
  }

  absl::Status Explained(const absl::Status& status, const Environment& environment) const {
    if (status.code() == absl::StatusCode::kFailedPrecondition && !(asked_.empty() && hint_.empty())) {
      std::string hint = "Give it more devices, or some with more memory.";
      if (!hint_.empty()) absl::StrAppend(&hint, " ", hint_, ".");
      if (!asked_.empty()) absl::StrAppend(&hint, " Here ", asked_, ".");
      return WithDefaultHint(status, hint);
    }
    // Nothing was found by then, which more of that may not change.
    if (status.code() == absl::StatusCode::kDeadlineExceeded && !hint_.empty()) {
      return WithDefaultHint(status, absl::StrCat(hint_, ". Else allow more time with --time_limit."));
    }
    if (status.code() != absl::StatusCode::kCancelled || !environment.interrupt.stop_requested()) return status;
    const bool is_remote = !server_.Address(environment).empty();
    return WithHint(
        absl::CancelledError("interrupted"),
        is_remote ? "The search on the server was cancelled; there is no plan." : "No plan had been found yet.");
  }

  v1::PlanningProblem problem_;
  v1::SolverOptions options_;
  ServerFlags server_;
  InputFlags input_{server_};
  OutputFlags output_{{"text", "json", "trace", "svg", "html"}};
  bool progress_ = false;
  std::string plan_id_;
  // What the program asked for by itself.
  std::string asked_;
  // What of the request does not count.
  std::string in_vain_;
  // What else may fit.
  std::string hint_;
  std::string save_;
  std::string runnable_on_;
  std::string start_from_;
};

}  // namespace

std::unique_ptr<Command> MakePlanCommand() { return std::make_unique<PlanCommand>(); }

}  // namespace planwright::client
