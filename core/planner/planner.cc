#include "core/planner/planner.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/infeasibility.h"
#include "core/base/interruption.h"
#include "core/base/limits.h"
#include "core/base/status_macros.h"
#include "core/base/thread_cpu_time.h"
#include "core/base/violations.h"
#include "core/cost/plan_costing.h"
#include "core/cost/plan_warnings.h"
#include "core/cost/terms/cost_table.h"
#include "core/cost/terms/transfer.h"
#include "core/partition/mip/integer_program.h"
#include "core/partition/mip/mip_search.h"
#include "core/partition/mip/mip_solver.h"
#include "core/partition/search/search.h"
#include "core/planner/algorithms/algorithms.h"
#include "core/planner/algorithms/capabilities.h"
#include "core/planner/baseline_comparison.h"
#include "core/planner/canonical_request.h"
#include "core/planner/devices/fewest_devices.h"
#include "core/planner/explanation.h"
#include "core/planner/joint/joint_request.h"
#include "core/planner/pattern_completion.h"
#include "core/planner/replanning.h"
#include "core/planner/solve_in_turn.h"

namespace planwright {
namespace {

// Graphs of at most so many operators are costed and verified in some 30 ms.
constexpr std::size_t kQuickOperators = 20'000;
// What small requests have beyond their time.
constexpr std::chrono::milliseconds kGrace(10);
// One of so many parts of the time is for what is left of the placement to start from.
constexpr std::size_t kPartsBesideRepairs = 4;

double ThreadCpuMilliseconds() { return std::chrono::duration<double, std::milli>(ThreadCpuTime()).count(); }

// Wall and CPU time since construction: of this thread, and of the arena's workers on its behalf.
class Stopwatch {
 public:
  explicit Stopwatch(const TaskArena& arena) : arena_(arena) {}

  double WallMilliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - wall_start_).count();
  }
  double CpuMilliseconds() const {
    const auto workers = std::chrono::duration<double, std::milli>(arena_.worker_cpu_time());
    return ThreadCpuMilliseconds() - cpu_start_ + workers.count();
  }

 private:
  const TaskArena& arena_;
  std::chrono::steady_clock::time_point wall_start_ = std::chrono::steady_clock::now();
  double cpu_start_ = ThreadCpuMilliseconds();
};

// All rules of graph, cluster and problem. The problem is looked at only when the others are sound.
Violations CheckValid(const PlanRequest& request, const ModelLimits& model_limits) {
  Violations violations;
  ValidateGraph(request.graph, model_limits, violations);
  ValidateCluster(request.cluster, model_limits, violations);
  if (violations.empty()) {
    ValidateProblem(request.graph, request.cluster, request.problem, request.options, violations);
  }
  return violations;
}

// The joint search is an algorithm of its own.
void CheckJointOptions(const SolverOptions& options, Violations& violations) {
  if (options.algorithm == Algorithm::kAuto) return;
  violations.Add("options.algorithm", "must be AUTO or unset beside problem.joint");
}

// Valid, and what a search plans.
absl::Status CheckPlanned(const PlanRequest& request, const ModelLimits& model_limits) {
  Violations violations = CheckValid(request, model_limits);
  if (request.problem.joint.has_value()) {
    CheckJointOptions(request.options, violations);
  } else if (violations.empty()) {
    CheckSupported(request.graph, request.cluster, request.problem, request.options, violations);
  }
  return violations.ToStatus();
}

// What no build may lack for the request.
absl::Status CheckSolver(const SolverOptions& options) {
  Violations violations;
  if (options.algorithm == Algorithm::kMip && !HasMipSolver()) {
    violations.Add("options.algorithm", "MIP is not part of this build; install coinor-libcbc-dev and build again");
  }
  return violations.ToStatus();
}

// What takes several integer programs.
absl::Status CheckWritten(const ProblemSettings& problem) {
  Violations violations;
  if (problem.objective == Objective::kMinDevices) {
    violations.Add("problem.objective", "MIN_DEVICES is not one integer program; write it for each number of devices");
  }
  if (!problem.devices_to_use.empty()) {
    violations.Add("problem.devices_to_use", "a selection is not written; leave the other devices out of the cluster");
  }
  return violations.ToStatus();
}

// What the figure of the paper does not say.
absl::Status CheckPrinted(const Cluster& cluster, const ResolvedProblem& problem) {
  Violations violations;
  const auto refuse_if = [&](bool refused, const char* path, const char* rule) {
    if (refused) violations.Add(path, absl::StrCat(rule, "; write the compact form"));
  };
  if (problem.objective == Objective::kMinLatency) {
    violations.Add("problem.objective", "the program of MIN_LATENCY has one form, which follows the paper already");
  }
  refuse_if(!std::holds_alternative<HostStagedInterconnect>(cluster.interconnect), "cluster.interconnect",
            "the printed form knows host_staged only");
  refuse_if(problem.overlap != Overlap::kSerial, "problem.overlap", "the printed form knows SERIAL only");
  refuse_if(problem.granularity != Granularity::kOperator, "problem.granularity",
            "the printed form knows OPERATOR only");
  refuse_if(problem.memory_model.kind != MemoryModel::Kind::kDeclared, "problem.memory_model.kind",
            "the printed form knows DECLARED only");
  return violations.ToStatus();
}

// Valid, and what the verifier judges.
absl::Status CheckEvaluated(const PlanRequest& request, const ModelLimits& model_limits) {
  Violations violations = CheckValid(request, model_limits);
  const bool is_joint = request.problem.joint.has_value();
  if (violations.empty() && !is_joint) CheckJudged(request.graph, request.cluster, request.problem, violations);
  return violations.ToStatus();
}

std::string VersionOf(std::string_view algorithm) {
  for (const AlgorithmRow& row : Algorithms()) {
    if (row.name == algorithm) return std::string(row.version);
  }
  return "";
}

absl::StatusOr<SearchOutcome> SolveAsAsked(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                                           const SearchCallbacks& callbacks) {
  if (request.problem.objective != Objective::kMinDevices) return SolveInTurn(request, limits, arena, callbacks);
  return SolveFewestDevices(SolveInTurn, request, limits, arena, callbacks);
}

// One request on its way through the facade.
class Planning {
 public:
  Planning(const PlanRequest& request, const SolveLimits& limits, TaskArena& arena, PlannerObserver& observer)
      : request_(request),
        limits_(limits),
        arena_(arena),
        observer_(observer),
        wants_incumbent_plans_(observer.wants_incumbent_plans()),
        stopwatch_(arena),
        problem_(ResolveProblem(request.graph, request.problem)),
        given_costs_(request.graph, request.cluster, problem_.workload),
        canonical_(request.graph, request.cluster, problem_),
        costs_(canonical_.graph(), canonical_.cluster(), problem_.workload) {}

  absl::StatusOr<Plan> Run() {
    SearchCallbacks callbacks = JudgingCallbacks(canonical_.problem());
    callbacks.on_phase = [this](std::string_view phase) { observer_.OnPhase(phase); };
    callbacks.on_bound = [this](const Bound& bound) { observer_.OnBound(bound); };
    callbacks.on_incumbent = [this](const SearchOutcome& so_far, int64_t work, std::string_view algorithm) {
      ReportIncumbent(so_far, work, algorithm);
    };
    SearchRequest search{canonical_.graph(),
                         canonical_.cluster(),
                         canonical_.problem(),
                         costs_,
                         request_.options,
                         request_.options.algorithm,
                         {}};
    // A baseline knows no target.
    if (!IsBaseline(search.algorithm) && problem_.objective != Objective::kMinDevices) {
      RunBaselines(search);
      AddWarmStart(callbacks, search);
    }
    const Repairs repaired = AddRepairedPlacements(callbacks, search);
    ASSIGN_OR_RETURN(SearchOutcome outcome, SolveAsAsked(search, limits_, arena_, callbacks));
    RETURN_IF_ERROR(incumbent_status_);
    // A deadline has been heeded by then: what was found is worth its answer. So it is after a stop request, unless the
    // answer would take long.
    SolveLimits stop_only;
    stop_only.stop = limits_.stop;
    const InterruptionScope answer_scope(request_.graph.operators.size() > kQuickOperators ? &stop_only : nullptr);
    if (problem_.start_from.has_value()) {
      best_objective_ = outcome.objective;
      outcome = ChooseFewMoves(canonical_.problem(), repaired.starts, callbacks, std::move(outcome));
      if (repaired.is_cut) outcome.counters["repairs_cut_by_time"] = 1;
    }
    observer_.OnPhase("verify");
    ASSIGN_OR_RETURN(Plan plan, VerifiedPlan(outcome));
    if (request_.options.explain) Explain(search, outcome, plan);
    return plan;
  }

 private:
  // What searches see is canonical: `search`, placements, costs_. Only Assemble translates.
  Plan Cost(const Placement& placement, const ResolvedProblem& problem) const {
    return CostPlan({canonical_.graph(), canonical_.cluster(), problem, costs_}, placement);
  }

  // Callbacks that judge placements under `problem`, which outlives them, and do no more.
  SearchCallbacks JudgingCallbacks(const ResolvedProblem& problem) const {
    SearchCallbacks callbacks;
    callbacks.on_phase = [](std::string_view) {};
    callbacks.on_incumbent = [](const SearchOutcome&, int64_t, std::string_view) {};
    callbacks.on_bound = [](const Bound&) {};
    callbacks.objective = [this, &problem](const Placement& placement) { return Cost(placement, problem).objective; };
    // What misses the target of MIN_DEVICES is feasible all the same: a search goes on from there.
    ResolvedProblem judged = problem;
    judged.target_period.reset();
    if (judged.objective == Objective::kMinDevices) judged.objective = Objective::kMaxThroughput;
    callbacks.objection = [this, judged = std::move(judged)](const Placement& placement) {
      const Verdict verdict = VerifyPlacement({canonical_.graph(), canonical_.cluster(), judged}, placement);
      if (verdict.violations.empty()) return std::string();
      const Violation& first = verdict.violations.listed().front();
      return absl::StrCat(first.path, ": ", first.rule);
    };
    return callbacks;
  }

  // Plans that simpler ways make, as rows of the answer and as starts of the search.
  void RunBaselines(SearchRequest& search) {
    observer_.OnPhase("baselines");
    BaselineComparison comparison =
        CompareBaselines(search, limits_, arena_, [this](const auto& problem) { return JudgingCallbacks(problem); });
    baselines_ = std::move(comparison.baselines);
    search.starts = std::move(comparison.starts);
  }

  void AddWarmStart(const SearchCallbacks& callbacks, SearchRequest& search) const {
    if (request_.warm_start == nullptr) return;
    Placement start = canonical_.ToCanonical(*request_.warm_start);
    if (callbacks.objection(start).empty()) search.starts.push_back({std::move(start), "warm_start"});
  }

  // What is left of the placement to start from, as starts of the search.
  Repairs AddRepairedPlacements(const SearchCallbacks& callbacks, SearchRequest& search) const {
    if (!problem_.start_from.has_value()) return {};
    // The search has time left behind it; small requests have their grace.
    const SolveLimits* const scope_around = InterruptionScope::Current();
    const SolveLimits& around = scope_around != nullptr ? *scope_around : limits_;
    SolveLimits share = ShareOfRemainingTime(around, kPartsBesideRepairs);
    share.deadline = std::max(share.deadline, std::min(around.deadline, SolveLimits::Clock::now() + kGrace));
    const InterruptionScope scope(&share);
    Repairs repaired = RepairedPlacements(search, callbacks);
    search.starts.insert(search.starts.end(), repaired.starts.begin(), repaired.starts.end());
    return repaired;
  }

  void Explain(const SearchRequest& search, const SearchOutcome& outcome, Plan& plan) {
    observer_.OnPhase("explain");
    Plan canonical = Cost(outcome.placement, canonical_.problem());
    canonical.provenance.algorithm = outcome.algorithm;
    plan.explanation = ExplainPlan(search, SolveAsAsked, canonical, limits_, arena_);
    NoteTimes(plan);
  }

  void ReportIncumbent(const SearchOutcome& so_far, int64_t work, std::string_view algorithm) {
    incumbents_.push_back(
        {stopwatch_.WallMilliseconds(), work, so_far.objective, BestOf(so_far.bounds), std::string(algorithm)});
    observer_.OnIncumbent(incumbents_.back());
    if (!wants_incumbent_plans_ || !incumbent_status_.ok()) return;
    const absl::StatusOr<Plan> plan = VerifiedPlan(so_far);
    incumbent_status_ = plan.status();
    if (plan.ok()) observer_.OnIncumbentPlan(*plan);
  }

  static Picoseconds BestOf(const std::vector<Bound>& bounds) {
    Picoseconds best{0};
    for (const Bound& bound : bounds) {
      if (bound.scope == BoundScope::kProblem) best = std::max(best, bound.value);
    }
    return best;
  }

  // MIN_DEVICES asks for a proof of the number of devices, not of their time.
  bool IsProven(const Plan& plan) const {
    if (problem_.objective != Objective::kMinDevices) return plan.lower_bound == plan.objective;
    return std::any_of(plan.bounds.begin(), plan.bounds.end(), [&](const Bound& bound) {
      return bound.scope == BoundScope::kFewerDevices && bound.value > *problem_.target_period;
    });
  }

  absl::StatusOr<Plan> VerifiedPlan(SearchOutcome outcome) const {
    Plan plan = Assemble(std::move(outcome));
    RETURN_IF_ERROR(Verify(plan));
    NoteTimes(plan);
    return plan;
  }

  void NoteTimes(Plan& plan) const {
    plan.provenance.wall_time_ms = stopwatch_.WallMilliseconds();
    plan.provenance.cpu_time_ms = stopwatch_.CpuMilliseconds();
  }

  Plan Assemble(SearchOutcome outcome) const {
    Plan plan = CostPlan({request_.graph, request_.cluster, problem_, given_costs_},
                         canonical_.ToGiven(std::move(outcome.placement)));
    plan.bounds = std::move(outcome.bounds);
    plan.lower_bound = BestOf(plan.bounds);
    Provenance& provenance = plan.provenance;
    provenance.algorithm = outcome.algorithm;
    provenance.algorithm_version = VersionOf(outcome.algorithm);
    provenance.seed = request_.options.seed;
    provenance.proven_optimal = IsProven(plan);
    provenance.stop_reason = outcome.stop_reason;
    provenance.counters = std::move(outcome.counters);
    provenance.incumbents = incumbents_;
    provenance.fallback = std::move(outcome.fallback);
    plan.baselines = baselines_;
    plan.estimate.uncounted_memory = UncountedMemoryOf(request_.graph, request_.cluster, given_costs_, plan);
    if (problem_.start_from.has_value()) plan.replanning = ReplanningOf(*problem_.start_from, plan);
    for (std::string& warning : BaselineWarnings(baselines_, plan.objective)) {
      plan.warnings.push_back(std::move(warning));
    }
    if (!provenance.proven_optimal && outcome.devices_needed.has_value()) {
      plan.warnings.push_back(absl::StrCat("it is not proven that fewer devices miss the target; ",
                                           *outcome.devices_needed, " are needed at least"));
    } else if (!provenance.proven_optimal && BoundCountsTensorsOnce(plan)) {
      plan.warnings.emplace_back(
          "the bound counts each tensor once per device, the plan once for every device that reads it: part of the gap "
          "may be due to that");
    }
    return plan;
  }

  // Whether the bound is that of a program for which a device pays once for a tensor that several others read.
  bool BoundCountsTensorsOnce(const Plan& plan) const {
    if (RulesOf(request_.cluster.interconnect).pay_once || problem_.schedule == ScheduleKind::kPeriodic) return false;
    const auto is_best = [&](const Bound& bound) {
      return bound.scope == BoundScope::kProblem && bound.value == plan.lower_bound;
    };
    const auto best = std::find_if(plan.bounds.begin(), plan.bounds.end(), is_best);
    return best != plan.bounds.end() && best->pays_once &&
           std::any_of(request_.graph.tensors.begin(), request_.graph.tensors.end(),
                       [](const Tensor& tensor) { return tensor.consumers.size() > 1; });
  }

  Replanning ReplanningOf(const Placement& start, const Plan& plan) const {
    const int32_t moved = CountMovedStages(start, PlacementOf(plan));
    return {.moved_stages = moved,
            .kept_stages = static_cast<int32_t>(plan.stages.size()) - moved,
            .best_objective = best_objective_.value_or(plan.objective)};
  }

  absl::Status Verify(const Plan& plan) const {
    Violations violations;
    VerifyPlan(request_.graph, request_.cluster, plan, violations);
    if (violations.empty()) return absl::OkStatus();
    return RejectedPlanError(
        absl::StrCat("the verifier rejected the plan, please report this: ", violations.ToStatus().message()));
  }

  const PlanRequest& request_;
  const SolveLimits& limits_;
  TaskArena& arena_;
  PlannerObserver& observer_;
  const bool wants_incumbent_plans_;
  const Stopwatch stopwatch_;
  const ResolvedProblem problem_;
  const CostTable given_costs_;
  const CanonicalRequest canonical_;
  const CostTable costs_;
  std::vector<Baseline> baselines_;
  std::vector<Incumbent> incumbents_;
  // The best objective of the search, whatever is planned; nullopt while it runs.
  std::optional<Picoseconds> best_objective_;
  // Why the plan of an incumbent could not be reported: a defect, which ends the request.
  absl::Status incumbent_status_;
};

// Plans by the joint search, which costs, compares and verifies its own plans.
absl::StatusOr<Plan> PlanJointProblem(const PlanRequest& request, const SolveLimits& limits, const TaskArena& arena,
                                      PlannerObserver& observer) {
  const Stopwatch stopwatch(arena);
  const ResolvedProblem problem = ResolveProblem(request.graph, request.problem);
  const bool wants_plans = observer.wants_incumbent_plans();
  const std::vector<std::string> said_in_vain =
      SaidInVain(request.graph, request.cluster, request.problem, request.options);
  std::vector<Incumbent> incumbents;
  const auto note = [&](Plan plan) {
    plan.warnings.insert(plan.warnings.end(), said_in_vain.begin(), said_in_vain.end());
    plan.provenance.incumbents = incumbents;
    plan.provenance.wall_time_ms = stopwatch.WallMilliseconds();
    plan.provenance.cpu_time_ms = stopwatch.CpuMilliseconds();
    return plan;
  };
  observer.OnPhase("joint_search");
  Picoseconds lower_bound{0};
  ASSIGN_OR_RETURN(
      Plan plan,
      MakeJointPlan({request.graph, request.cluster, problem}, request.options, limits, [&](const Plan& found) {
        incumbents.push_back({stopwatch.WallMilliseconds(), static_cast<int64_t>(incumbents.size()) + 1,
                              found.objective, found.lower_bound, found.provenance.algorithm});
        if (found.lower_bound > lower_bound && !found.bounds.empty()) observer.OnBound(found.bounds.front());
        lower_bound = std::max(lower_bound, found.lower_bound);
        observer.OnIncumbent(incumbents.back());
        if (wants_plans) observer.OnIncumbentPlan(note(found));
      }));
  return note(std::move(plan));
}

absl::Status NotPlanned(Interruption why) {
  if (why == Interruption::kCancelled) return absl::CancelledError("cancelled before a plan was found");
  return NoPlanFoundError("no plan was found in time; allow more time", SpentLimit::kTime);
}

absl::Status NotJudged(Interruption why) { return InterruptedError(why, "the plan was judged"); }

// The one place where exceptions become statuses. Points of `body` heed `limits`.
template <typename Result, typename ToError, typename Body>
absl::StatusOr<Result> Guarded(const SolveLimits& limits, const ToError& interrupted_error, Body body) {
  const InterruptionScope scope(&limits);
  try {
    return body();
  } catch (const Interrupted& interrupted) {
    return interrupted_error(interrupted.why());
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory while planning; lower options.ideal_limit or the memory budget");
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("planning failed: ", error.what()));
  }
}

// What points heed: small requests get a plan of a baseline, and a bound, however little time there is, or was.
SolveLimits LimitsOfPoints(SolveLimits limits) {
  const SolveLimits::Clock::time_point now = SolveLimits::Clock::now();
  if (limits.stop.stop_requested()) {
    limits.stop = std::stop_token();
    limits.deadline = now;
  }
  if (limits.deadline < SolveLimits::Clock::time_point::max() - kGrace) {
    limits.deadline = std::max(limits.deadline, now) + kGrace;
  }
  return limits;
}

}  // namespace

absl::Status CheckNotInterrupted(const SolveLimits& limits) {
  const std::optional<Interruption> interruption = CheckInterruption(limits);
  if (!interruption.has_value()) return absl::OkStatus();
  return NotJudged(*interruption);
}

absl::Status CheckRequest(const PlanRequest& request, const ModelLimits& model_limits) {
  RETURN_IF_ERROR(CheckPlanned(request, model_limits));
  return CheckSolver(request.options);
}

absl::StatusOr<Plan> MakePlan(const PlanRequest& request, const ModelLimits& model_limits, const SolveLimits& limits,
                              TaskArena& arena, PlannerObserver& observer) {
  const SolveLimits limits_of_points = LimitsOfPoints(limits);
  const auto interrupted_error = [&limits](Interruption why) {
    return NotPlanned(limits.stop.stop_requested() ? Interruption::kCancelled : why);
  };
  return Guarded<Plan>(limits_of_points, interrupted_error, [&]() -> absl::StatusOr<Plan> {
    observer.OnPhase("validate");
    RETURN_IF_ERROR(CheckRequest(request, model_limits));
    // An arena of its own: counts the CPU time of this request, and is as wide as it may be.
    if (request.problem.joint.has_value()) return PlanJointProblem(request, limits, arena, observer);
    TaskArena request_arena(std::min(arena.threads(), request.options.threads.value_or(arena.threads())));
    return Planning(request, limits, request_arena, observer).Run();
  });
}

absl::StatusOr<Verdict> EvaluatePlacement(const PlanRequest& request, const ModelLimits& model_limits,
                                          const Placement& placement, const SolveLimits& limits) {
  return Guarded<Verdict>(limits, NotJudged, [&]() -> absl::StatusOr<Verdict> {
    RETURN_IF_ERROR(CheckNotInterrupted(limits));
    RETURN_IF_ERROR(CheckEvaluated(request, model_limits));
    RETURN_IF_ERROR(CheckNotInterrupted(limits));
    const ResolvedProblem problem = ResolveProblem(request.graph, request.problem);
    if (problem.joint.has_value()) return EvaluateJointPlacement({request.graph, request.cluster, problem}, placement);
    const CostTable costs(request.graph, request.cluster, problem.workload);
    Verdict verdict = VerifyPlacement({request.graph, request.cluster, problem},
                                      WithPattern({request.graph, request.cluster, problem, costs}, placement, limits));
    RETURN_IF_ERROR(CheckNotInterrupted(limits));
    if (verdict.costed.has_value()) {
      Plan& plan = *verdict.costed;
      plan.estimate.uncounted_memory = UncountedMemoryOf(request.graph, request.cluster, costs, plan);
      plan.warnings = PlanWarnings(request.graph, request.cluster, costs, plan);
    }
    return verdict;
  });
}

absl::StatusOr<std::string> WriteIntegerProgram(const PlanRequest& request, const ModelLimits& model_limits,
                                                ProgramFormat format, ProgramForm form) {
  return Guarded<std::string>(SolveLimits(), NotPlanned, [&]() -> absl::StatusOr<std::string> {
    SolverOptions options = request.options;
    options.algorithm = Algorithm::kMip;
    RETURN_IF_ERROR(CheckPlanned({request.graph, request.cluster, request.problem, options}, model_limits));
    RETURN_IF_ERROR(CheckWritten(request.problem));
    const ResolvedProblem problem = ResolveProblem(request.graph, request.problem);
    const CostTable costs(request.graph, request.cluster, problem.workload);
    const bool is_printed = form == ProgramForm::kPrinted;
    if (is_printed) RETURN_IF_ERROR(CheckPrinted(request.cluster, problem));
    const PlanningInput input{request.graph, request.cluster, problem, costs};
    ASSIGN_OR_RETURN(const IntegerProgram program, is_printed ? PrintedProgramOf(input) : IntegerProgramOf(input));
    return format == ProgramFormat::kMps ? ToMps(program) : ToLp(program);
  });
}

}  // namespace planwright
