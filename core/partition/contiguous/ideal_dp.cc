#include "core/partition/contiguous/ideal_dp.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/partition/contiguous/ideals/chain_code.h"
#include "core/partition/contiguous/ideals/ideal_enumeration.h"
#include "core/partition/contiguous/ideals/reached_set.h"
#include "core/partition/contiguous/linearized_dp.h"
#include "core/partition/search/load_windows.h"

namespace planwright {
namespace {

// Candidates to a task: large enough to hide the cost of a task, small enough to stop within milliseconds.
constexpr std::size_t kCandidatesPerTask = 128;
// Largest instance whose splits are polished: the linearized program is quadratic.
constexpr int32_t kMaxPolishedBlocks = 4096;
// Once the gap is this much smaller than when halving started, targets lie just below the incumbent.
constexpr int64_t kProofShare = 64;
// Orders without gain that end a descent, at most, and how much less than the passes it may cost.
constexpr int kMaxPolishFailures = 8;
constexpr int64_t kPolishShare = 8;
// Tries with half the step after a target had too many ideals.
constexpr int kMaxRetreats = 3;

// Tables up to this size say nothing of the growth to come.
constexpr std::size_t kFewIdeals = 1000;

// Which ideals of the window of a state are reached with its devices or fewer.
struct CoveredRange {
  std::size_t begin = 0;
  std::vector<bool> is_covered;

  bool Contains(std::size_t ideal) const {
    return ideal >= begin && ideal - begin < is_covered.size() && is_covered[ideal - begin];
  }
};

// What an earlier pass over the same table found, by state.
struct KnownPass {
  std::vector<CoveredRange> covered;
  // States from here on were not looked at.
  std::size_t end_state = 0;

  // Known to be reached by a pass with a smaller target: reached by every later one.
  bool Covers(std::size_t state, std::size_t ideal) const {
    return state < end_state && covered[state].Contains(ideal);
  }
  // Whether it is not known to be out of reach of a pass with a larger target.
  bool MayCover(std::size_t state, std::size_t ideal) const {
    return state >= end_state || covered[state].Contains(ideal);
  }
};

// Ideals that a state may reach.
struct Candidates {
  // Ascending.
  std::vector<uint32_t> ideals;
  std::vector<char> is_reached;
  // Positions in `ideals` that are to be decided.
  std::vector<uint32_t> open;
};

template <std::size_t W>
class IdealSearch {
 public:
  IdealSearch(const BlockInstance& instance, const ChainLayout& layout, const LoadWindows& windows,
              const IdealDpOptions& options, const SolveLimits& limits, TaskArena& arena,
              const IdealDpListener& listener)
      : instance_(instance),
        layout_(layout),
        windows_(windows),
        options_(options),
        limits_(limits),
        arena_(arena),
        listener_(listener),
        costs_(instance, layout) {}

  IdealDpOutcome Run(int64_t lower_bound, std::optional<BlockSplit> incumbent) {
    outcome_.lower_bound = lower_bound;
    outcome_.best = std::move(incumbent);
    // Without an incumbent every load up to the trivial bound is open.
    const int64_t highest = options_.max_load.value_or(TrivialLoadBound(instance_));
    upper_ = outcome_.best.has_value() ? outcome_.best->max_load : highest + 1;
    step_ = std::max<int64_t>(1, (upper_ - lower_bound) / kFirstStepShare);
    while (!IsDone()) {
      const int64_t target = NextTarget();
      const PassEnd end = Pass(target);
      ++outcome_.passes;
      if (end == PassEnd::kRefuted && options_.prove_without_memory && costs_.has_refused_memory()) {
        outcome_.end = IdealDpEnd::kMemoryMatters;
        break;
      }
      if (end == PassEnd::kRefuted) {
        Refuted(target);
      } else if (end == PassEnd::kReached) {
        Improve();
      } else if (IsTooLarge(end) && retreats_ < kMaxRetreats && target > outcome_.lower_bound) {
        Retreat(target);
      } else {
        outcome_.end = EndOfSearch(end, limits_);
        break;
      }
    }
    return std::move(outcome_);
  }

 private:
  bool IsDone() {
    if (outcome_.lower_bound >= upper_) {
      outcome_.end = outcome_.best.has_value() ? IdealDpEnd::kProven : IdealDpEnd::kInfeasible;
      return true;
    }
    const auto gap = static_cast<double>(upper_ - outcome_.lower_bound);
    if (outcome_.best.has_value() && gap <= options_.relative_gap * static_cast<double>(upper_)) {
      outcome_.end = IdealDpEnd::kGapReached;
      return true;
    }
    return false;
  }

  static bool IsTooLarge(PassEnd end) { return end == PassEnd::kTooManyIdeals || end == PassEnd::kTooMuchMemory; }

  // Returns a target in [lower_bound, upper_ - 1].
  int64_t NextTarget() const {
    const int64_t highest = upper_ - 1;
    if (outcome_.passes == 0 && options_.first_target.has_value()) {
      return std::clamp(*options_.first_target, outcome_.lower_bound, highest);
    }
    const int64_t gap = highest - outcome_.lower_bound;
    if (is_halving_) {
      // Halving the gap pays until one proof just below the incumbent is likely to end the search; from there on
      // targets move down in strides that grow with every success.
      const int64_t middle = outcome_.lower_bound + gap / 2;
      return gap > first_gap_ / kProofShare ? middle : std::max(middle, highest - stride_);
    }
    return gap <= step_ ? highest : outcome_.lower_bound + step_;
  }

  void Refuted(int64_t target) {
    const std::size_t num_states = covered_.size();
    refuted_pass_ = {std::move(covered_), num_states};
    outcome_.lower_bound = target + 1;
    stride_ = 0;
    step_ = SaturatingMultiply(step_, kStepGrowth);
    if (listener_.on_bound) listener_.on_bound(outcome_.lower_bound);
    // While targets are cheap the incumbent is what decides how far they must go.
    if (!is_halving_ && outcome_.best.has_value()) Accept(Polish(*outcome_.best));
  }

  void Retreat(int64_t target) {
    ++retreats_;
    is_halving_ = false;
    step_ = std::max<int64_t>(1, (target - outcome_.lower_bound) / 16);
  }

  void Improve() {
    StartHalving();
    reached_pass_ = {std::move(covered_), last_state_ + 1};
    const int64_t before = upper_;
    Accept(Polish(Backtrack()));
    stride_ = SaturatingAdd(SaturatingMultiply(stride_, 2), before - upper_);
  }

  // Goes over from growing steps above the bound to targets between bound and incumbent.
  void StartHalving() {
    if (!is_halving_) first_gap_ = upper_ - outcome_.lower_bound;
    is_halving_ = true;
  }

  void Accept(BlockSplit split) {
    if (outcome_.best.has_value() && split.max_load >= upper_) return;
    upper_ = split.max_load;
    outcome_.best = std::move(split);
    if (listener_.on_split) listener_.on_split(*outcome_.best);
  }

  // Descends from `split`, the longer the more the passes have cost so far.
  BlockSplit Polish(BlockSplit split) {
    if (instance_.num_blocks() > kMaxPolishedBlocks) return split;
    const int64_t affordable = outcome_.work / (kPolishShare * std::max<int64_t>(1, instance_.num_blocks()));
    const auto failures = static_cast<int>(std::clamp<int64_t>(affordable, 1, kMaxPolishFailures));
    return RedivideAlongOrders(instance_, windows_, std::move(split), outcome_.lower_bound, failures, limits_, random_,
                               outcome_.polish_rounds);
  }

  PassEnd Pass(int64_t target) {
    const std::vector<LoadWindow> windows = windows_.At(target);
    if (target > enumerated_for_) {
      const PassEnd end = Enumerate(target, windows);
      if (end != PassEnd::kReached) return end;
    }
    reached_.assign(windows.size(), ReachedSet<W>());
    Poller poller(limits_);
    reached_[0] = ReachedSet<W>(costs_, table_, {0}, poller);
    covered_.assign(windows.size(), CoveredRange());
    int64_t reached_bytes = 0;
    target_ = target;
    for (std::size_t state = 1; state < windows.size(); ++state) {
      if (windows[state].empty()) continue;
      Candidates candidates = FindCandidates(state, windows[state], poller);
      outcome_.work += static_cast<int64_t>(candidates.open.size());
      if (outcome_.work > limits_.work) return PassEnd::kWorkLimit;
      if (poller.ShouldStop() || !Query(state, candidates)) return PassEnd::kInterrupted;
      std::vector<uint32_t> reached = Reached(state, candidates);
      const bool is_full = !reached.empty() && reached.back() == table_.size() - 1;
      reached_[state] = ReachedSet<W>(costs_, table_, std::move(reached), poller);
      if (poller.ShouldStop()) return PassEnd::kInterrupted;
      if (is_full) {
        last_state_ = state;
        return PassEnd::kReached;
      }
      reached_bytes += reached_[state].Bytes();
      if (reached_bytes > limits_.memory_bytes / 3) return PassEnd::kTooMuchMemory;
    }
    return PassEnd::kRefuted;
  }

  // kReached: the table holds the ideals of all windows of `target`.
  PassEnd Enumerate(int64_t target, const std::vector<LoadWindow>& windows) {
    const std::size_t known_ideals = enumerated_for_ < 0 ? 0 : table_.size();
    enumerated_for_ = -1;
    const EnumerationLimits enumeration_limits{options_.max_ideals, limits_.memory_bytes / 3};
    const PassEnd end = EndOfEnumeration(EnumerateIdeals<W>(instance_, layout_, windows_, windows, costs_.NeedsMemory(),
                                                            enumeration_limits, limits_, arena_, table_));
    if (end != PassEnd::kReached) return end;
    enumerated_for_ = target;
    if (table_.size() != known_ideals) {
      refuted_pass_ = {};
      reached_pass_ = {};
    } else if (known_ideals > kFewIdeals) {
      // A larger target has all ideals of a smaller one, so these are the same: larger targets cost no more.
      StartHalving();
    }
    const auto ideals = static_cast<int64_t>(table_.size());
    outcome_.ideals = std::max(outcome_.ideals, ideals);
    outcome_.work += ideals;
    return outcome_.work > limits_.work ? PassEnd::kWorkLimit : PassEnd::kReached;
  }

  // Ideals inside the window of `state` that no state with fewer devices has reached (those need no more), and that no
  // earlier pass has ruled out. Starts covered_[state]. Useless when `poller` was interrupted.
  Candidates FindCandidates(std::size_t state, const LoadWindow& window, Poller& poller) {
    const auto& weights = table_.weights;
    const auto begin = std::lower_bound(weights.begin(), weights.end(), window.min_weight) - weights.begin();
    const auto end = std::upper_bound(weights.begin(), weights.end(), window.max_weight) - weights.begin();
    CoveredRange& covered = covered_[state];
    covered.begin = static_cast<std::size_t>(begin);
    covered.is_covered.assign(static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, end - begin)), false);
    Candidates candidates;
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      if (poller.ShouldStop()) break;
      const int64_t border = table_.borders[i];
      if (weights[i] + border > window.max_before) continue;
      if (windows_.total_weight() - weights[i] + border > window.max_after) continue;
      if (IsReachedWithLess(state, i)) {
        covered.is_covered[i - covered.begin] = true;
      } else if (refuted_pass_.Covers(state, i)) {
        candidates.ideals.push_back(static_cast<uint32_t>(i));
        candidates.is_reached.push_back(1);
      } else if (reached_pass_.MayCover(state, i)) {
        candidates.open.push_back(static_cast<uint32_t>(candidates.ideals.size()));
        candidates.ideals.push_back(static_cast<uint32_t>(i));
        candidates.is_reached.push_back(0);
      }
    }
    return candidates;
  }

  bool IsReachedWithLess(std::size_t state, std::size_t ideal) const {
    const StateSpace& states = windows_.states();
    for (std::size_t pool = 0; pool < states.num_pools(); ++pool) {
      if (states.used(state, pool) > 0 && covered_[states.without(state, pool)].Contains(ideal)) return true;
    }
    return false;
  }

  // Decides the open candidates. False: interrupted.
  bool Query(std::size_t state, Candidates& candidates) {
    std::atomic<bool> interrupted{false};
    arena_.ParallelForRanges(candidates.open.size(), kCandidatesPerTask, [&](std::size_t begin, std::size_t end) {
      if (interrupted.load(std::memory_order_relaxed)) return;
      if (CheckInterruption(limits_).has_value()) {
        interrupted.store(true, std::memory_order_relaxed);
        return;
      }
      for (std::size_t i = begin; i < end; ++i) {
        const uint32_t position = candidates.open[i];
        candidates.is_reached[position] = IsReachable(state, candidates.ideals[position]) ? 1 : 0;
      }
    });
    return !interrupted;
  }

  // The reached candidates, which become covered.
  std::vector<uint32_t> Reached(std::size_t state, const Candidates& candidates) {
    CoveredRange& covered = covered_[state];
    std::vector<uint32_t> reached;
    for (std::size_t i = 0; i < candidates.ideals.size(); ++i) {
      if (candidates.is_reached[i] == 0) continue;
      reached.push_back(candidates.ideals[i]);
      covered.is_covered[candidates.ideals[i] - covered.begin] = true;
    }
    return reached;
  }

  bool IsReachable(std::size_t state, uint32_t ideal) const {
    const StateSpace& states = windows_.states();
    for (std::size_t pool = 0; pool < states.num_pools(); ++pool) {
      for (int64_t replicas = 1; replicas <= MaxReplicas(state, pool); ++replicas) {
        const ReachedSet<W>& from = reached_[states.without(state, pool, replicas)];
        if (from.ideals().empty()) continue;
        StageQuery<W> query(costs_, table_, ideal, pool, replicas);
        const int64_t min_weight = table_.weights[ideal] - windows_.StageCapacity(pool, replicas, target_);
        if (from.Reaches(costs_, table_, query, target_, min_weight)) return true;
      }
    }
    return false;
  }

  // Devices of `pool` that the last stage of `state` can have.
  int64_t MaxReplicas(std::size_t state, std::size_t pool) const {
    return std::min(windows_.states().used(state, pool), instance_.max_replicas(pool));
  }

  // The split behind the full ideal of the last pass: from the end, the start with the least load of each stage.
  BlockSplit Backtrack() const {
    const StateSpace& states = windows_.states();
    BlockSplit split;
    std::size_t state = last_state_;
    auto ideal = static_cast<uint32_t>(table_.size() - 1);
    while (ideal != 0) {
      const LastStage last = FindLastStage(state, ideal);
      split.stages.push_back(
          {last.pool, layout_.BlocksBetween(table_.codes[last.start], table_.codes[ideal]), last.replicas});
      state = states.without(state, last.pool, last.replicas);
      ideal = last.start;
    }
    std::reverse(split.stages.begin(), split.stages.end());
    split.max_load = SplitLoad(instance_, split);
    return split;
  }

  struct LastStage {
    uint32_t start = 0;
    std::size_t pool = 0;
    int64_t replicas = 1;
  };

  // REQUIRES: `state` reaches `ideal`.
  LastStage FindLastStage(std::size_t state, uint32_t ideal) const {
    const StateSpace& states = windows_.states();
    for (std::size_t pool = 0; pool < states.num_pools(); ++pool) {
      for (int64_t replicas = 1; replicas <= MaxReplicas(state, pool); ++replicas) {
        StageQuery<W> query(costs_, table_, ideal, pool, replicas);
        const ReachedSet<W>& from = reached_[states.without(state, pool, replicas)];
        const std::optional<uint32_t> start = from.BestStart(costs_, table_, query, target_);
        if (start.has_value()) return {*start, pool, replicas};
      }
    }
    return {};
  }

  const BlockInstance& instance_;
  const ChainLayout& layout_;
  const LoadWindows& windows_;
  const IdealDpOptions& options_;
  const SolveLimits& limits_;
  TaskArena& arena_;
  const IdealDpListener& listener_;
  const StageCosts<W> costs_;

  IdealDpOutcome outcome_;
  RandomStream random_{1};
  int64_t upper_ = 0;
  int64_t step_ = 1;
  bool is_halving_ = false;
  // Between bound and incumbent when halving started.
  int64_t first_gap_ = 0;
  // How far below the incumbent the next target lies.
  int64_t stride_ = 0;
  int retreats_ = 0;

  // The ideals of all windows up to this target.
  IdealTable<W> table_;
  int64_t enumerated_for_ = -1;
  // The last pass.
  int64_t target_ = 0;
  std::vector<ReachedSet<W>> reached_;
  std::vector<CoveredRange> covered_;
  std::size_t last_state_ = 0;
  // The last refuted and the last reached pass: targets between theirs leave only their difference open.
  KnownPass refuted_pass_;
  KnownPass reached_pass_;
};

}  // namespace

IdealDpOutcome SolveByIdealDp(const BlockInstance& instance, const LoadWindows& windows, int64_t lower_bound,
                              std::optional<BlockSplit> incumbent, const IdealDpOptions& options,
                              const SolveLimits& limits, TaskArena& arena, const IdealDpListener& listener) {
  // Below the work bound no window holds the full ideal, which a pass takes to be the last of its table.
  lower_bound = std::max(lower_bound, windows.WorkBound(TrivialLoadBound(instance)));
  if (incumbent.has_value() && incumbent->max_load <= lower_bound) {
    IdealDpOutcome outcome;
    outcome.lower_bound = lower_bound;
    outcome.best = std::move(incumbent);
    return outcome;
  }
  const ChainLayout layout(instance.precedence, FirstNumbers(Index(instance.num_blocks())));
  const auto run = [&]<std::size_t W>() {
    return IdealSearch<W>(instance, layout, windows, options, limits, arena, listener).Run(lower_bound, incumbent);
  };
  std::optional<IdealDpOutcome> found = WithWords<16>(layout.num_words(), run);
  if (found.has_value()) return *std::move(found);
  // So wide a graph has more ideals than any memory.
  IdealDpOutcome outcome;
  outcome.end = IdealDpEnd::kTooManyIdeals;
  outcome.lower_bound = lower_bound;
  outcome.best = std::move(incumbent);
  return outcome;
}

}  // namespace planwright
