// One run of simulated annealing over allocations of a chain, with the exact pattern search as judge.
//
// Any device may hold several stages. A run looks for an allocation with a pattern a little shorter than the best one
// known: it walks by moving cuts, mapping stages to other devices, splitting and merging them, guided by the energy of
// that period (allocation_energy.h). Where that says nothing against an allocation, the pattern search decides; a
// pattern becomes the new incumbent and shortens the period, allocations that were refuted are remembered, whatever
// their devices are called. MadPipe (section 4.2) knows one device with
// several stages only.
#ifndef PLANWRIGHT_CORE_PARTITION_PERIODIC_ALLOCATION_ANNEALER_H_
#define PLANWRIGHT_CORE_PARTITION_PERIODIC_ALLOCATION_ANNEALER_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/base/limits.h"
#include "core/base/random.h"
#include "core/base/units.h"
#include "core/cost/chain/chain_sums.h"
#include "core/model/chain.h"
#include "core/model/periodic_pattern.h"
#include "core/schedule/pattern_search.h"

namespace planwright {

struct ScheduledAllocation {
  ChainAllocation allocation;
  PeriodicPattern pattern;
};

// What a run did.
struct AnnealingWork {
  int64_t moves = 0;
  // Allocations that the pattern search judged, and nodes of its trees.
  int64_t judged = 0;
  int64_t nodes = 0;
  // What limits count: a move is one unit, a node UnitsOfNode, or what it draws where that is more. A unit takes about
  // half a microsecond.
  int64_t units = 0;

  AnnealingWork& operator+=(const AnnealingWork& other) {
    moves += other.moves;
    judged += other.judged;
    nodes += other.nodes;
    units += other.units;
    return *this;
  }

  // The searcher has judged its allocation. REQUIRES: once for each.
  void AddJudgement(const PatternSearcher& searcher) {
    constexpr int64_t kDistancesPerUnit = 800;
    ++judged;
    nodes += searcher.nodes();
    units += std::max(searcher.nodes() * UnitsOfNode(searcher.num_steps()),
                      searcher.rows() * searcher.num_steps() / kDistancesPerUnit);
  }

  static int64_t UnitsOfNode(int64_t steps) {
    constexpr int64_t kStepPairsPerUnit = 32;
    return 1 + steps * steps / kStepPairsPerUnit;
  }
};

// Nodes that the pattern search may take for an allocation.
inline constexpr int64_t kJudgeNodes = 4'000;

// For judging the allocation of `searcher`: at most that many nodes, and no more than the units pay for.
SolveLimits JudgeLimits(const SolveLimits& limits, const PatternSearcher& searcher, int64_t nodes, int64_t units);

struct AnnealedAllocation {
  // What was found that beats the start.
  std::optional<ScheduledAllocation> best;
  AnnealingWork work;
};

// Walks from `start` until limits.work units are used up or the limits say stop, and looks for periods shorter than
// `known`.
AnnealedAllocation AnnealAllocation(const Chain& chain, const ChainSums& sums, const ChainDevices& devices,
                                    int32_t max_stages_per_device, const ChainAllocation& start, Picoseconds known,
                                    RandomStream random, const SolveLimits& limits);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PERIODIC_ALLOCATION_ANNEALER_H_
