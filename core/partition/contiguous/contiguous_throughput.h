// Best contiguous split for throughput: reduction to blocks, elementary proofs and bounds, greedy and linearized splits
// for a plan at once, then the exact dynamic program over ideals.
//
// The search works on loads in which a device pays each net once. For host_staged those are the true loads. For uniform
// they bound them from below: candidates are ranked by their true cost, and the bound stays valid.
#ifndef PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_CONTIGUOUS_THROUGHPUT_H_
#define PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_CONTIGUOUS_THROUGHPUT_H_

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/search/algorithm_row.h"
#include "core/partition/search/search.h"

namespace planwright {

// kIdealDp searches exactly, kLinearizedDp stops after the linearized program.
absl::StatusOr<SearchOutcome> SolveContiguousThroughput(const SearchRequest& request, const SolveLimits& limits,
                                                        TaskArena& arena, const SearchCallbacks& callbacks);

AlgorithmRow IdealDpRow();
AlgorithmRow LinearizedDpRow();
AlgorithmRow HierarchicalDpRow();

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_CONTIGUOUS_THROUGHPUT_H_
