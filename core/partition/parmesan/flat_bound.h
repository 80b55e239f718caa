// A bound for any interconnect from one on which the ideal program is exact.
#ifndef PLANWRIGHT_CORE_PARTITION_PARMESAN_FLAT_BOUND_H_
#define PLANWRIGHT_CORE_PARTITION_PARMESAN_FLAT_BOUND_H_

#include <cstdint>
#include <optional>

#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/model/plan.h"
#include "core/partition/search.h"

namespace planwright {

struct FlatBound {
  // Scope PROBLEM, method "fastest_links"; nullopt: nothing was proved, the problem has replicas or counts
  // micro-batches, or the graph is too large to look at.
  std::optional<Bound> bound;
  int64_t work = 0;
  // The clock or the stop flag of the limits ended the proof: given more time it may be better.
  bool is_interrupted = false;
};

// What the program over ideals proves where every pair of devices is connected as well as the best connected one: no
// placement on the real links is faster. Spends at most limits.work, in its units, and no more than 200,000.
// REQUIRES: the interconnect is not host_staged.
FlatBound FastestLinksBound(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PARMESAN_FLAT_BOUND_H_
