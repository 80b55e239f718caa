#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/training_memory.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/input_flags.h"
#include "client/cli/terminal/progress.h"
#include "client/cli/terminal/shared_flags.h"
#include "client/cli/terminal/time_limit.h"
#include "client/library/did_you_mean.h"
#include "client/report/comparison_report.h"

namespace planwright::client {
namespace {

constexpr char kAll[] = "all";
constexpr char kAuto[] = "auto";

struct NamedAlgorithm {
  std::string name;
  v1::Algorithm algorithm = v1::ALGORITHM_AUTO;
};

// Errors that every further algorithm would meet as well.
bool EndsComparison(const absl::Status& status) {
  switch (ExitCodeFor(status)) {
    case ExitCode::kServer:
      return status.code() != absl::StatusCode::kResourceExhausted;
    case ExitCode::kInterrupted:
    case ExitCode::kInternal:
      return true;
    default:
      return false;
  }
}

class CompareCommand final : public Command {
 public:
  std::string_view name() const override { return "compare"; }
  std::string_view summary() const override { return "plan with several algorithms and print them side by side"; }
  std::string_view usage() const override {
    return "planwright compare --graph=FILE|zoo:NAME [--cluster=FILE|zoo:NAME] [--algorithms=all|NAME,...] [flags]\n"
           "\n"
           "Each algorithm gets the same problem and the same limits, one after the other. Baselines are algorithms "
           "too.\n"
           "Exit code 0: at least one of them made a plan.\n"
           "\n"
           "Examples:\n"
           "  planwright compare --graph=zoo:bert-large --cluster=zoo:pcie:4 --algorithms=auto,greedy,pipedream\n"
           "  planwright compare --graph=zoo:bert-large --cluster=zoo:pcie:4 --split=non_contiguous --time_limit=5s\n"
           "  planwright compare --graph=zoo:bert-large --cluster=zoo:pcie:4 --time_limit=5s --output=svg "
           "--output_file=compared.svg\n"
           "  planwright compare --graph=zoo:bert-large --cluster=zoo:pcie:4 --algorithms=auto --output=json "
           "--server=localhost:50051\n";
  }

  std::vector<FlagGroup> Flags() override {
    std::vector<FlagGroup> groups = {input_.Flags(), ProblemFlags(problem_), SolverFlags(options_), server_.Flags(),
                                     output_.Flags()};
    std::vector<Flag>& search = groups[2].flags;
    std::erase_if(search, [](const Flag& flag) { return flag.name == "algorithm"; });
    search.insert(search.begin(),
                  StringFlag("algorithms", "all|NAME,...",
                             "which algorithms plan; `planwright server-info` lists them (default: all)", algorithms_));
    groups.back().flags.push_back(ProgressFlag(progress_));
    return input_.WithFileFlags(std::move(groups));
  }

  absl::StatusOr<ExitCode> Run(Environment& environment) override {
    auto request = input_.LoadRequest(problem_, options_, environment);
    if (!request.ok()) return request.status();
    const std::string asked = AskForTrainingMemory(*request, input_.model(), /*takes_schedule=*/false);
    if (!asked.empty()) PrintNote("note: ", asked, environment.err);
    const std::unique_ptr<PlanningClient> client = server_.Connect(environment);
    const auto algorithms = Algorithms(*client, environment);
    if (!algorithms.ok()) return algorithms.status();
    auto rows = Compare(*client, *request, *algorithms, environment);
    if (!rows.ok()) return rows.status();
    if (rows->front().plan.ok() && rows->front().plan->has_joint()) AddBaselines(*rows);
    if (const std::optional<absl::Status> error = WrongInput(*rows)) return *error;
    const absl::Status written = output_.Write(TextOf(*rows), environment);
    if (!written.ok()) return written;
    return environment.interrupt.stop_requested() ? ExitCode::kInterrupted : ExitCodeOf(*rows);
  }

 private:
  std::string TextOf(const std::vector<ComparisonRow>& rows) const {
    if (output_.is_json()) return ComparisonJson(rows, input_.Title());
    if (output_.is_svg()) return ComparisonSvg(rows, input_.Title());
    return ComparisonReport(rows, input_.Title());
  }

  // The joint search is the one algorithm for its problems, and says itself what others would do.
  static void AddBaselines(std::vector<ComparisonRow>& rows) {
    const v1::Plan plan = *rows.front().plan;
    for (const v1::Baseline& baseline : plan.baselines()) {
      if (!baseline.has_objective_ms()) {
        rows.push_back({baseline.algorithm(), absl::FailedPreconditionError(baseline.reason())});
        continue;
      }
      v1::Plan reached;
      reached.set_objective_ms(baseline.objective_ms());
      reached.mutable_provenance()->set_algorithm(baseline.algorithm());
      if (!baseline.reason().empty()) reached.add_warnings(baseline.reason());
      rows.push_back({baseline.algorithm(), std::move(reached)});
    }
  }

  // What --algorithms names, of those that the service has.
  absl::StatusOr<std::vector<NamedAlgorithm>> Algorithms(PlanningClient& client, const Environment& environment) const {
    const auto info = client.GetServerInfo({}, CallOptions{.stop = environment.interrupt});
    if (!info.ok()) return info.status();
    std::vector<NamedAlgorithm> known = {{kAuto, v1::ALGORITHM_AUTO}};
    for (const v1::AlgorithmInfo& algorithm : info->algorithms()) {
      known.push_back({algorithm.name(), algorithm.algorithm()});
    }
    if (algorithms_ == kAll && problem_.has_joint()) return std::vector<NamedAlgorithm>{known.front()};
    if (algorithms_ == kAll) return known;
    std::vector<NamedAlgorithm> chosen;
    for (const std::string& name : std::vector<std::string>(absl::StrSplit(algorithms_, ','))) {
      const auto is_named = [&](const NamedAlgorithm& algorithm) { return algorithm.name == name; };
      const auto found = std::find_if(known.begin(), known.end(), is_named);
      if (found == known.end()) return UnknownAlgorithm(name, known);
      if (std::none_of(chosen.begin(), chosen.end(), is_named)) chosen.push_back(*found);
    }
    return chosen;
  }

  static absl::Status UnknownAlgorithm(const std::string& name, const std::vector<NamedAlgorithm>& known) {
    std::vector<std::string> names;
    names.reserve(known.size());
    for (const NamedAlgorithm& algorithm : known) names.push_back(algorithm.name);
    return UsageError(absl::StrCat("--algorithms: \"", name, "\" is no algorithm", DidYouMean(name, names)),
                      absl::StrCat("Algorithms: all, or some of ", absl::StrJoin(names, ", "), "."));
  }

  absl::StatusOr<std::vector<ComparisonRow>> Compare(PlanningClient& client, v1::CreatePlanRequest request,
                                                     const std::vector<NamedAlgorithm>& algorithms,
                                                     const Environment& environment) const {
    std::vector<ComparisonRow> rows;
    for (const NamedAlgorithm& algorithm : algorithms) {
      request.mutable_options()->set_algorithm(algorithm.algorithm);
      const std::string title = absl::StrCat(rows.size() + 1, " of ", algorithms.size(), ", ", algorithm.name);
      const auto display = MakeProgressDisplay(environment.err_is_terminal, progress_, environment.err, title);
      const CallOptions call{
          .deadline = SettleTimeLimit(request), .stop = environment.interrupt, .progress = display.get()};
      auto response = client.CreatePlan(request, call);
      if (!response.ok() && EndsComparison(response.status())) return response.status();
      if (response.ok()) {
        rows.push_back({algorithm.name, std::move(*response->mutable_plan())});
      } else {
        rows.push_back({algorithm.name, response.status()});
      }
      if (environment.interrupt.stop_requested()) break;
    }
    return rows;
  }

  // The error where no algorithm accepts the input: that of the first, which says most.
  static std::optional<absl::Status> WrongInput(const std::vector<ComparisonRow>& rows) {
    if (ExitCodeOf(rows) != ExitCode::kUsage) return std::nullopt;
    return rows.front().plan.status();
  }

  static ExitCode ExitCodeOf(const std::vector<ComparisonRow>& rows) {
    std::vector<absl::Status> attempts;
    attempts.reserve(rows.size());
    for (const ComparisonRow& row : rows) attempts.push_back(row.plan.status());
    return ExitCodeForAll(attempts);
  }

  v1::PlanningProblem problem_;
  v1::SolverOptions options_;
  std::string algorithms_ = kAll;
  bool progress_ = false;
  ServerFlags server_;
  InputFlags input_{server_};
  OutputFlags output_{{"text", "json", "svg"}};
};

}  // namespace

std::unique_ptr<Command> MakeCompareCommand() { return std::make_unique<CompareCommand>(); }

}  // namespace planwright::client
