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
#include <unordered_set>
#include <vector>

#include "core/base/limits.h"
#include "core/base/random.h"
#include "core/base/units.h"
#include "core/cost/chain/chain_sums.h"
#include "core/model/chain.h"
#include "core/model/periodic_pattern.h"
#include "core/partition/periodic/allocation_energy.h"
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

// For judging the allocation of `searcher`: at most that many nodes, and no more than the units pay for.
SolveLimits JudgeLimits(const SolveLimits& limits, const PatternSearcher& searcher, int64_t nodes, int64_t units);

// For one run. Not thread-safe; what it is given outlives it.
class AllocationAnnealer {
 public:
  AllocationAnnealer(const Chain& chain, const ChainSums& sums, const ChainDevices& devices,
                     int32_t max_stages_per_device, RandomStream random);

  // Walks from `start` until limits.work units are used up or the limits say stop, and looks for periods shorter than
  // `known`.
  void Run(const ChainAllocation& start, Picoseconds known, const SolveLimits& limits);

  // What was found that beats the start.
  const std::optional<ScheduledAllocation>& best() const { return best_; }
  const AnnealingWork& work() const { return work_; }

 private:
  // They change `candidate_`; false: there is nothing to change, or it may not be.
  bool Propose();
  bool MoveCut();
  bool Remap();
  bool Swap();
  bool Split();
  bool Merge();
  // Whether the device has no more stages than it may hold.
  bool HasRoom(int32_t device) const;
  // Energy of `candidate_`, on which the pattern search has the last word.
  double Judge(const SolveLimits& limits);
  void Aim();
  uint64_t Fingerprint(const ChainAllocation& allocation);
  std::size_t Below(std::size_t bound) { return static_cast<std::size_t>(random_.Below(bound)); }

  const ChainSums& sums_;
  const ChainDevices& devices_;
  const int32_t max_stages_per_device_;
  const std::size_t max_stages_;
  RandomStream random_;
  AllocationEnergy energy_;
  PatternSearcher searcher_;
  ChainAllocation current_;
  ChainAllocation candidate_;
  // Period that is looked for, and the shortest one known.
  Picoseconds target_{0};
  Picoseconds known_{0};
  // Share of the run that is over.
  double progress_ = 0;
  double temperature_ = 0;
  std::optional<ScheduledAllocation> best_;
  std::unordered_set<uint64_t> refuted_;
  std::vector<int32_t> new_name_;
  AnnealingWork work_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PERIODIC_ALLOCATION_ANNEALER_H_
