#include "core/partition/contiguous_throughput.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "core/base/infeasibility.h"
#include "core/graph/topological_order.h"
#include "core/partition/block_instance.h"
#include "core/partition/block_split.h"
#include "core/partition/feasibility.h"
#include "core/partition/ideal_dp.h"
#include "core/partition/linearized_dp.h"
#include "core/partition/load_windows.h"
#include "core/partition/lower_bounds.h"

namespace planwright {
namespace {

constexpr char kIdealDpName[] = "ideal_dp";
constexpr char kLinearizedDpName[] = "linearized_dp";
constexpr char kGreedyName[] = "greedy";
// More states than this take longer to list than a plan is worth.
constexpr std::size_t kMaxStates = std::size_t{1} << 22U;

// Stages of blocks to stages of operators on devices, pools in device order.
Placement ToPlacement(const BlockInstance& instance, const BlockSplit& split) {
  std::vector<std::size_t> next_device(instance.pools.size(), 0);
  Placement placement;
  for (const BlockSplit::Stage& stage : split.stages) {
    Placement::Stage& placed = placement.stages.emplace_back();
    for (const int32_t block : stage.blocks) {
      const auto& operators = instance.operators[static_cast<std::size_t>(block)];
      placed.operators.insert(placed.operators.end(), operators.begin(), operators.end());
    }
    std::sort(placed.operators.begin(), placed.operators.end());
    placed.devices.push_back(instance.pools[stage.pool].devices[next_device[stage.pool]++]);
  }
  return placement;
}

class Solver {
 public:
  Solver(const ThroughputRequest& request, const SolveLimits& limits, TaskArena& arena,
         const ThroughputCallbacks& callbacks)
      : request_(request),
        limits_(limits),
        arena_(arena),
        callbacks_(callbacks),
        instance_(BuildBlockInstance(request.graph, request.cluster, request.problem, request.costs)) {}

  absl::StatusOr<ThroughputOutcome> Run() {
    const std::optional<Infeasibility> shortages = FindShortages(request_.graph, request_.cluster, instance_);
    if (shortages.has_value()) return InfeasibleError(*shortages);
    if (StateSpace(instance_).size() > kMaxStates) {
      return absl::ResourceExhaustedError(
          "the cluster has too many combinations of device kinds: use fewer device classes or fewer devices");
    }
    const LoadWindows windows(instance_);
    for (const Bound& bound : ElementaryBounds(instance_, windows)) RaiseBound(bound);
    FindFirstSplits(windows);
    const bool is_exact = request_.options.algorithm != Algorithm::kLinearizedDp;
    outcome_.algorithm = is_exact ? kIdealDpName : kLinearizedDpName;
    if (is_exact) {
      SearchIdeals(windows);
    } else {
      SettleLinearized();
    }
    outcome_.counters["blocks"] = instance_.num_blocks();
    outcome_.counters["nets"] = static_cast<int64_t>(instance_.nets.size());
    if (proven_infeasible_) return InfeasibleError(NoSplitFits(request_.graph, instance_));
    if (!has_placement_) return NothingFound();
    SettleStopReason();
    std::sort(outcome_.bounds.begin(), outcome_.bounds.end(),
              [](const Bound& a, const Bound& b) { return a.value < b.value; });
    return std::move(outcome_);
  }

 private:
  int64_t lower_bound() const { return lower_bound_.count(); }

  void RaiseBound(const Bound& bound) {
    // One entry for each method: the search raises its own again and again.
    if (!outcome_.bounds.empty() && outcome_.bounds.back().method == bound.method) outcome_.bounds.pop_back();
    outcome_.bounds.push_back(bound);
    if (bound.value <= lower_bound_) return;
    lower_bound_ = bound.value;
    callbacks_.on_bound(bound);
  }

  // Takes `split` as the placement if its true objective is better.
  void Offer(const BlockSplit& split, std::string_view algorithm) {
    if (!best_split_.has_value() || split.max_load < best_split_->max_load) best_split_ = split;
    Placement placement = ToPlacement(instance_, split);
    const Picoseconds objective = callbacks_.objective(placement);
    if (has_placement_ && objective >= outcome_.objective) return;
    has_placement_ = true;
    outcome_.placement = std::move(placement);
    outcome_.objective = objective;
    made_by_ = algorithm;
    callbacks_.on_incumbent(objective, lower_bound_, work_, algorithm);
  }

  std::vector<std::vector<int32_t>> Orders() const {
    std::vector<int32_t> natural(static_cast<std::size_t>(instance_.num_blocks()));
    std::iota(natural.begin(), natural.end(), 0);
    std::vector<int64_t> reversed(natural.size());
    for (std::size_t block = 0; block < reversed.size(); ++block) reversed[block] = static_cast<int64_t>(block);
    return {natural, DepthFirstTopologicalOrder(instance_.precedence, reversed)};
  }

  // Greedy for a plan at once, then the linearized program along two orders.
  void FindFirstSplits(const LoadWindows& windows) {
    callbacks_.on_phase(kLinearizedDpName);
    for (const std::vector<int32_t>& order : Orders()) {
      if (best_split_.has_value() && best_split_->max_load <= lower_bound()) return;
      std::optional<BlockSplit> greedy = GreedySplit(instance_, order, lower_bound());
      if (greedy.has_value()) Offer(*greedy, kGreedyName);
      const int64_t max_load = best_split_.has_value() ? best_split_->max_load - 1 : TrivialLoadBound(instance_);
      if (max_load < lower_bound()) return;
      bool was_interrupted = false;
      const auto split = LinearizedSplit(instance_, windows, order, max_load, limits_, was_interrupted);
      if (split.has_value()) Offer(*split, kLinearizedDpName);
      was_cut_off_ |= was_interrupted;
      if (was_interrupted) return;
    }
  }

  void SearchIdeals(const LoadWindows& windows) {
    callbacks_.on_phase(kIdealDpName);
    IdealDpOptions options;
    if (request_.options.ideal_limit.has_value()) options.max_ideals = *request_.options.ideal_limit;
    options.relative_gap = request_.options.relative_gap;
    SolveLimits limits = limits_;
    limits.work = request_.options.work_limit.value_or(limits_.work);
    const IdealDpListener listener{[&](const BlockSplit& split) { Offer(split, kIdealDpName); },
                                   [&](int64_t bound) {
                                     RaiseBound({Picoseconds(bound), kIdealDpName, BoundScope::kProblem});
                                   }};
    const IdealDpOutcome search =
        SolveByIdealDp(instance_, windows, lower_bound(), best_split_, options, limits, arena_, listener);
    work_ = search.work;
    outcome_.counters["ideals"] = search.ideals;
    outcome_.counters["passes"] = search.passes;
    outcome_.counters["work"] = search.work;
    proven_infeasible_ = search.end == IdealDpEnd::kInfeasible;
    if (search.end == IdealDpEnd::kProven)
      RaiseBound({Picoseconds(search.lower_bound), kIdealDpName, BoundScope::kProblem});
    outcome_.stop_reason = StopReasonOf(search.end);
    const bool was_limited = search.end != IdealDpEnd::kProven && search.end != IdealDpEnd::kGapReached;
    if (was_limited && made_by_ != kIdealDpName) outcome_.fallback = made_by_;
  }

  static StopReason StopReasonOf(IdealDpEnd end) {
    switch (end) {
      case IdealDpEnd::kProven:
      case IdealDpEnd::kInfeasible:
        return StopReason::kExhausted;
      case IdealDpEnd::kGapReached:
        return StopReason::kGapReached;
      case IdealDpEnd::kWorkLimit:
        return StopReason::kWorkLimit;
      case IdealDpEnd::kDeadline:
        return StopReason::kTimeLimit;
      case IdealDpEnd::kCancelled:
        return StopReason::kCancelled;
      case IdealDpEnd::kTooManyIdeals:
        return StopReason::kIdealLimit;
      case IdealDpEnd::kTooMuchMemory:
        return StopReason::kMemoryLimit;
    }
    return StopReason::kExhausted;
  }

  void SettleLinearized() {
    outcome_.stop_reason = StopReason::kExhausted;
    if (!was_cut_off_) return;
    const auto interruption = CheckInterruption(limits_);
    outcome_.stop_reason = !interruption.has_value()                   ? StopReason::kMemoryLimit
                           : *interruption == Interruption::kCancelled ? StopReason::kCancelled
                                                                       : StopReason::kTimeLimit;
  }

  // What the bound says goes before how the search ended.
  void SettleStopReason() {
    if (outcome_.objective <= lower_bound_) {
      outcome_.stop_reason = StopReason::kOptimal;
    } else if (RelativeGap(outcome_.objective, lower_bound_) <= request_.options.relative_gap) {
      outcome_.stop_reason = StopReason::kGapReached;
    }
  }

  absl::Status NothingFound() const {
    switch (outcome_.stop_reason) {
      case StopReason::kCancelled:
        return absl::CancelledError("cancelled before a plan was found");
      case StopReason::kIdealLimit:
      case StopReason::kMemoryLimit:
        return absl::ResourceExhaustedError(
            "no plan was found within the limits on ideals and memory, and none was proven impossible; raise "
            "options.ideal_limit or the memory budget of the server");
      default:
        return NoPlanFoundError(
            "no plan was found in time, and none was proven impossible; allow more time or devices with more memory");
    }
  }

  const ThroughputRequest& request_;
  const SolveLimits& limits_;
  TaskArena& arena_;
  const ThroughputCallbacks& callbacks_;
  const BlockInstance instance_;

  ThroughputOutcome outcome_;
  Picoseconds lower_bound_{0};
  // The split of least pay-once load; outcome_.placement is the one of least true cost.
  std::optional<BlockSplit> best_split_;
  bool has_placement_ = false;
  bool was_cut_off_ = false;
  bool proven_infeasible_ = false;
  std::string_view made_by_;
  int64_t work_ = 0;
};

}  // namespace

absl::StatusOr<ThroughputOutcome> SolveContiguousThroughput(const ThroughputRequest& request, const SolveLimits& limits,
                                                            TaskArena& arena, const ThroughputCallbacks& callbacks) {
  callbacks.on_phase("preprocess");
  return Solver(request, limits, arena, callbacks).Run();
}

}  // namespace planwright
