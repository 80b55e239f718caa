// Baseline: static mapping by Scotch (Pellegrini), which minimises a sum where we minimise a maximum.
//
// The source graph has all replicas of all stages, edges as heavy as the bytes that cross (those of the rings as well
// where the objective counts them); the target is the complete graph of the devices, edges as long as a byte takes.
// Scotch may give a device to two replicas, or one that a stage must not have: those move to devices that are left.
#ifndef PLANWRIGHT_TESTS_REFERENCE_MAPPING_SCOTCH_STATIC_MAPPING_H_
#define PLANWRIGHT_TESTS_REFERENCE_MAPPING_SCOTCH_STATIC_MAPPING_H_

#include <cstdint>
#include <optional>

#include "core/mapping/problem/mapping_instance.h"
#include "core/mapping/problem/mapping_tables.h"
#include "core/mapping/problem/stage_kinds.h"

namespace planwright {

// All rings in the order of replicas; the same for the same seed. nullopt: this build has no Scotch, the machine has
// more than 1,024 devices (the target takes the square of that and a call cannot be interrupted), or Scotch failed.
std::optional<Mapping> MapByScotch(const MappingInstance& instance, const LinkTimes& links, const KindAssignment& kinds,
                                   int64_t seed);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_REFERENCE_MAPPING_SCOTCH_STATIC_MAPPING_H_
