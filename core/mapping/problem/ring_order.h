// Orders of all-reduce rings for devices that are given.
#ifndef PLANWRIGHT_CORE_MAPPING_PROBLEM_RING_ORDER_H_
#define PLANWRIGHT_CORE_MAPPING_PROBLEM_RING_ORDER_H_

#include "core/base/limits.h"
#include "core/mapping/problem/mapping_instance.h"
#include "core/mapping/problem/mapping_tables.h"

namespace planwright {

// The mapping with rings that are no slower, most of them faster: a bottleneck travelling salesman problem for each
// stage, by the nearest neighbour and then 2-opt at the slowest link while that helps. Loads stay as they are. Does
// nothing without replicas or unless free_ring_order. Complexity O(S R^2) and O(R) for each improvement.
Mapping OrderRings(const MappingInstance& instance, const LinkTimes& links, const SolveLimits& limits, Mapping mapping);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROBLEM_RING_ORDER_H_
