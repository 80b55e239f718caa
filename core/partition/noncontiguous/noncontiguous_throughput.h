// Best non-contiguous split for throughput (device-placement 5.2): elementary proofs and bounds, the best contiguous
// split as a start that is never lost, then the annealing portfolio on the net form.
//
// The moves are exact for host_staged and uniform, inference and training, all overlaps: what the search counts is what
// the plan costs. The bounds hold for every placement that respects the problem, contiguous or not.
#ifndef PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NONCONTIGUOUS_THROUGHPUT_H_
#define PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NONCONTIGUOUS_THROUGHPUT_H_

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/search/algorithm_row.h"
#include "core/partition/search/search.h"

namespace planwright {

// Work: groups moved on trial; that of the contiguous start is small and not counted.
absl::StatusOr<SearchOutcome> SolveNonContiguousThroughput(const SearchRequest& request, const SolveLimits& limits,
                                                           TaskArena& arena, const SearchCallbacks& callbacks);

AlgorithmRow NetAnnealingRow();

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NONCONTIGUOUS_THROUGHPUT_H_
