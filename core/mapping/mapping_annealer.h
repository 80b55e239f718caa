// One run of simulated annealing of a mapping (device-mapping.md section 6, "LS").
//
// The run aims at a target below the best value that it knows; the energy is MappingPenalties. The temperature falls
// geometrically over a cycle of moves. Whenever a better mapping is found, the target follows it down; a cycle without
// one makes the target less ambitious and the next cycle longer.
#ifndef PLANWRIGHT_CORE_MAPPING_MAPPING_ANNEALER_H_
#define PLANWRIGHT_CORE_MAPPING_MAPPING_ANNEALER_H_

#include <cstdint>

#include "core/base/limits.h"
#include "core/base/random.h"
#include "core/mapping/evaluation.h"
#include "core/mapping/mapping_instance.h"
#include "core/mapping/mapping_tables.h"

namespace planwright {

struct MappingRun {
  // The best mapping seen, the start included.
  Mapping best;
  MappingValue value;
  // Devices moved on trial.
  int64_t moves = 0;
};

// Anneals from `start` for `moves` devices moved on trial, until the value is `bound_ms`, or until the limits say stop,
// which is looked at every few hundred moves. `bound_ms`: no mapping is better; 0 where nothing is known.
// REQUIRES: IsMapping(instance, start).
MappingRun AnnealMapping(const MappingTables& tables, const Mapping& start, double bound_ms, int64_t moves,
                         RandomStream& random, const SolveLimits& limits);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_MAPPING_ANNEALER_H_
