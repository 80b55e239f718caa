#include "core/partition/periodic/general_allocations.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/base/known.h"
#include "core/cost/chain/chain_costs.h"
#include "core/partition/periodic/allocation_bound.h"
#include "core/partition/periodic/allocation_tree.h"
#include "core/partition/periodic/contiguous_optimum.h"
#include "core/partition/periodic/stage_costs.h"
#include "core/schedule/one_f_one_b_star.h"
#include "core/schedule/pattern_search.h"

namespace planwright {
namespace {

// Maps of longer chains are never exhausted, and each has too many steps to be judged in a moment.
constexpr int32_t kMaxLayersToProve = 96;
constexpr int64_t kRunsPerRound = 4;
// Rounds under smaller limits.
constexpr std::size_t kRungs = 2;
// Units of the first round, and how many times that there is at least.
constexpr int64_t kFirstRound = 150'000;
constexpr int64_t kPartsOfWork = 8;
// One part in so many of the work goes into proofs, and so many periods are asked for to raise the bound.
constexpr int64_t kShareOfProofs = 5;
constexpr int64_t kBoundProbes = 5;
// Nodes that a start may take, and units.
constexpr int64_t kStartNodes = 20'000;
constexpr int64_t kStartUnits = 100'000;

class Search {
 public:
  Search(const GeneralAllocationRequest& request, const SolveLimits& limits, TaskArena& arena,
         const std::function<void(const ScheduledAllocation&)>& on_better)
      : request_(request),
        limits_(limits),
        arena_(arena),
        on_better_(on_better),
        sums_(request.chain),
        periods_(PeriodsOf(request.chain, request.devices)) {
    outcome_.lower_bound = AllocationBound(request.chain, request.devices);
  }

  GeneralAllocationOutcome Run() {
    if (IsSettled()) return std::move(outcome_);
    OfferContiguous();
    for (const ChainAllocation& start : request_.starts) OfferStart(start);
    const int64_t proof = limits_.work / kShareOfProofs;
    Anneal(limits_.work - proof);
    if (!StagesReceive(request_.chain)) Prove(proof);
    return std::move(outcome_);
  }

 private:
  bool IsSettled() const {
    if (!outcome_.lower_bound.has_value()) return true;
    if (!outcome_.best.has_value()) return false;
    const Picoseconds period = outcome_.best->pattern.period;
    return static_cast<double>((period - *outcome_.lower_bound).count()) <=
           request_.relative_gap * static_cast<double>(period.count());
  }

  void Offer(ScheduledAllocation found) {
    if (outcome_.best.has_value() && found.pattern.period >= outcome_.best->pattern.period) return;
    outcome_.best = std::move(found);
    on_better_(*outcome_.best);
  }

  void OfferContiguous() {
    const std::optional<PeriodicAllocation> optimum = ContiguousOptimum(request_.chain, request_.devices);
    if (!optimum.has_value()) return;
    OneFOneBStar schedule =
        Known(ScheduleOneFOneBStar(request_.chain, optimum->allocation, request_.devices, optimum->period));
    Offer({optimum->allocation, std::move(schedule.pattern)});
  }

  void OfferStart(const ChainAllocation& start) {
    if (MostStagesPerDevice(start) > request_.max_stages_per_device) return;
    PatternSearcher searcher(request_.chain, sums_, request_.devices);
    searcher.SetAllocation(start);
    const std::optional<Picoseconds> target =
        outcome_.best.has_value() ? std::optional(KnownPeriod() - Picoseconds(1)) : std::nullopt;
    const SolveLimits limits = JudgeLimits(limits_, searcher, kStartNodes, kStartUnits);
    PatternOutcome found = searcher.FindShortest(limits, target);
    outcome_.work.AddJudgement(searcher);
    if (found.pattern.has_value()) Offer({start, *std::move(found.pattern)});
  }

  // The uppermost rungs below the limit, from below.
  std::vector<ChainDevices> Rungs() const {
    std::vector<ChainDevices> rungs;
    if (!request_.devices.memory_bytes.has_value()) return rungs;
    const int32_t last = sums_.num_layers() - 1;
    const int64_t needed = sums_.static_bytes(0, last) + sums_.stored_bytes(0, last);
    for (int64_t bytes = CeilDivide(needed, request_.devices.count); bytes < *request_.devices.memory_bytes;
         bytes += bytes / 4 + 1) {
      if (rungs.size() == kRungs) rungs.erase(rungs.begin());
      rungs.push_back(request_.devices);
      rungs.back().memory_bytes = bytes;
    }
    return rungs;
  }

  // Every round under the limit itself has twice the work of the one before, however much there is: whoever stops early
  // has the best of complete rounds.
  void Anneal(int64_t units) {
    int64_t round = std::clamp<int64_t>(units / kPartsOfWork, 1, kFirstRound);
    for (const ChainDevices& rung : Rungs()) {
      RunRound(rung, round);
      units -= round;
    }
    while (units > 0 && !IsSettled()) {
      round = units < 4 * round ? units : 2 * round;
      RunRound(request_.devices, round);
      units -= round;
    }
  }

  void RunRound(const ChainDevices& devices, int64_t units) {
    if (IsSettled()) return;
    const ChainAllocation start = outcome_.best.has_value() ? outcome_.best->allocation : EvenAllocation();
    const Picoseconds known = outcome_.best.has_value() ? KnownPeriod() : 2 * periods_.high;
    SolveLimits limits = limits_;
    limits.work = units / kRunsPerRound;
    std::vector<AnnealedAllocation> runs(kRunsPerRound);
    const int64_t first_stream = std::exchange(streams_, streams_ + kRunsPerRound);
    arena_.ParallelFor(kRunsPerRound, 1, [&](std::size_t run) {
      const RandomStream random(static_cast<uint64_t>(request_.seed),
                                static_cast<uint64_t>(first_stream) + static_cast<uint64_t>(run));
      runs[run] = AnnealAllocation(request_.chain, sums_, devices, request_.max_stages_per_device, start, known, random,
                                   limits);
    });
    for (AnnealedAllocation& run : runs) {
      outcome_.work += run.work;
      if (run.best.has_value()) Offer(*std::move(run.best));
    }
  }

  // Half of the units ask for anything better at all; the rest goes into bisection for a bound.
  void Prove(int64_t units) {
    if (sums_.num_layers() > kMaxLayersToProve) return;
    AllocationTree tree(request_.chain, sums_, request_.devices, request_.max_stages_per_device);
    SolveLimits limits = limits_;
    const auto refutes = [&](Picoseconds period) {
      const AllocationTree::Answer answer = tree.Decide(period, limits);
      if (answer == AllocationTree::Answer::kFound) Offer(*tree.found());
      return answer == AllocationTree::Answer::kRefuted;
    };
    bool has_improved = true;
    while (!IsSettled() && has_improved && tree.work().units < units / 2) {
      const Picoseconds before = KnownPeriod();
      limits.work = units / 2 - tree.work().units;
      if (refutes(before - Picoseconds(1))) {
        outcome_.lower_bound = outcome_.best.has_value() ? std::optional(before) : std::nullopt;
      }
      has_improved = KnownPeriod() < before;
    }
    limits.work = units / (2 * kBoundProbes);
    Picoseconds high = KnownPeriod();
    for (int64_t probe = 0; probe < kBoundProbes && !IsSettled(); ++probe) {
      const Picoseconds low = Known(outcome_.lower_bound);
      const Picoseconds middle = low + (high - low) / 2;
      if (refutes(middle)) {
        outcome_.lower_bound = middle + Picoseconds(1);
      } else {
        high = middle;
      }
    }
    outcome_.work += tree.work();
  }

  // The shortest period known; without one, more than any allocation that fits needs.
  Picoseconds KnownPeriod() const {
    return outcome_.best.has_value() ? outcome_.best->pattern.period : periods_.high + Picoseconds(1);
  }

  // Stages of about the same work: where nothing is known to fit.
  ChainAllocation EvenAllocation() const {
    const int32_t last = sums_.num_layers() - 1;
    const int32_t stages = std::min(request_.devices.count, last + 1);
    ChainAllocation allocation;
    int32_t first = 0;
    for (int32_t stage = 0; stage < stages; ++stage) {
      int32_t end = stage + 1 == stages ? last : first;
      while (end < last + 1 - (stages - stage) &&
             sums_.compute(0, end + 1) * stages <= sums_.compute(0, last) * (stage + 1)) {
        ++end;
      }
      allocation.push_back({first, end, stage});
      first = end + 1;
    }
    return allocation;
  }

  const GeneralAllocationRequest& request_;
  const SolveLimits& limits_;
  TaskArena& arena_;
  const std::function<void(const ScheduledAllocation&)>& on_better_;
  const ChainSums sums_;
  const PeriodRange periods_;
  int64_t streams_ = 0;
  GeneralAllocationOutcome outcome_;
};

}  // namespace

GeneralAllocationOutcome FindGeneralAllocation(const GeneralAllocationRequest& request, const SolveLimits& limits,
                                               TaskArena& arena,
                                               const std::function<void(const ScheduledAllocation&)>& on_better) {
  return Search(request, limits, arena, on_better).Run();
}

int32_t MostStagesPerDevice(const ChainAllocation& allocation) {
  std::ptrdiff_t most = 0;
  for (const ChainStage& stage : allocation) {
    const auto is_beside = [&](const ChainStage& other) { return other.device == stage.device; };
    most = std::max(most, std::count_if(allocation.begin(), allocation.end(), is_beside));
  }
  return static_cast<int32_t>(most);
}

}  // namespace planwright
