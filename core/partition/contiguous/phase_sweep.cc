#include "core/partition/contiguous/phase_sweep.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/partition/search/load_windows.h"

namespace planwright {

BlockInstance OnlyForward(BlockInstance instance) {
  instance.rule.has_phases = false;
  instance.rule.ring.reset();
  for (DevicePool& pool : instance.pools) {
    for (std::size_t block = 0; block < pool.time.size(); ++block) pool.time[block] -= pool.backward_time[block];
    pool.backward_time.clear();
  }
  for (Net& net : instance.nets) {
    net.weight -= net.backward_weight;
    net.backward_weight = 0;
  }
  return instance;
}

BlockInstance OnlyBackward(BlockInstance instance) {
  instance.rule.has_phases = false;
  for (DevicePool& pool : instance.pools) pool.time = std::exchange(pool.backward_time, {});
  for (Net& net : instance.nets) net.weight = net.backward_weight;
  return instance;
}

namespace {

class Sweep {
 public:
  Sweep(const BlockInstance& instance, int64_t lower_bound, int64_t objective, const IdealDpOptions& options,
        const SolveLimits& limits, TaskArena& arena, const PhaseSweepListener& listener)
      : instance_(instance),
        forward_(OnlyForward(instance)),
        backward_(OnlyBackward(instance)),
        options_(options),
        limits_(limits),
        arena_(arena),
        listener_(listener),
        limit_(objective) {
    outcome_.lower_bound = lower_bound;
  }

  PhaseSweepOutcome Run() {
    int64_t least_forward = 0;
    int64_t least_backward = 0;
    if (!FindLeast(forward_, least_forward) || !FindLeast(backward_, least_backward)) return outcome_;
    RaiseBound(SaturatingAdd(least_forward, least_backward));
    BlockInstance capped = instance_;
    for (int64_t cap = limit_ - 1 - least_backward; cap >= least_forward && !IsSettled();) {
      capped.rule.forward_cap = cap;
      ++outcome_.caps;
      const IdealDpOutcome found = Solve(capped, least_backward, limit_ - 1 - least_forward);
      if (found.end != IdealDpEnd::kProven && found.end != IdealDpEnd::kInfeasible) return outcome_;
      if (!found.best.has_value()) break;
      Offer(*found.best);
      least_backward = std::max(least_backward, found.best->max_load);
      cap = limit_ - 1 - least_backward;
    }
    if (!IsSettled()) RaiseBound(limit_);
    return outcome_;
  }

 private:
  bool IsSettled() const {
    return static_cast<double>(limit_ - outcome_.lower_bound) <= options_.relative_gap * static_cast<double>(limit_);
  }

  void RaiseBound(int64_t bound) {
    if (bound <= outcome_.lower_bound) return;
    outcome_.lower_bound = bound;
    listener_.on_bound(bound);
  }

  // The sum itself limits the search too: where devices pay more than once for a net, the objective is above it.
  void Offer(const BlockSplit& split) {
    const int64_t sum = SaturatingAdd(SplitLoad(forward_, split), SplitLoad(backward_, split));
    limit_ = std::min({limit_, sum, listener_.on_split(split)});
  }

  // False: cut off.
  bool FindLeast(const BlockInstance& one_pass, int64_t& least) {
    const IdealDpOutcome found = Solve(one_pass, 0, TrivialLoadBound(one_pass));
    least = found.lower_bound;
    if (found.best.has_value()) Offer(*found.best);
    return found.end == IdealDpEnd::kProven;
  }

  IdealDpOutcome Solve(const BlockInstance& instance, int64_t lower_bound, int64_t max_load) {
    IdealDpOptions options = options_;
    options.relative_gap = 0;
    options.max_load = max_load;
    SolveLimits limits = limits_;
    limits.work -= outcome_.work;
    IdealDpOutcome found = SolveByIdealDp(instance, LoadWindows(instance), lower_bound, std::nullopt, options, limits,
                                          arena_, IdealDpListener());
    outcome_.work += found.work;
    outcome_.passes += found.passes;
    outcome_.ideals = std::max(outcome_.ideals, found.ideals);
    outcome_.end = found.end == IdealDpEnd::kInfeasible ? IdealDpEnd::kProven : found.end;
    return found;
  }

  const BlockInstance& instance_;
  const BlockInstance forward_;
  const BlockInstance backward_;
  const IdealDpOptions& options_;
  const SolveLimits& limits_;
  TaskArena& arena_;
  const PhaseSweepListener& listener_;
  // Sums below this are of interest.
  int64_t limit_;
  PhaseSweepOutcome outcome_;
};

}  // namespace

PhaseSweepOutcome SweepForwardCaps(const BlockInstance& instance, int64_t lower_bound, int64_t objective,
                                   const IdealDpOptions& options, const SolveLimits& limits, TaskArena& arena,
                                   const PhaseSweepListener& listener) {
  return Sweep(instance, lower_bound, objective, options, limits, arena, listener).Run();
}

}  // namespace planwright
