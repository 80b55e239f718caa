// One run of simulated annealing of a mapping.
//
// The run aims at a target below the best value that it knows; the energy is MappingPenalties. The temperature falls
// geometrically over a cycle of moves. Whenever a better mapping is found, the target follows it down, never by more
// than half of the gap; a cycle without one makes the target less ambitious and the next cycle longer. The most modest
// target in vain is followed by the most ambitious one again, with cycles twice as long as the last time.
#ifndef PLANWRIGHT_CORE_MAPPING_ANNEAL_MAPPING_ANNEALER_H_
#define PLANWRIGHT_CORE_MAPPING_ANNEAL_MAPPING_ANNEALER_H_

#include <cstdint>

#include "core/base/limits.h"
#include "core/base/random.h"
#include "core/mapping/problem/evaluation.h"
#include "core/mapping/problem/mapping_instance.h"
#include "core/mapping/problem/mapping_tables.h"

namespace planwright {

// A value this close to the bound is the bound; one this little better is none.
inline constexpr double kRoundingOfValues = 1e-9;

// How boldly a run moves; a run hands its own on, so that the next one goes on where it ended.
struct MappingHeat {
  // Temperature at the start of a cycle. Penalties of single replicas are 0.03 .. 1: low heat settles large machines
  // where any pair may be fast, high heat leaves the traps of uneven ones.
  double hot = 0.3;
  // At its end: the least violation is mended but by chance.
  double cold = 0.02;
  // The target is this share below the best value, and no longer that much after a cycle in vain.
  double ambition = 0.1;
  // The most moves of the next cycle.
  int64_t cycle_moves = 20'000;
  // The most moves of the cycle that this heat began with; it begins anew after the most modest target in vain.
  int64_t first_cycle_moves = 20'000;
};

struct MappingRun {
  // The best mapping seen, the start included.
  Mapping best;
  MappingValue value;
  // Devices moved on trial.
  int64_t moves = 0;
  MappingHeat heat;
};

// Anneals from `start` with `heat` for `moves` devices moved on trial, until the value is `bound_ms`, or until the
// limits say stop, which is looked at every few hundred moves. `bound_ms`: no mapping is better; 0 where nothing is
// known. REQUIRES: `start` is a mapping of the instance.
MappingRun AnnealMapping(const MappingTables& tables, const Mapping& start, double bound_ms, const MappingHeat& heat,
                         int64_t moves, RandomStream& random, const SolveLimits& limits);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_ANNEAL_MAPPING_ANNEALER_H_
