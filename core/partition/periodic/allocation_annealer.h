// One run of simulated annealing over allocations of a chain, with the exact pattern search as judge.
//
// Any device may hold several stages. A run looks for an allocation with a pattern a little shorter than the best one
// known: it walks by moving cuts, mapping stages to other devices, splitting and merging them, guided by the energy of
// that period (AllocationEnergy). Where that says nothing against an allocation, the pattern search decides; a
// pattern becomes the new incumbent and shortens the period, allocations that were refuted are remembered, whatever
// their devices are called. MadPipe (section 4.2) knows one device with several stages only.
#ifndef PLANWRIGHT_CORE_PARTITION_PERIODIC_ALLOCATION_ANNEALER_H_
#define PLANWRIGHT_CORE_PARTITION_PERIODIC_ALLOCATION_ANNEALER_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/limits.h"
#include "core/base/random.h"
#include "core/base/units.h"
#include "core/cost/chain/chain_costs.h"
#include "core/model/chain.h"
#include "core/model/periodic_pattern.h"
#include "core/partition/periodic/stage_costs.h"
#include "core/schedule/pattern_search.h"

namespace planwright {

// How far an allocation is from what a period and the memory of devices allow, in time proportional to its stages.
//
// Devices and links must not have more to do than fits into a period. Behind a stage, a micro-batch stays away for at
// least the delay that the stages and cuts behind it add up to (delay.h), each as if it had its resource for itself; so
// for any allocation the stage keeps at least so many micro-batches when its forward pass starts, and at least one
// fewer at any time (MadPipe, section 4.2.1). Made tighter: what a stage keeps is kept by every earlier one as well, so
// stages of a device that keep as many, a group of 1F1B*, do so together when the forward pass of the last of them
// starts. What exceeds the limits is the energy; anything above 0 proves that no pattern of that period exists.
//
// Keeps its memory between calls; not thread-safe. What it is given outlives it.
class AllocationEnergy {
 public:
  AllocationEnergy(const Chain& chain, const ChainSums& sums, const ChainDevices& devices);

  // The sum over devices and links of their excess load in periods, transfers at half, and over devices of their excess
  // memory in limits. 0: nothing speaks against this period. REQUIRES: period > 0. O(stages).
  double Of(const ChainAllocation& allocation, Picoseconds period);

 private:
  void Clear();
  void AddCut(const ChainCut& cut, int32_t from, int32_t to);
  Picoseconds& LinkLoad(int32_t from, int32_t to);
  double DeviceExcess(Picoseconds period) const;

  const Chain& chain_;
  const ChainSums& sums_;
  const ChainDevices& devices_;
  std::vector<LeastDeviceUse> needs_;
  // By pair of devices.
  std::vector<Picoseconds> link_loads_;
  std::vector<std::size_t> used_links_;
};

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
