// Plans whose stages follow a periodic pattern, by every algorithm that there is for them: the search behind PERIODIC.
//
//   contiguous_periodic  contiguous_optimum.h with 1F1B*
//   madpipe              madpipe.h with the shortest pattern of its allocation (MadPipe, sections 4.2 and 4.3)
//   periodic_annealing   general_allocations.h from the contiguous optimum and MadPipe's allocations
//   pipedream            PipeDream's partitioner with 1F1B*, as MadPipe compares itself with
//   single_device        everything in one stage
// They work on one chain, i.e. one linear order of the operators (core/graph/chain.h). Bounds: the work and the largest
// block hold for the problem; allocation_bound.h for all stages along the order, the contiguous optimum for contiguous
// ones, and both for the problem where there is no other order.
#ifndef PLANWRIGHT_CORE_PARTITION_PERIODIC_PERIODIC_SEARCH_H_
#define PLANWRIGHT_CORE_PARTITION_PERIODIC_PERIODIC_SEARCH_H_

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/search/algorithm_row.h"
#include "core/partition/search/search.h"

namespace planwright {

// REQUIRES: PERIODIC, with one of the algorithms above.
absl::StatusOr<SearchOutcome> SolvePeriodic(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                                            const SearchCallbacks& callbacks);

AlgorithmRow ContiguousPeriodicRow();
AlgorithmRow MadpipeRow();
AlgorithmRow PeriodicAnnealingRow();

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PERIODIC_PERIODIC_SEARCH_H_
