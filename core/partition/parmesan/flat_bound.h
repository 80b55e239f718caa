// A bound for any interconnect from one on which the ideal program is exact.
#ifndef PLANWRIGHT_CORE_PARTITION_PARMESAN_FLAT_BOUND_H_
#define PLANWRIGHT_CORE_PARTITION_PARMESAN_FLAT_BOUND_H_

#include <optional>

#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/model/plan.h"
#include "core/partition/search.h"

namespace planwright {

// What the program over ideals proves where every pair of devices is connected as well as the best connected one: no
// placement on the real links is faster. Scope PROBLEM, method "fastest_links"; nullopt: nothing was proved, the
// problem has replicas or counts micro-batches, or the graph is too large to look at. REQUIRES: the interconnect is not
// host_staged.
std::optional<Bound> FastestLinksBound(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PARMESAN_FLAT_BOUND_H_
