// The least max forward load + max backward load of a contiguous split (GPIPE, device-placement Appendix A).
//
// The sum of two maxima is no bottleneck objective, but for a fixed cap on the forward loads the least max backward
// load is, and the ideal DP finds it (LoadRule::forward_cap). Caps go down: with a cap C the least backward load is
// B(C), which only grows as C falls, so all splits with forward loads in (limit - B(C), C] are no better than `limit`,
// the best sum known, and the next cap worth a look is limit - 1 - B(C). The sweep ends when the cap falls below the
// least forward load, or no split below the limit is left. It visits the splits that no other dominates, a few of them
// as a rule.
//
// Exact for loads with nets paid once per device. Anytime: it starts with the bound min forward + min backward.
#ifndef PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_PHASE_SWEEP_H_
#define PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_PHASE_SWEEP_H_

#include <cstdint>
#include <functional>

#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/contiguous/block_split.h"
#include "core/partition/contiguous/ideal_dp.h"
#include "core/partition/search/block_instance.h"

namespace planwright {

// The instance with one pass only, whose loads are then those of that pass. REQUIRES: instance.rule.has_phases.
BlockInstance OnlyForward(BlockInstance instance);
BlockInstance OnlyBackward(BlockInstance instance);

struct PhaseSweepListener {
  // A split that may be better. Returns the least objective known, this split's included.
  std::function<int64_t(const BlockSplit&)> on_split;
  // A proven bound on the sum.
  std::function<void(int64_t)> on_bound;
};

// kProven: no split has a smaller sum than lower_bound.
struct PhaseSweepOutcome : IdealDpRun {
  int64_t lower_bound = 0;
  int64_t caps = 0;
};

// REQUIRES: instance.rule.has_phases, without a cap. `objective`: the least one known; `lower_bound`: proven.
// options.relative_gap applies to the sum. limits.work counts from 0 here.
PhaseSweepOutcome SweepForwardCaps(const BlockInstance& instance, int64_t lower_bound, int64_t objective,
                                   const IdealDpOptions& options, const SolveLimits& limits, TaskArena& arena,
                                   const PhaseSweepListener& listener);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_PHASE_SWEEP_H_
