// What tests and benchmarks ask of mappings, and compare them with.
#ifndef PLANWRIGHT_TESTS_REFERENCE_MAPPING_MAPPING_CHECKS_H_
#define PLANWRIGHT_TESTS_REFERENCE_MAPPING_MAPPING_CHECKS_H_

#include "core/base/random.h"
#include "core/mapping/problem/mapping_instance.h"
#include "core/mapping/problem/mapping_tables.h"
#include "core/mapping/problem/stage_kinds.h"

namespace planwright {

// Every replica is on a device of its own that its stage may be on, and every ring visits each replica once (in
// ascending order unless free_ring_order).
bool IsMapping(const MappingInstance& instance, const Mapping& mapping);

// The best of `count` random mappings. REQUIRES: count >= 1.
Mapping BestOfRandom(const MappingInstance& instance, const LinkTimes& links, const KindAssignment& kinds, int count,
                     RandomStream& random);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_REFERENCE_MAPPING_MAPPING_CHECKS_H_
