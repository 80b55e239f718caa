// General allocations: any device may hold several stages of the chain.
//
// Problem: find stages, their devices and a periodic pattern with a period as short as possible under exact memory.
//
// Idea: annealing runs (allocation_annealer.h) in rounds. The first rounds are held under smaller memory limits: rungs
// of a ladder that the chain and the number of devices set, each 5/4 of the one below, so that calls with any limit
// pass the same ones. What fits less memory fits more, so every round starts from the best of the rounds before. The
// runs of a round draw from random streams of their own and are merged by period, then by number of the run: the
// outcome depends on the seed and the work, not on the threads. A fifth of the work goes into proofs: a bound for all
// allocations (allocation_bound.h), raised by branch and bound (allocation_tree.h), which on short chains is the
// optimum.
//
// Guarantees: never worse than a start, than the contiguous optimum, or than what the rungs below give. A caller that
// goes through several limits and hands each plan on as a start of the next never gets a worse plan for more memory.
// MadPipe (Beaumont, Eyraud-Dubois, Shilova, 2020, section 4.2) allows one such device only.
#ifndef PLANWRIGHT_CORE_PARTITION_PERIODIC_GENERAL_ALLOCATIONS_H_
#define PLANWRIGHT_CORE_PARTITION_PERIODIC_GENERAL_ALLOCATIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/base/units.h"
#include "core/model/chain.h"
#include "core/partition/periodic/allocation_annealer.h"

namespace planwright {

struct GeneralAllocationRequest {
  const Chain& chain;
  const ChainDevices& devices;
  // At least 1.
  int32_t max_stages_per_device = 4;
  // Allocations to start from, e.g. MadPipe's; those without a pattern under this memory, or with more stages on a
  // device, are passed over.
  std::vector<ChainAllocation> starts;
  int64_t seed = 1;
  // Ends when the period is within this share of the lower bound.
  double relative_gap = 0;
};

struct GeneralAllocationOutcome {
  // nullopt: none was found.
  std::optional<ScheduledAllocation> best;
  // No allocation of the chain has a shorter period; nullopt: none has a pattern at all.
  std::optional<Picoseconds> lower_bound;
  AnnealingWork work;
};

// Units of work (AnnealingWork::units) of a request that sets no limit: about half a second of one core.
inline constexpr int64_t kGeneralAllocationWork = 1'500'000;

// The best allocation found with limits.work units, or until the limits say stop; a look at them is some milliseconds
// away at most. `on_better` hears of every better allocation between rounds, on this thread. REQUIRES: a valid chain,
// starts that cover it.
GeneralAllocationOutcome FindGeneralAllocation(const GeneralAllocationRequest& request, const SolveLimits& limits,
                                               TaskArena& arena,
                                               const std::function<void(const ScheduledAllocation&)>& on_better);

// Stages of the device that has the most of them. REQUIRES: a stage.
int32_t MostStagesPerDevice(const ChainAllocation& allocation);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PERIODIC_GENERAL_ALLOCATIONS_H_
