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

v1::Stage ChosenOf(const v1::Stage& stage) {
  v1::Stage chosen;
  chosen.set_index(stage.index());
  *chosen.mutable_operators() = stage.operators();
  *chosen.mutable_ring_order() = stage.ring_order();
  for (const v1::Replica& replica : stage.replicas()) {
    v1::Replica& to = *chosen.add_replicas();
    to.set_device(replica.device());
    to.set_copy(replica.copy());
  }
  if (!stage.has_joint()) return chosen;
  v1::JointStage& joint = *chosen.mutable_joint();
  joint.set_tensor_degree(stage.joint().tensor_degree());
  joint.set_context_degree(stage.joint().context_degree());
  joint.set_expert_degree(stage.joint().expert_degree());
  joint.set_data_degree(stage.joint().data_degree());
  *joint.mutable_chunks() = stage.joint().chunks();
  return chosen;
}

// What the plan chose, without what follows from it: of a plan that somebody changed that would be wrong.
v1::Plan ChosenOf(const v1::Plan& plan) {
  v1::Plan chosen;
  chosen.set_graph_digest(plan.graph_digest());
  if (plan.has_problem()) *chosen.mutable_problem() = plan.problem();
  for (const v1::Stage& stage : plan.stages()) *chosen.add_stages() = ChosenOf(stage);
  if (plan.has_schedule()) {
    *chosen.mutable_schedule() = plan.schedule();
    // Patterns repeat after it.
    if (plan.schedule().tasks().empty()) chosen.mutable_schedule()->clear_period_ms();
  }
  if (!plan.has_joint()) return chosen;
  v1::JointPlan& joint = *chosen.mutable_joint();
  joint.set_schedule(plan.joint().schedule());
  joint.set_chunks_per_stage(plan.joint().chunks_per_stage());
  joint.set_optimizer_sharding(plan.joint().optimizer_sharding());
  joint.set_degrees(plan.joint().degrees());
  joint.set_micro_batch_samples(plan.joint().micro_batch_samples());
  joint.set_micro_batches(plan.joint().micro_batches());
  return chosen;
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
           "its own problem unless flags say otherwise. Numbers that it states, such as its memory, must be right;\n"
           "--recost forgets them, as for a plan that was changed by hand. Exit code 3: the plan is not valid.\n"
           "\n"
           "Examples:\n"
           "  planwright plan --graph=zoo:bert-large --cluster=zoo:pcie:4 --output=json --output_file=plan.json\n"
           "  planwright evaluate --graph=zoo:bert-large --cluster=zoo:pcie:4 --plan=plan.json\n"
           "  echo 'Et*6|t*6|t*6|t*6L' | planwright evaluate --graph=zoo:bert-large --cluster=zoo:pcie:4 --plan=-\n"
           "  planwright evaluate --graph=zoo:bert-large --cluster=zoo:pcie:4 --plan=- --reserved_bytes=1GiB < "
           "plan.json\n";
  }

  std::vector<FlagGroup> Flags() override {
    FlagGroup given = given_.Flags();
    given.flags.push_back(
        SwitchFlag("recost", "take what the plan chooses, and cost it anew, whatever numbers it states", recost_));
    return given_.WithFileFlags(
        {std::move(given), ProblemFlags(problem_, &settings_), server_.Flags(), output_.Flags()});
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
    *request.mutable_plan() = recost_ ? ChosenOf(given.plan) : std::move(given.plan);
    MoveSources(std::move(given.input), request);
    return request;
  }

  v1::PlanningProblem problem_;
  // What flags set of it.
  std::vector<std::string> settings_;
  bool recost_ = false;
  ServerFlags server_;
  GivenPlanFlags given_{server_};
  OutputFlags output_;
};

}  // namespace

std::unique_ptr<Command> MakeEvaluateCommand() { return std::make_unique<EvaluateCommand>(); }

}  // namespace planwright::client
