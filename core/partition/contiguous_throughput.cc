#include "core/partition/contiguous_throughput.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "core/base/infeasibility.h"
#include "core/cost/transfer.h"
#include "core/graph/topological_order.h"
#include "core/partition/block_instance.h"
#include "core/partition/block_split.h"
#include "core/partition/fan_out.h"
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
// Times that the costs of producers are raised for a better incumbent.
constexpr int kMaxFanOutRounds = 3;
// More states than this take longer to list than a plan is worth.
constexpr std::size_t kMaxStates = std::size_t{1} << 18U;

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

// The stages of `placement` as stages of blocks. REQUIRES: no block is torn apart.
BlockSplit ToSplit(const BlockInstance& instance, std::size_t num_operators, const Placement& placement) {
  std::vector<std::size_t> stage_of(num_operators, 0);
  for (std::size_t stage = 0; stage < placement.stages.size(); ++stage) {
    for (const OperatorId op : placement.stages[stage].operators) stage_of[op.index()] = stage;
  }
  BlockSplit split;
  split.stages.resize(placement.stages.size());
  for (int32_t block = 0; block < instance.num_blocks(); ++block) {
    const OperatorId first = instance.operators[static_cast<std::size_t>(block)].front();
    split.stages[stage_of[first.index()]].blocks.push_back(block);
  }
  for (std::size_t stage = 0; stage < placement.stages.size(); ++stage) {
    const DeviceId device = placement.stages[stage].devices.front();
    const auto holds = [&](const DevicePool& pool) {
      return std::binary_search(pool.devices.begin(), pool.devices.end(), device);
    };
    const auto pool = std::find_if(instance.pools.begin(), instance.pools.end(), holds);
    split.stages[stage].pool = static_cast<std::size_t>(pool - instance.pools.begin());
  }
  split.max_load = SplitLoad(instance, split);
  return split;
}

class Solver {
 public:
  Solver(const ThroughputRequest& request, const SolveLimits& limits, TaskArena& arena,
         const ThroughputCallbacks& callbacks)
      : request_(request),
        limits_(limits),
        arena_(arena),
        callbacks_(callbacks),
        is_exact_(request.options.algorithm != Algorithm::kLinearizedDp) {
    outcome_.algorithm = is_exact_ ? kIdealDpName : kLinearizedDpName;
  }

  // First with the fewest blocks, which is enough unless memory limits decide; then with the exact ones.
  absl::StatusOr<ThroughputOutcome> Run() {
    const BlockInstance merged = Build(MergeRule::kIgnoreMemory);
    if (StateSpace(merged).size() > kMaxStates) {
      return absl::ResourceExhaustedError(
          "the cluster has too many combinations of device kinds: use fewer device classes or fewer devices");
    }
    const bool memory_can_bind = std::any_of(merged.pools.begin(), merged.pools.end(),
                                             [&](const DevicePool& pool) { return MemoryCanBind(merged, pool); });
    const bool is_sound = !FindShortages(request_.graph, request_.cluster, merged).has_value();
    if (is_sound && !memory_can_bind) {
      Search(merged, /*prove_without_memory=*/false);
      return Finish(merged);
    }
    const BlockInstance exact = Build(MergeRule::kExact);
    const std::optional<Infeasibility> shortages = FindShortages(request_.graph, request_.cluster, exact);
    if (shortages.has_value()) return InfeasibleError(*shortages);
    const bool has_merged = merged.num_blocks() < exact.num_blocks();
    if (has_merged && is_sound && !Search(merged, /*prove_without_memory=*/true)) return Finish(merged);
    if (has_merged && best_split_.has_value()) {
      best_split_ = ToSplit(exact, request_.graph.operators.size(), ToPlacement(merged, *best_split_));
    }
    Search(exact, /*prove_without_memory=*/false);
    return Finish(exact);
  }

 private:
  int64_t lower_bound() const { return lower_bound_.count(); }

  BlockInstance Build(MergeRule rule) const {
    return BuildBlockInstance(request_.graph, request_.cluster, request_.problem, request_.costs, rule);
  }

  // True: memory limits decide, so the search must be done on the exact blocks.
  bool Search(const BlockInstance& instance, bool prove_without_memory) {
    const LoadWindows windows(instance);
    for (const Bound& bound : ElementaryBounds(instance, windows)) RaiseBound(bound);
    const bool was_cut_off = !FindFirstSplits(instance, windows);
    outcome_.counters["blocks"] = instance.num_blocks();
    outcome_.counters["nets"] = static_cast<int64_t>(instance.nets.size());
    if (is_exact_) return SearchWithFanOut(instance, windows, prove_without_memory);
    SettleLinearized(was_cut_off);
    return prove_without_memory && !has_placement_ && !was_cut_off;
  }

  // The exact search, with what producers must pay in any plan that is better than the incumbent. A better incumbent
  // makes them pay more, so the search is repeated while that helps. True: as Search.
  bool SearchWithFanOut(const BlockInstance& instance, const LoadWindows& windows, bool prove_without_memory) {
    for (int round = 0; round < kMaxFanOutRounds && has_placement_; ++round) {
      const Picoseconds objective = outcome_.objective;
      if (objective <= lower_bound_) return false;
      const std::optional<BlockInstance> raised = WithFanOutCosts(instance, objective.count() - 1);
      if (!raised.has_value()) break;
      const LoadWindows raised_windows(*raised);
      if (best_split_.has_value()) best_split_->max_load = SplitLoad(*raised, *best_split_);
      bound_limit_ = objective;
      if (SearchIdeals(*raised, raised_windows, prove_without_memory)) return true;
      bound_limit_ = Picoseconds(kMaxQuantity);
      if (outcome_.objective == objective || outcome_.stop_reason != StopReason::kExhausted) return false;
    }
    if (best_split_.has_value()) best_split_->max_load = SplitLoad(instance, *best_split_);
    return SearchIdeals(instance, windows, prove_without_memory);
  }

  absl::StatusOr<ThroughputOutcome> Finish(const BlockInstance& instance) {
    if (proven_infeasible_) return InfeasibleError(NoSplitFits(request_.graph, instance));
    if (!has_placement_) return NothingFound();
    return Settled(std::move(outcome_));
  }

  // The outcome if the search were stopped now.
  ThroughputOutcome SoFar() const {
    ThroughputOutcome outcome = outcome_;
    outcome.stop_reason = StopReason::kCancelled;
    if (made_by_ != outcome.algorithm) outcome.fallback = made_by_;
    return Settled(std::move(outcome));
  }

  // Keeps the best bound of each method.
  void RaiseBound(Bound bound) {
    bound.value = std::min(bound.value, bound_limit_);
    const auto same = std::find_if(outcome_.bounds.begin(), outcome_.bounds.end(),
                                   [&](const Bound& known) { return known.method == bound.method; });
    if (same == outcome_.bounds.end()) {
      outcome_.bounds.push_back(bound);
    } else {
      same->value = std::max(same->value, bound.value);
    }
    if (bound.value <= lower_bound_) return;
    lower_bound_ = bound.value;
    callbacks_.on_bound(bound);
  }

  // Takes `split` as the placement if its true objective is better.
  void Offer(const BlockInstance& instance, const BlockSplit& split, std::string_view algorithm) {
    if (!best_split_.has_value() || split.max_load < best_split_->max_load) best_split_ = split;
    Placement placement = ToPlacement(instance, split);
    const Picoseconds objective = callbacks_.objective(placement);
    if (has_placement_ && objective >= outcome_.objective) return;
    has_placement_ = true;
    outcome_.placement = std::move(placement);
    outcome_.objective = objective;
    made_by_ = algorithm;
    callbacks_.on_incumbent(SoFar(), work_, algorithm);
  }

  static std::vector<std::vector<int32_t>> Orders(const BlockInstance& instance) {
    std::vector<int32_t> natural(static_cast<std::size_t>(instance.num_blocks()));
    std::iota(natural.begin(), natural.end(), 0);
    std::vector<int64_t> reversed(natural.size());
    for (std::size_t block = 0; block < reversed.size(); ++block) reversed[block] = static_cast<int64_t>(block);
    return {natural, DepthFirstTopologicalOrder(instance.precedence, reversed)};
  }

  // Greedy for a plan at once, then the linearized program along two orders. False: the limits cut it off.
  bool FindFirstSplits(const BlockInstance& instance, const LoadWindows& windows) {
    callbacks_.on_phase(kLinearizedDpName);
    for (const std::vector<int32_t>& order : Orders(instance)) {
      const std::optional<BlockSplit> greedy = GreedySplit(instance, order, lower_bound());
      if (greedy.has_value()) Offer(instance, *greedy, kGreedyName);
      // Below, the load to beat would be less than any plan's, even negative.
      if (best_split_.has_value() && best_split_->max_load <= lower_bound()) return true;
      const int64_t max_load = best_split_.has_value() ? best_split_->max_load - 1 : TrivialLoadBound(instance);
      bool was_interrupted = false;
      const auto split = LinearizedSplit(instance, windows, order, max_load, limits_, was_interrupted);
      if (was_interrupted) return false;
      if (split.has_value()) Offer(instance, *split, kLinearizedDpName);
    }
    return true;
  }

  // True: as Search.
  bool SearchIdeals(const BlockInstance& instance, const LoadWindows& windows, bool prove_without_memory) {
    callbacks_.on_phase(kIdealDpName);
    IdealDpOptions options;
    if (request_.options.ideal_limit.has_value()) options.max_ideals = *request_.options.ideal_limit;
    // A gap in pay-once loads says nothing of the gap in true ones.
    if (RulesOf(request_.cluster.interconnect).pay_once) options.relative_gap = request_.options.relative_gap;
    options.prove_without_memory = prove_without_memory;
    SolveLimits limits = limits_;
    limits.work = request_.options.work_limit.value_or(limits_.work) - work_;
    const IdealDpListener listener{[&](const BlockSplit& split) { Offer(instance, split, kIdealDpName); },
                                   [&](int64_t bound) {
                                     RaiseBound({Picoseconds(bound), kIdealDpName, BoundScope::kProblem});
                                   }};
    const IdealDpOutcome search =
        SolveByIdealDp(instance, windows, lower_bound(), best_split_, options, limits, arena_, listener);
    work_ += search.work;
    int64_t& most_ideals = outcome_.counters["ideals"];
    most_ideals = std::max(most_ideals, search.ideals);
    outcome_.counters["passes"] += search.passes;
    outcome_.counters["polish_rounds"] += search.polish_rounds;
    outcome_.counters["work"] = work_;
    if (search.end == IdealDpEnd::kMemoryMatters) return true;
    proven_infeasible_ = search.end == IdealDpEnd::kInfeasible;
    outcome_.stop_reason = StopReasonOf(search.end);
    const bool was_limited = search.end != IdealDpEnd::kProven && search.end != IdealDpEnd::kGapReached;
    if (was_limited && made_by_ != kIdealDpName) outcome_.fallback = made_by_;
    return false;
  }

  // What the search knows; whether the plan is optimal or within the gap is for SettleStopReason.
  static StopReason StopReasonOf(IdealDpEnd end) {
    switch (end) {
      case IdealDpEnd::kProven:
      case IdealDpEnd::kInfeasible:
      case IdealDpEnd::kMemoryMatters:
      case IdealDpEnd::kGapReached:
        return StopReason::kExhausted;
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

  void SettleLinearized(bool was_cut_off) {
    outcome_.stop_reason = StopReason::kExhausted;
    if (!was_cut_off) return;
    const std::optional<Interruption> interruption = CheckInterruption(limits_);
    if (!interruption.has_value()) {
      outcome_.stop_reason = StopReason::kMemoryLimit;
    } else if (*interruption == Interruption::kCancelled) {
      outcome_.stop_reason = StopReason::kCancelled;
    } else {
      outcome_.stop_reason = StopReason::kTimeLimit;
    }
  }

  // `outcome` with its bounds in order; what the bound says goes before how the search ended.
  ThroughputOutcome Settled(ThroughputOutcome outcome) const {
    if (outcome.objective <= lower_bound_) {
      outcome.stop_reason = StopReason::kOptimal;
    } else if (RelativeGap(outcome.objective, lower_bound_) <= request_.options.relative_gap) {
      outcome.stop_reason = StopReason::kGapReached;
    }
    std::stable_sort(outcome.bounds.begin(), outcome.bounds.end(),
                     [](const Bound& a, const Bound& b) { return a.value < b.value; });
    return outcome;
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
      case StopReason::kExhausted:
        return NoPlanFoundError(
            "the linear orders tried hold no plan that fits, which proves nothing; use the algorithm IDEAL_DP");
      default:
        return NoPlanFoundError(
            "no plan was found in time, and none was proven impossible; allow more time or devices with more memory");
    }
  }

  const ThroughputRequest& request_;
  const SolveLimits& limits_;
  TaskArena& arena_;
  const ThroughputCallbacks& callbacks_;
  const bool is_exact_;

  ThroughputOutcome outcome_;
  Picoseconds lower_bound_{0};
  // What is proven holds for plans better than this only.
  Picoseconds bound_limit_{kMaxQuantity};
  // The split of least pay-once load; outcome_.placement is the one of least true cost.
  std::optional<BlockSplit> best_split_;
  bool has_placement_ = false;
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
