// One run of simulated annealing over assignments of groups to devices.
//
// The energy is soft: a device whose load exceeds the target T by v > 0 costs 4 v^2 / T + 0.2 v, and a share lambda of
// all transfers and of the work on accelerators is added, so that assignments of equal max load differ. T stays a
// little below the best load known and follows it down. Moves: one group, two groups swapped, a connected cluster of
// one device. The temperature falls geometrically over the number of moves that the run may make, never over time.
//
// GPIPE minimizes the sum of two maxima. T is then divided between the phases, and each load has the excess over its
// own part; at every temperature T is divided anew so that the assignment at hand has the least energy, which is convex
// in the division. So the run follows the trade between the phases, where an exact search tries one cap after the
// other.
//
// With replication teams change too: a device leaves its team for another, or one team joins another with all its
// groups.
#ifndef PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NET_ANNEALER_H_
#define PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NET_ANNEALER_H_

#include <cstdint>

#include "core/base/polling.h"
#include "core/base/random.h"
#include "core/partition/noncontiguous/net_state.h"

namespace planwright {

struct AnnealingSettings {
  // Weight of transfers and work beside the excess over the target.
  double lambda = 0.02;
  // T = best load x (1 - ambition).
  double ambition = 0.005;
  // Temperature of the first move as a share of T.
  double heat = 0.05;
};

struct AnnealingResult {
  // The best assignment that fits and beats the load to beat; empty: none was found.
  NetAssignment best;
  int64_t best_load = 0;
  // Where the run ended, and its objective.
  NetAssignment last;
  int64_t last_load = 0;
  // Groups moved on trial.
  int64_t moves = 0;
};

// Anneals from `start` for `moves` groups moved on trial, or until `poller` says stop. `load_to_beat`: objective of the
// best placement known. O(degree) a move.
AnnealingResult Anneal(const NetTables& tables, NetAssignment start, int64_t load_to_beat,
                       const AnnealingSettings& settings, int64_t moves, RandomStream& random, Poller& poller);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NET_ANNEALER_H_
