// The paper's search for a mapping (Parmesan, section 5.1, Algorithm 1), as a baseline.
//
// An interval that is to hold the best value is cut evenly by a batch of targets, and the inner search asks for each of
// them, in parallel, whether there is a mapping that good. The interval shrinks to the values between the largest
// target without and the smallest with a mapping. An inner search that takes too long counts as "no mapping": the
// paper's heuristic, after which the lower end is no bound any more. We say so: `proven_ms` takes only searches to the
// end.
//
// Where we differ: among contradictory answers, which timeouts cause, those below the smallest target with a mapping
// count. The timeout is a number of devices tried instead of a time, so that answers do not depend on the machine.
#ifndef PLANWRIGHT_TESTS_REFERENCE_MAPPING_INTERVAL_SEARCH_H_
#define PLANWRIGHT_TESTS_REFERENCE_MAPPING_INTERVAL_SEARCH_H_

#include <cstdint>

#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/mapping/problem/evaluation.h"
#include "core/mapping/problem/mapping_instance.h"
#include "core/mapping/problem/mapping_tables.h"

namespace planwright {

struct IntervalSearchOptions {
  // Ends of the first interval: a lower bound, equation (8) or (9), and a mapping.
  double lower_bound_ms = 0;
  Mapping start;
  // Of a batch.
  int32_t targets = 8;
  // Devices that each inner search may try.
  int64_t nodes_per_target = 1'000'000;
  // Ends when the interval is at most this share of its upper end.
  double precision = 1e-6;
};

struct IntervalSearchOutcome {
  Mapping mapping;
  MappingValue value;
  // Where the interval ended. No bound if there were timeouts.
  double lower_end_ms = 0;
  // The largest target that a search to the end showed to be impossible, or the lower bound given.
  double proven_ms = 0;
  int64_t timeouts = 0;
  int64_t batches = 0;
  // Devices tried.
  int64_t nodes = 0;
};

// The same outcome for any number of threads unless the limits stopped it.
// REQUIRES: the objective is kLoad or kAllReduce; start is a mapping; targets >= 1; precision > 0.
IntervalSearchOutcome SearchInterval(const MappingInstance& instance, const LinkTimes& links,
                                     const IntervalSearchOptions& options, const SolveLimits& limits, TaskArena& arena);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_REFERENCE_MAPPING_INTERVAL_SEARCH_H_
