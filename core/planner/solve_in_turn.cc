#include "core/planner/solve_in_turn.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/infeasibility.h"
#include "core/base/interruption.h"
#include "core/base/known.h"
#include "core/base/limits.h"
#include "core/cost/pipeline_fill.h"
#include "core/model/colocation.h"
#include "core/model/device_selection.h"
#include "core/partition/enumeration/enumeration.h"
#include "core/partition/search/search_record.h"
#include "core/planner/algorithms/algorithms.h"
#include "core/planner/algorithms/capabilities.h"
#include "core/planner/canonical_request.h"
#include "core/planner/devices/device_search.h"

namespace planwright {
namespace {

// Work for each operator or layer of searches that would go on for seconds: some milliseconds.
constexpr int64_t kParmesanWorkPerUnit = 40'000;
constexpr int64_t kRoundsWorkPerUnit = 8'000;
constexpr int64_t kSequenceWorkPerUnit = 40'000;
constexpr int64_t kAnnealingWorkPerUnit = 300'000;
// About a second each.
constexpr int64_t kMostWorkOfRounds = 1'000'000;
constexpr int64_t kMostWorkAlongSequences = 20'000'000;
// A second or two, and the gap below which that is not worth while.
constexpr int64_t kMostWorkOfOtherSeeds = 60'000'000;
constexpr double kSmallGap = 0.01;
// No round counts for less than this part of the work of all.
constexpr int64_t kMostRounds = 16;
// In rounds, one after the other: Parmesan's K, coarser and finer than it takes by itself.
constexpr std::array<int32_t, 4> kClusters = {64, 16, 32, 96};

// Whether what it does for small or simple problems ends with a proof.
bool IsInexact(Algorithm algorithm) {
  return algorithm != Algorithm::kIdealDp && algorithm != Algorithm::kHierarchicalDp &&
         algorithm != Algorithm::kEnumeration;
}

int64_t CountUnits(const OperatorGraph& graph, const ResolvedProblem& problem) {
  const std::vector<int32_t> unions = ColocationUnions(graph, problem);
  return unions.empty() ? 0 : 1 + *std::ranges::max_element(unions);
}

// Whether the search ends long before any limit, and takes another way where numbers are others.
bool HasRounds(Algorithm algorithm) { return algorithm == Algorithm::kParmesan; }

// Counters of what was done, of which rounds do more; others describe what was looked at.
bool IsSum(std::string_view counter) { return counter == "moves" || counter == "runs"; }

// Devices that join a cluster together.
int64_t DevicesOfGroup(const Interconnect& interconnect) {
  if (const auto* hierarchy = std::get_if<HierarchyInterconnect>(&interconnect))
    return hierarchy->levels.front().fan_out;
  if (const auto* nodes = std::get_if<NodesInterconnect>(&interconnect)) return nodes->devices_per_node;
  return 1;
}

// Callbacks that name placements of `part` as the given request does.
SearchCallbacks Translated(const CanonicalRequest& part, const SearchCallbacks& callbacks) {
  SearchCallbacks translated = callbacks;
  translated.objective = [&](const Placement& placement) { return callbacks.objective(part.ToGiven(placement)); };
  translated.objection = [&](const Placement& placement) { return callbacks.objection(part.ToGiven(placement)); };
  translated.on_incumbent = [&](const SearchOutcome& so_far, int64_t work, std::string_view algorithm) {
    SearchOutcome given = so_far;
    given.placement = part.ToGiven(std::move(given.placement));
    callbacks.on_incumbent(given, work, algorithm);
  };
  return translated;
}

absl::StatusOr<SearchOutcome> SolveOnce(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                                        const SearchCallbacks& callbacks) {
  // Heeds selections itself, on links as they are in the whole cluster.
  if (request.algorithm == Algorithm::kEnumeration) return SolveByEnumeration(request, limits, arena, callbacks);
  return SolveOnAllowedDevices(RowOf(request.algorithm).solve, request, limits, arena, callbacks);
}

// SolveOnce with operators in another order.
absl::StatusOr<SearchOutcome> SolveInOtherOrder(const SearchRequest& request, int64_t variant,
                                                const SolveLimits& limits, TaskArena& arena,
                                                const SearchCallbacks& callbacks) {
  const CanonicalRequest other(request.graph, request.cluster, request.problem, variant);
  const CostTable costs(other.graph(), other.cluster(), request.problem.workload);
  SearchRequest renumbered{
      other.graph(), other.cluster(), other.problem(), costs, request.options, request.algorithm, {}, request.target};
  for (const SearchStart& start : request.starts) {
    renumbered.starts.push_back({other.ToCanonical(start.placement), start.made_by});
  }
  for (const DeviceLimit& limit : request.device_limits) {
    renumbered.device_limits.push_back({other.ToCanonical(limit.devices), limit.most});
  }
  absl::StatusOr<SearchOutcome> outcome = SolveOnce(renumbered, limits, arena, Translated(other, callbacks));
  if (outcome.ok()) outcome->placement = other.ToGiven(std::move(outcome->placement));
  return outcome;
}

class Turns {
 public:
  // `is_whole`: the request is not a narrower one, of which other searches start.
  Turns(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena, const SearchCallbacks& callbacks,
        bool is_whole)
      : request_(request), limits_(limits), arena_(arena), callbacks_(callbacks), is_whole_(is_whole) {}

  absl::StatusOr<SearchOutcome> Run() {
    try {
      TakeTurns();
    } catch (const Interrupted&) {
      // What was told so far stands.
      const InterruptionScope unheeded(nullptr);
      TakeStarts();
    }
    return Finish();
  }

 private:
  void TakeTurns() {
    units_ = CountUnits(request_.graph, request_.problem);
    const std::vector<Algorithm> algorithms = Algorithms();
    TryRelaxed(ShareOfRemainingTime(limits_, algorithms.size() + 1));
    // The first one takes the starts at least.
    for (std::size_t i = 0; i < algorithms.size() && (i == 0 || !IsDone()); ++i) {
      if (IsInexact(algorithms[i]) && !has_narrowed_)
        TryNarrower(ShareOfRemainingTime(limits_, algorithms.size() - i + 1));
      if (i > 0 && IsDone()) break;
      const SolveLimits share = ShareOfRemainingTime(limits_, algorithms.size() - i);
      if (HasRounds(algorithms[i]) && algorithms.size() > 1) {
        SearchInRounds(algorithms[i], share);
      } else {
        Search(algorithms[i], request_.options, /*variant=*/0, share);
      }
    }
    if (algorithms.size() > 1 && algorithms.back() == Algorithm::kStageAnnealing) AnnealWithOtherSeeds();
  }

  // Takes the given starts where no search came so far as to offer them.
  void TakeStarts() {
    if (best_.has_value()) return;
    const std::vector<Algorithm> algorithms = AlgorithmsInTurn(request_.cluster, request_.problem, request_.options);
    for (const SearchStart& start : request_.starts) {
      SearchOutcome outcome;
      outcome.objective = callbacks_.objective(start.placement);
      outcome.placement = start.placement;
      outcome.algorithm = StableNameOf(algorithms.front());
      if (outcome.algorithm != start.made_by) outcome.fallback = start.made_by;
      Take(outcome);
    }
  }

  // Without enumeration where it is not known that it ends, or where there is no time left to find out.
  std::vector<Algorithm> Algorithms() const {
    std::vector<Algorithm> algorithms = AlgorithmsInTurn(request_.cluster, request_.problem, request_.options);
    if (algorithms.size() > 1 && std::ranges::find(algorithms, Algorithm::kEnumeration) != algorithms.end() &&
        (CheckInterruption(limits_).has_value() || !CountPlacements(request_).has_value())) {
      std::erase(algorithms, Algorithm::kEnumeration);
    }
    return algorithms;
  }

  // The given request for another problem and other options, which outlive it, and without starts.
  SearchRequest Like(const ResolvedProblem& problem, const SolverOptions& options, Algorithm algorithm) const {
    return {request_.graph,  request_.cluster,      problem, request_.costs, options, algorithm, {},
            request_.target, request_.device_limits};
  }

  bool IsWithin(double gap) const { return best_.has_value() && RelativeGap(best_->objective, bound_.value) <= gap; }
  bool IsSettled() const { return IsWithin(request_.options.relative_gap); }
  bool IsAboveTarget() const { return request_.target.has_value() && bound_.value > *request_.target; }
  // Nothing is left to be found, or nobody waits for it.
  bool IsDone() const {
    return IsSettled() || IsAboveTarget() || InfeasibilityOf(error_).has_value() ||
           CheckInterruption(limits_).has_value();
  }

  // One of several need not do all that it would do alone.
  int64_t DefaultWork(Algorithm algorithm) const {
    if (request_.options.algorithm == Algorithm::kAuto) {
      if (algorithm == Algorithm::kParmesan) return units_ * kParmesanWorkPerUnit;
      if (algorithm == Algorithm::kSequenceDp) return std::min(kMostWorkAlongSequences, units_ * kSequenceWorkPerUnit);
      if (algorithm == Algorithm::kStageAnnealing) return units_ * kAnnealingWorkPerUnit;
    }
    return std::numeric_limits<int64_t>::max();
  }

  // Stages that drain early keep more than one micro-batch, which the exact programs do not know. With one for each
  // stage every plan of this problem is a plan too, at the same cost: what they prove then holds, and what they find
  // counts where it fits.
  void TryRelaxed(const SolveLimits& limits) {
    const ResolvedProblem& problem = request_.problem;
    const bool is_limit_of_many = DrainsEarly(problem.schedule) && !problem.micro_batches.has_value();
    const bool keeps_by_place = is_limit_of_many && problem.memory_model.kind == MemoryModel::Kind::kComponents;
    if (!keeps_by_place || request_.options.algorithm != Algorithm::kAuto) return;
    ResolvedProblem relaxed = problem;
    relaxed.schedule = ScheduleKind::kSteadyState;
    const std::vector<Algorithm> algorithms = AlgorithmsInTurn(request_.cluster, relaxed, request_.options);
    if (algorithms.empty() || IsInexact(algorithms.front()) || algorithms.front() == Algorithm::kEnumeration) return;
    const absl::StatusOr<SearchOutcome> outcome =
        SolveOnce(Like(relaxed, request_.options, algorithms.front()), limits, arena_, callbacks_.Silenced());
    if (!outcome.ok()) {
      if (InfeasibilityOf(outcome.status()).has_value()) error_ = outcome.status();
      return;
    }
    for (const Bound& bound : outcome->bounds) Add(bound);
    if (callbacks_.objection(outcome->placement).empty() && Take(*outcome)) {
      callbacks_.on_incumbent(SoFar(), work_, outcome->algorithm);
    }
  }

  // Problems whose plans are plans of this one: with whole layers, with contiguous stages.
  std::vector<ResolvedProblem> NarrowerProblems() const {
    std::vector<ResolvedProblem> narrower;
    ResolvedProblem layers = request_.problem;
    layers.granularity = Granularity::kLayer;
    if (CountUnits(request_.graph, layers) != units_) narrower.push_back(std::move(layers));
    if (request_.problem.schedule == ScheduleKind::kPeriodic && request_.problem.split == Split::kNonContiguous) {
      ResolvedProblem contiguous = request_.problem;
      contiguous.split = Split::kContiguous;
      contiguous.max_stages_per_device = 1;
      narrower.push_back(std::move(contiguous));
    }
    return narrower;
  }

  // Plans of narrower problems as starts, so that asking for less is never answered better: what is proven of them says
  // nothing of this one.
  void TryNarrower(const SolveLimits& limits) {
    has_narrowed_ = true;
    if (request_.options.algorithm != Algorithm::kAuto) return;
    for (const ResolvedProblem& problem : NarrowerProblems()) {
      const SearchRequest narrower = Like(problem, request_.options, request_.algorithm);
      const SearchCallbacks silent = callbacks_.Silenced();
      const absl::StatusOr<SearchOutcome> outcome = Turns(narrower, limits, arena_, silent, /*is_whole=*/false).Run();
      if (outcome.ok() && Take(*outcome)) callbacks_.on_incumbent(SoFar(), work_, outcome->algorithm);
    }
  }

  // What the search finds without the last group of devices, as a start: which numbers of stages it looks at closely
  // depends on how many devices there are, and one group more is not to be answered worse than without it. What is
  // proven of fewer devices says nothing of all.
  void TryFewerDevices(Algorithm algorithm, const SolveLimits& limits) {
    const std::vector<DeviceId> devices = SelectedDevices(request_.cluster, request_.problem.devices_to_use);
    const int64_t most = std::ssize(devices) - DevicesOfGroup(request_.cluster.interconnect);
    if (request_.options.algorithm != Algorithm::kAuto || most < 1 || IsDone()) return;
    SearchRequest fewer = Like(request_.problem, request_.options, algorithm);
    fewer.device_limits.push_back({devices, most});
    SolveLimits share = limits;
    share.work = std::min(limits.work, request_.options.work_limit.value_or(DefaultWork(algorithm)));
    const absl::StatusOr<SearchOutcome> outcome = SolveOnce(fewer, share, arena_, callbacks_.Silenced());
    if (outcome.ok() && Take(*outcome)) callbacks_.on_incumbent(SoFar(), work_, outcome->algorithm);
  }

  // Returns the work that was done.
  int64_t Search(Algorithm algorithm, const SolverOptions& options, int64_t variant, SolveLimits limits) {
    std::stop_source stop;
    const std::stop_callback forward(limits_.stop, [&stop] { stop.request_stop(); });
    limits.stop = stop.get_token();
    limits.work = std::min(limits.work, options.work_limit.value_or(DefaultWork(algorithm)));
    SearchRequest request = Like(request_.problem, options, algorithm);
    request.starts = request_.starts;
    if (best_.has_value()) {
      request.starts.push_back({best_->placement, best_->fallback.empty() ? best_->algorithm : best_->fallback});
    }
    bool is_best = false;
    SearchCallbacks listening = callbacks_;
    listening.on_bound = [&](const Bound& bound) {
      RaiseBound(bound);
      if (IsSettled() || IsAboveTarget()) stop.request_stop();
    };
    listening.on_incumbent = [&](const SearchOutcome& so_far, int64_t work, std::string_view made_by) {
      if (IsSettled() || !Take(so_far)) return;
      is_best = true;
      callbacks_.on_incumbent(SoFar(), work_ + work, made_by);
      if (IsSettled()) stop.request_stop();
    };
    const absl::StatusOr<SearchOutcome> outcome = variant == 0
                                                      ? SolveOnce(request, limits, arena_, listening)
                                                      : SolveInOtherOrder(request, variant, limits, arena_, listening);
    const int64_t work = Conclude(outcome, is_best);
    work_ += work;
    return work;
  }

  void RaiseBound(const Bound& bound) {
    if (bound.scope != BoundScope::kProblem || bound.value <= bound_.value) return;
    bound_ = bound;
    callbacks_.on_bound(bound);
  }

  bool Take(const SearchOutcome& outcome) {
    if (best_.has_value() && outcome.objective >= best_->objective) return false;
    best_ = outcome;
    return true;
  }

  // `is_best`: the best placement was told by this search.
  int64_t Conclude(const absl::StatusOr<SearchOutcome>& outcome, bool is_best) {
    if (!outcome.ok()) {
      if (SaysMore(outcome.status())) error_ = outcome.status();
      stop_reasons_.push_back(ReasonOf(outcome.status()));
      return 0;
    }
    for (const Bound& bound : outcome->bounds) Add(bound);
    stop_reasons_.push_back(outcome->stop_reason);
    for (const auto& [name, count] : outcome->counters) {
      const auto [known, is_new] = counters_.try_emplace(name, count);
      if (!is_new && IsSum(name)) known->second += count;
    }
    // Told in full what it has told before, or what it kept for itself.
    if (!Take(*outcome) && is_best && outcome->objective == Known(best_).objective) best_ = *outcome;
    return outcome->work;
  }

  // Whether it says more than the error so far: a proof does most, then what is missing, then which limit was spent.
  bool SaysMore(const absl::Status& error) const {
    if (error_.ok() || InfeasibilityOf(error).has_value()) return true;
    const auto has_advice = [](const absl::Status& status) {
      return IsNoPlanFound(status) && SpentLimitOf(status) == SpentLimit::kNone;
    };
    return has_advice(error) && !has_advice(error_) && !InfeasibilityOf(error_).has_value();
  }

  static StopReason ReasonOf(const absl::Status& error) {
    switch (SpentLimitOf(error)) {
      case SpentLimit::kTime:
        return StopReason::kTimeLimit;
      case SpentLimit::kWork:
        return StopReason::kWorkLimit;
      case SpentLimit::kNone:
        break;
    }
    return absl::IsResourceExhausted(error) ? StopReason::kMemoryLimit : StopReason::kExhausted;
  }

  // The best of each method.
  void Add(const Bound& bound) {
    if (bound.scope != BoundScope::kProblem) return;
    RaiseBound(bound);
    const auto same = std::ranges::find(bounds_, bound.method, &Bound::method);
    if (same == bounds_.end()) {
      bounds_.push_back(bound);
    } else {
      same->value = std::max(same->value, bound.value);
    }
  }

  // As it was asked for, then with other seeds, orders and numbers of clusters.
  void SearchInRounds(Algorithm algorithm, const SolveLimits& limits) {
    const int64_t first_work = Search(algorithm, request_.options, /*variant=*/0, limits);
    TryFewerDevices(algorithm, limits);
    const bool is_limited = request_.options.work_limit.has_value();
    const int64_t work_limit =
        request_.options.work_limit.value_or(std::min(kMostWorkOfRounds, units_ * kRoundsWorkPerUnit));
    int64_t work = is_limited ? first_work : 0;
    for (int64_t round = 1; work < work_limit && !IsDone() && !CheckInterruption(limits).has_value(); ++round) {
      SolverOptions options = request_.options;
      options.seed = OtherSeed(round);
      options.work_limit = work_limit - work;
      if (!options.clusters.has_value())
        options.clusters = kClusters[static_cast<std::size_t>(round) % kClusters.size()];
      work += std::max(Search(algorithm, options, round, limits), work_limit / kMostRounds + 1);
      ++rounds_;
    }
    if (is_limited && work >= work_limit) stop_reasons_.push_back(StopReason::kWorkLimit);
  }

  // From the best plan of all: where memory is tight or links are unlike, annealing ends in many places. The time that
  // searches before left over is spent so, too.
  void AnnealWithOtherSeeds() {
    const bool is_asked = is_whole_ && !request_.options.work_limit.has_value() && !request_.target.has_value();
    if (!is_asked || !best_.has_value()) return;
    int64_t work = 0;
    for (int64_t round = 1; work < kMostWorkOfOtherSeeds && !IsDone() && !IsWithin(kSmallGap); ++round) {
      SolverOptions options = request_.options;
      options.seed = OtherSeed(round);
      options.work_limit = kMostWorkOfOtherSeeds - work;
      work += std::max(Search(Algorithm::kStageAnnealing, options, /*variant=*/0, limits_),
                       kMostWorkOfOtherSeeds / kMostRounds + 1);
      ++rounds_;
    }
  }

  int64_t OtherSeed(int64_t round) const {
    return static_cast<int64_t>(static_cast<uint64_t>(request_.options.seed) + static_cast<uint64_t>(round));
  }

  // The outcome if the searches ended now. REQUIRES: there is a placement.
  SearchOutcome SoFar() const {
    SearchOutcome outcome = Known(best_);
    std::erase_if(outcome.bounds, [](const Bound& bound) { return bound.scope == BoundScope::kProblem; });
    outcome.bounds.insert(outcome.bounds.end(), bounds_.begin(), bounds_.end());
    const auto is_listed = [&](const Bound& bound) {
      return bound.scope == BoundScope::kProblem && bound.value == bound_.value;
    };
    if (!bound_.method.empty() && std::ranges::none_of(outcome.bounds, is_listed)) outcome.bounds.push_back(bound_);
    std::ranges::stable_sort(outcome.bounds, {}, &Bound::value);
    outcome.stop_reason = StopReason::kCancelled;
    if (outcome.objective <= bound_.value) {
      outcome.stop_reason = StopReason::kOptimal;
    } else if (IsSettled()) {
      outcome.stop_reason = StopReason::kGapReached;
    }
    return outcome;
  }

  absl::StatusOr<SearchOutcome> Finish() {
    if (!best_.has_value()) return NothingFound();
    SearchOutcome outcome = SoFar();
    if (IsSettled()) {
      outcome.fallback.clear();
    } else {
      outcome.stop_reason = StopReasonOf(limits_, MostTelling());
    }
    outcome.counters.merge(counters_);
    outcome.work = work_;
    if (work_ > 0) outcome.counters["work"] = work_;
    if (rounds_ > 0) outcome.counters["rounds"] = rounds_;
    return outcome;
  }

  // Returns the most telling reason why searches ended: a limit of which more would have helped, where there is one.
  StopReason MostTelling() const {
    static constexpr std::array kTelling = {StopReason::kTimeLimit, StopReason::kIdealLimit, StopReason::kMemoryLimit,
                                            StopReason::kWorkLimit};
    const auto* const found = std::ranges::find_if(
        kTelling, [&](StopReason reason) { return std::ranges::find(stop_reasons_, reason) != stop_reasons_.end(); });
    return found == kTelling.end() ? StopReason::kExhausted : *found;
  }

  absl::Status NothingFound() const {
    if (error_.ok()) return NotFinished();
    if (InfeasibilityOf(error_).has_value() || !IsNoPlanFound(error_)) return error_;
    const StopReason reason = StopReasonOf(limits_, MostTelling());
    if (reason == StopReason::kCancelled) return absl::CancelledError("cancelled before a plan was found");
    if (SpentLimitOf(error_) != SpentLimit::kNone) return error_;
    const std::string why(error_.message());
    if (reason == StopReason::kTimeLimit) {
      return NoPlanFoundError(absl::StrCat("no plan was found in time: ", why, "; or allow more time"),
                              SpentLimit::kTime);
    }
    // The searches of AUTO are never done by themselves: without a limit they end by the work that they do by default.
    if (reason != StopReason::kWorkLimit && request_.options.algorithm != Algorithm::kAuto) return error_;
    const char* spent = request_.options.work_limit.has_value()
                            ? "no plan was found within the work limit: "
                            : "no plan was found in the work that searches do without a limit, and none is proven "
                              "impossible: ";
    return NoPlanFoundError(absl::StrCat(spent, why, "; or allow more work"), SpentLimit::kWork);
  }

  // Nothing came to an end.
  absl::Status NotFinished() const {
    if (limits_.stop.stop_requested()) return absl::CancelledError("cancelled before a plan was found");
    return NoPlanFoundError("no plan was found in time; allow more time", SpentLimit::kTime);
  }

  const SearchRequest& request_;
  const SolveLimits& limits_;
  TaskArena& arena_;
  const SearchCallbacks& callbacks_;
  const bool is_whole_;
  // What must share a device counts as one.
  int64_t units_ = 0;
  bool has_narrowed_ = false;
  std::optional<SearchOutcome> best_;
  // The best of scope PROBLEM; 0: there is none.
  Bound bound_;
  std::vector<Bound> bounds_;
  std::map<std::string, int64_t> counters_;
  std::vector<StopReason> stop_reasons_;
  int64_t work_ = 0;
  int64_t rounds_ = 0;
  // Why the search without a plan failed that says the most, the first of equals.
  absl::Status error_;
};

}  // namespace

absl::StatusOr<SearchOutcome> SolveInTurn(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                                          const SearchCallbacks& callbacks) {
  return Turns(request, limits, arena, callbacks, /*is_whole=*/true).Run();
}

}  // namespace planwright
