#include "core/planner/baseline_comparison.h"

#include <optional>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/interruption.h"
#include "core/base/violations.h"
#include "core/model/validator.h"
#include "core/partition/baselines/baselines.h"
#include "core/planner/algorithms/algorithms.h"
#include "core/planner/algorithms/capabilities.h"
#include "core/planner/devices/device_search.h"

namespace planwright {
namespace {

class Comparison {
 public:
  Comparison(const SearchRequest& search, const SolveLimits& limits, TaskArena& arena,
             const CallbacksFor& callbacks_for)
      : search_(search), limits_(limits), arena_(arena), callbacks_for_(callbacks_for) {}

  BaselineComparison Run() && {
    Try(Algorithm::kSingleDevice);
    if (!std::holds_alternative<HostStagedInterconnect>(search_.cluster.interconnect)) Try(Algorithm::kPipedream);
    if (search_.problem.objective == Objective::kMaxThroughput) TryDataParallel();
    if (search_.graph.operators.size() <= kMaxOperatorsForGreedy) Try(Algorithm::kGreedy);
    return std::move(comparison_);
  }

 private:
  // Runs `algorithm` under the problem as posed, where that is planned at all.
  void Try(Algorithm algorithm) { Try(algorithm, search_.problem, ""); }

  void TryDataParallel() {
    if (search_.problem.replication != Replication::kNone) {
      Try(Algorithm::kDataParallel);
      return;
    }
    ResolvedProblem replicated = search_.problem;
    // Counts micro-batches of a step as NONE does: all of them.
    replicated.replication = Replication::kPerStage;
    replicated.split = Split::kContiguous;
    Try(Algorithm::kDataParallel, replicated, "the problem does not allow replication");
  }

  // `objection`: why the problem as posed does not allow what `problem` does; empty: they are the same.
  void Try(Algorithm algorithm, const ResolvedProblem& problem, std::string_view objection) {
    if (algorithm == search_.algorithm) return;
    SolverOptions options = search_.options;
    options.algorithm = algorithm;
    const PlanningProblem posed = AsPosed(problem);
    Violations violations;
    CheckSupported(search_.graph, search_.cluster, posed, options, violations);
    if (!violations.empty()) return;
    // What is changed may ask for more than was given: replicas that train need a bandwidth.
    if (!objection.empty()) ValidateProblem(search_.graph, search_.cluster, posed, options, violations);
    if (!violations.empty()) {
      Refuse(std::string(StableNameOf(algorithm)), violations.listed().front());
      return;
    }
    const SearchRequest request{search_.graph, search_.cluster, problem, search_.costs, options, algorithm, {}};
    const auto outcome = [&]() -> absl::StatusOr<SearchOutcome> {
      try {
        return SolveOnAllowedDevices(MakeBaseline, request, limits_, arena_, callbacks_for_(problem));
      } catch (const Interrupted& interrupted) {
        return InterruptedError(interrupted.why(), "the baseline was made");
      }
    };
    Add(std::string(StableNameOf(algorithm)), outcome(), objection);
  }

  void Refuse(std::string name, const Violation& violation) {
    comparison_.baselines.push_back({.algorithm = std::move(name),
                                     .objective = std::nullopt,
                                     .reason = absl::StrCat(violation.path, ": ", violation.rule),
                                     .admissible = false});
  }

  void Add(std::string name, absl::StatusOr<SearchOutcome> outcome, std::string_view objection) {
    Baseline& baseline = comparison_.baselines.emplace_back();
    baseline.algorithm = name;
    if (!outcome.ok()) {
      baseline.reason = std::string(outcome.status().message());
      return;
    }
    baseline.objective = outcome->objective;
    baseline.reason = objection;
    baseline.admissible = objection.empty();
    if (!baseline.admissible || outcome->objective >= best_) return;
    best_ = outcome->objective;
    comparison_.starts = {{std::move(outcome->placement), std::move(name)}};
  }

  const SearchRequest& search_;
  const SolveLimits& limits_;
  TaskArena& arena_;
  const CallbacksFor& callbacks_for_;
  BaselineComparison comparison_;
  Picoseconds best_ = Picoseconds::max();
};

}  // namespace

BaselineComparison CompareBaselines(const SearchRequest& search, const SolveLimits& limits, TaskArena& arena,
                                    const CallbacksFor& callbacks_for) {
  return Comparison(search, limits, arena, callbacks_for).Run();
}

std::vector<std::string> BaselineWarnings(const std::vector<Baseline>& baselines, Picoseconds objective) {
  std::vector<std::string> warnings;
  for (const Baseline& baseline : baselines) {
    if (baseline.admissible || !baseline.objective.has_value() || *baseline.objective >= objective) continue;
    warnings.push_back(absl::StrCat("the baseline ", baseline.algorithm, " would take ",
                                    ToMilliseconds(*baseline.objective), " ms, which is less than this plan, but ",
                                    baseline.reason));
  }
  return warnings;
}

}  // namespace planwright
