// The exact contiguous split of least max load: dynamic program over ideals (device-placement 5.1.1), by decisions.
//
// A pass for a target T goes through the states (numbers of devices used) and keeps the set of ideals that so many
// devices can hold with every load at most T. It looks only at ideals inside the load windows of T, so it gets cheap
// as T approaches the work bound. A pass that does not reach the full ideal proves that the optimum is above T; one
// that does yields a split, which is polished by descent along orders. Targets start near the lower bound and grow
// until one succeeds; then they halve the gap, and at last stride down from the incumbent. What one pass reaches, every
// pass with a larger target reaches too, so a pass between two others decides only the ideals on which they differ.
// The proven bound rises and the incumbent falls from the first pass on.
//
// Exact for every instance (loads with nets paid once per device), inference and training. Work: output-sensitive, one
// unit per ideal enumerated or queried. Memory: some 60 to 140 bytes per ideal inside the windows; beyond the limits
// the search ends with what it has proven. There is no final optimising pass.
#ifndef PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_IDEAL_DP_H_
#define PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_IDEAL_DP_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>

#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/contiguous/block_split.h"
#include "core/partition/contiguous/ideals/ideal_enumeration.h"
#include "core/partition/search/block_instance.h"
#include "core/partition/search/load_windows.h"

namespace planwright {

struct IdealDpOptions {
  // Ideals that may be stored at a time.
  int64_t max_ideals = std::numeric_limits<int64_t>::max();
  // Stop when incumbent - bound <= relative_gap x incumbent.
  double relative_gap = 0;
  // Splits above this load are of no interest; without one up to it the end is kInfeasible. nullopt: any.
  std::optional<int64_t> max_load;
  // Where the first pass looks, if that lies between bound and incumbent.
  std::optional<int64_t> first_target;
  // End before the first refutation that rests on memory limits (see MergeRule::kIgnoreMemory).
  bool prove_without_memory = false;
};

enum class IdealDpEnd {
  // The bound meets the incumbent.
  kProven,
  // Proven that no split exists, or none up to max_load.
  kInfeasible,
  kGapReached,
  kWorkLimit,
  kDeadline,
  kCancelled,
  kTooManyIdeals,
  kTooMuchMemory,
  // Only with prove_without_memory.
  kMemoryMatters
};

// What a program over ideals did.
struct IdealDpRun {
  IdealDpEnd end = IdealDpEnd::kProven;
  int64_t passes = 0;
  // Most ideals stored at a time.
  int64_t ideals = 0;
  int64_t work = 0;
};

struct IdealDpOutcome : IdealDpRun {
  // Proven: no split has a smaller max load.
  int64_t lower_bound = 0;
  // The best split known, the given incumbent included.
  std::optional<BlockSplit> best;
  // Linear orders tried to improve incumbents (linearized_dp.h).
  int64_t polish_rounds = 0;
};

// Told of progress on the calling thread.
struct IdealDpListener {
  std::function<void(const BlockSplit&)> on_split;
  std::function<void(int64_t)> on_bound;
};

// Searches between `lower_bound` (proven) and the max load of `incumbent`. limits.work counts from 0 here.
// The outcome is the same for any arena unless the clock or a stop request ends it.
IdealDpOutcome SolveByIdealDp(const BlockInstance& instance, const LoadWindows& windows, int64_t lower_bound,
                              std::optional<BlockSplit> incumbent, const IdealDpOptions& options,
                              const SolveLimits& limits, TaskArena& arena, const IdealDpListener& listener);

// Targets of a search by passes of a dynamic program over ideals, and how one pass ends.
// The first target lies this share of the gap above the bound; each refuted one makes the next step so much longer.
inline constexpr int64_t kFirstStepShare = 16;
inline constexpr int64_t kStepGrowth = 4;

// Whether a split within the target exists; or why the pass could not tell.
enum class PassEnd { kReached, kRefuted, kWorkLimit, kInterrupted, kTooManyIdeals, kTooMuchMemory };

// kReached: the table is complete.
inline PassEnd EndOfEnumeration(EnumerationEnd end) {
  switch (end) {
    case EnumerationEnd::kTooMany:
      return PassEnd::kTooManyIdeals;
    case EnumerationEnd::kTooLarge:
      return PassEnd::kTooMuchMemory;
    case EnumerationEnd::kInterrupted:
      return PassEnd::kInterrupted;
    default:
      return PassEnd::kReached;
  }
}

// How a search ends whose pass could not tell. REQUIRES: neither kReached nor kRefuted.
inline IdealDpEnd EndOfSearch(PassEnd end, const SolveLimits& limits) {
  switch (end) {
    case PassEnd::kTooManyIdeals:
      return IdealDpEnd::kTooManyIdeals;
    case PassEnd::kTooMuchMemory:
      return IdealDpEnd::kTooMuchMemory;
    case PassEnd::kWorkLimit:
      return IdealDpEnd::kWorkLimit;
    default:
      return limits.stop.stop_requested() ? IdealDpEnd::kCancelled : IdealDpEnd::kDeadline;
  }
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_IDEAL_DP_H_
