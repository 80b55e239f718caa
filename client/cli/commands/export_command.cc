#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/given_plan.h"
#include "client/cli/commands/store_access.h"
#include "client/cli/results/plan_page.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/files.h"
#include "client/cli/terminal/input_flags.h"
#include "client/cli/terminal/resolve_input.h"
#include "client/cli/terminal/shared_flags.h"
#include "client/exporter/exporter.h"
#include "client/library/did_you_mean.h"

namespace planwright::client {
namespace {

// Needs more than a plan: a step of it on the simulator.
constexpr ExportTarget kPage = {.name = "html",
                                .summary = "a page to look at, with everything about the plan",
                                .needs_graph = true,
                                .needs_cluster = true,
                                .write = nullptr};

std::vector<std::string> TargetNames() {
  std::vector<std::string> names;
  for (const ExportTarget& target : ExportTargets()) names.emplace_back(target.name);
  names.emplace_back(kPage.name);
  return names;
}

std::string TargetsHelp() {
  std::string help = "what to write:";
  for (const ExportTarget& target : ExportTargets()) {
    absl::StrAppend(&help, help.back() == ':' ? " " : "; ", std::string(target.name), " - ",
                    std::string(target.summary));
  }
  absl::StrAppend(&help, "; ", std::string(kPage.name), " - ", std::string(kPage.summary));
  return help;
}

class ExportCommand final : public Command {
 public:
  std::string_view name() const override { return "export"; }
  std::string_view summary() const override { return "turn a plan into what a trainer, a launcher or a person reads"; }
  std::string_view usage() const override {
    return "planwright export --plan=FILE|plans/ID|- --to=TARGET [--graph=FILE|zoo:NAME] [--cluster=FILE|zoo:NAME] "
           "[flags]\n"
           "       planwright export --problem --to=mps|lp --graph=FILE|zoo:NAME [--cluster=FILE|zoo:NAME] [flags]\n"
           "\n"
           "A plan that the target cannot express is refused with the reason, exit code 2. Megatron-LM, torchtitan "
           "and\n"
           "vLLM want whole layers: plan with --granularity=layer.\n"
           "\n"
           "--to=html writes a page to look at, of one plan or of two (docs/page.md).\n"
           "\n"
           "With --problem the integer program of the problem is written for any other solver, by this program "
           "itself:\n"
           "servers do not do that. Its objective is the plan's, in the unit that the head of the file states.\n"
           "\n"
           "Examples:\n"
           "  planwright plan --graph=zoo:gpt-1.3b --cluster=zoo:pcie:4 --granularity=layer --output=json "
           "--output_file=gpt.json\n"
           "  planwright export --plan=gpt.json --to=megatron --graph=zoo:gpt-1.3b\n"
           "  planwright export --plan=gpt.json --to=hostfile --cluster=zoo:pcie:4 --output_file=hosts.txt\n"
           "  planwright export --plan=gpt.json --to=svg --graph=zoo:gpt-1.3b --output_file=plan.svg\n"
           "  planwright export --problem --to=lp --graph=zoo:gpt-125m --cluster=zoo:pcie:4 --granularity=layer\n";
  }

  std::vector<FlagGroup> Flags() override {
    std::vector<FlagGroup> groups = {
        input_.Flags(),
        server_.Flags(),
        {"Output",
         {StringFlag("to", absl::StrCat(absl::StrJoin(TargetNames(), "|"), "|mps|lp"),
                     absl::StrCat(TargetsHelp(), "; mps, lp - the integer program, with --problem"), target_),
          LayerOffsetFlag(),
          StringFlag("beside", "FILE|plans/ID", "html: a second plan of the same graph and cluster, beside the first",
                     beside_),
          StringFlag("output_file", "FILE", "write there instead of standard output", output_file_)}}};
    groups.front().flags.push_back(StringFlag(
        "plan", "FILE|plans/ID|-", "the plan: a file (- reads standard input), or one that a server keeps", plan_));
    groups.front().flags.push_back(
        SwitchFlag("problem", "export the integer program of the problem, not a plan", exports_problem_));
    groups.front().flags.push_back(StringFlag(
        "form", "compact|printed",
        "of the integer program: compact - as --algorithm=mip solves it; printed - as the paper has it (Fig. 6)",
        form_));
    groups.push_back(ProblemFlags(problem_));
    return input_.WithFileFlags(std::move(groups));
  }

  absl::StatusOr<ExitCode> Run(Environment& environment) override {
    if (exports_problem_) return RunProblem(environment);
    if (ProgramTarget().has_value()) {
      return UsageError(absl::StrCat("--to=", target_, " is for problems"), "Add --problem, and name no plan.");
    }
    const auto target = Target();
    if (!target.ok()) return target.status();
    if (plan_.empty())
      return UsageError("--plan is missing", "Name a file that holds a plan, or plans/ID of a server.");
    const absl::Status can_write = CheckTarget(**target);
    if (!can_write.ok()) return can_write;
    auto source = LoadSource(**target, environment);
    if (!source.ok()) return source.status();
    const auto plan = Load(plan_, *source, environment);
    if (!plan.ok()) return plan.status();
    if (*target == &kPage) return WritePage(*std::move(source), *plan, environment);
    const v1::Graph* graph = source->has_graph() ? &source->graph() : nullptr;
    const v1::Cluster* cluster = source->has_cluster() ? &source->cluster() : nullptr;
    const auto exported = (*target)->write({*plan, graph, cluster, layer_offset_});
    if (!exported.ok()) return Explained(exported.status());
    const absl::Status written = WriteOutput(exported->text, output_file_, environment.out);
    if (!written.ok()) return written;
    if (!exported->advice.empty()) PrintNote("note: ", exported->advice, environment.err);
    return ExitCode::kOk;
  }

 private:
  absl::Status CheckTarget(const ExportTarget& target) const {
    if (&target == &kPage) return CheckPages();
    if (beside_.empty()) return absl::OkStatus();
    return UsageError("--beside is for --to=html", "Leave it out, or write a page.");
  }

  absl::StatusOr<v1::Plan> Load(const std::string& name, const v1::CreatePlanRequest& source,
                                Environment& environment) const {
    const std::string hint = "Give what `planwright plan --output=json` printed.";
    auto plan = LoadPlan(name, source, hint, server_, environment);
    if (plan.ok() && plan->stages().empty()) return UsageError(InputName(name) + " holds a plan without stages", hint);
    return plan;
  }

  absl::StatusOr<ExitCode> WritePage(v1::CreatePlanRequest source, const v1::Plan& plan, Environment& environment) {
    std::vector<TitledPlan> plans = {{input_.Title(), &plan}};
    v1::Plan second;
    if (!beside_.empty()) {
      auto loaded = Load(beside_, source, environment);
      if (!loaded.ok()) return loaded.status();
      second = *std::move(loaded);
      plans = {{absl::StrCat(InputName(plan_), ": ", input_.Title()), &plan},
               {absl::StrCat(InputName(beside_), ": ", input_.Title()), &second}};
    }
    const auto text = PlanPage(*server_.Connect(environment), ShortCall(environment), std::move(source), plans);
    if (!text.ok()) return text.status();
    const absl::Status written = WriteOutput(*text, output_file_, environment.out);
    if (!written.ok()) return written;
    return ExitCode::kOk;
  }

  Flag LayerOffsetFlag() {
    return {"layer_offset", "N", "deepspeed: layers of the pipeline before the first numbered one (default: 1)",
            [this](std::string_view text) {
              const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), layer_offset_);
              const bool is_count = error == std::errc() && end == text.data() + text.size() && layer_offset_ >= 0;
              return is_count ? absl::OkStatus() : absl::InvalidArgumentError("must be a whole number >= 0");
            }};
  }

  std::optional<ProgramFormat> ProgramTarget() const {
    if (target_ == "mps") return ProgramFormat::kMps;
    if (target_ == "lp") return ProgramFormat::kLp;
    return std::nullopt;
  }

  absl::StatusOr<ProgramForm> Form() const {
    if (form_ == "compact") return ProgramForm::kCompact;
    if (form_ == "printed") return ProgramForm::kPrinted;
    return UsageError(absl::StrCat("--form: \"", form_, "\" is no form"), "Forms: compact, printed.");
  }

  absl::StatusOr<ExitCode> RunProblem(Environment& environment) {
    const std::optional<ProgramFormat> format = ProgramTarget();
    if (!format.has_value()) return UsageError("--problem needs --to=mps or --to=lp", "Problems are integer programs.");
    if (!plan_.empty()) return UsageError("--problem and --plan exclude each other", "Name one of them.");
    if (!server_.Address(environment).empty()) {
      return UsageError("servers do not write integer programs", "Add --local.");
    }
    const auto form = Form();
    if (!form.ok()) return form.status();
    auto request = input_.Load(environment);
    if (!request.ok()) return request.status();
    request->mutable_problem()->MergeFrom(problem_);
    const auto text = server_.Connect(environment)->WriteProgram(*request, *format, *form);
    if (!text.ok()) return text.status();
    const absl::Status written = WriteOutput(*text, output_file_, environment.out);
    if (!written.ok()) return written;
    return ExitCode::kOk;
  }

  absl::StatusOr<const ExportTarget*> Target() const {
    const std::vector<std::string> names = TargetNames();
    const std::string known = absl::StrCat("Targets: ", absl::StrJoin(names, ", "), ".");
    if (target_.empty()) return UsageError("--to is missing", known);
    if (target_ == kPage.name) return &kPage;
    if (const ExportTarget* target = FindExportTarget(target_)) return target;
    return UsageError(absl::StrCat("--to: \"", target_, "\" is no target", DidYouMean(target_, names)), known);
  }

  // Graph and cluster themselves, as far as the target needs them: what is named is asked for.
  absl::StatusOr<v1::CreatePlanRequest> LoadSource(const ExportTarget& target, Environment& environment) {
    auto source = input_.LoadNeeded(target.needs_graph, target.needs_cluster, environment);
    if (!source.ok()) return source;
    const auto client = server_.Connect(environment);
    const CallOptions call{.stop = environment.interrupt};
    absl::Status status = target.needs_graph ? ResolveGraph(*client, call, *source) : absl::OkStatus();
    if (status.ok() && target.needs_cluster) status = ResolveCluster(*client, call, *source);
    if (!status.ok()) return status;
    return source;
  }

  // It is not infeasible: the plan is fine, it is the request that asks for what the target does not have.
  static absl::Status Explained(const absl::Status& status) {
    return UsageError(std::string_view(status.message().data(), status.message().size()),
                      "Choose another target, or plan again so that the target can express it.");
  }

  std::string plan_;
  bool exports_problem_ = false;
  v1::PlanningProblem problem_;
  ServerFlags server_;
  InputFlags input_{server_};
  std::string target_;
  std::string beside_;
  std::string output_file_;
  std::string form_ = "compact";
  int layer_offset_ = 1;
};

}  // namespace

std::unique_ptr<Command> MakeExportCommand() { return std::make_unique<ExportCommand>(); }

}  // namespace planwright::client
