// Searches contiguous placements of greatest throughput by simulated annealing on the true objective, in every mode
// that has contiguous stages: what other searches simplify (links, replicas, memory by position, steps) counts here as
// it is.
//
// A pipeline is a chain of ideals of the blocks (block_instance.h) with a team of devices for each stage. Runs start in
// turn from the best pipeline so far, more or less heated, and from random ones, and grow longer. They run in batches
// of a given size, each with a random stream of its own, and are merged in order: the outcome depends on the seed and
// on the work, not on the threads. What a run finds counts once the caller's objective confirms it. Nothing is proven.
// Meant to be the last of several searches, whose placements it starts from; without any it starts from random ones.
//
// Memory: that of PipelineTables, and some pipelines. Work: about 10 ns: 1 for a block, an end of a net or a pair of
// replicas looked at, 10 for a move. Without options.work_limit the work is bounded by the size of the problem: at most
// about two seconds.
#ifndef PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_STAGE_ANNEALING_H_
#define PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_STAGE_ANNEALING_H_

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/search/algorithm_row.h"
#include "core/partition/search/search.h"

namespace planwright {

// Algorithm::kStageAnnealing. REQUIRES: MAX_THROUGHPUT, CONTIGUOUS, not PERIODIC. Heeds device_limits. The outcome has
// no bounds. Errors: as SolveFunction, without proofs.
absl::StatusOr<SearchOutcome> SolveByStageAnnealing(const SearchRequest& request, const SolveLimits& limits,
                                                    TaskArena& arena, const SearchCallbacks& callbacks);

AlgorithmRow StageAnnealingRow();

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_STAGE_ANNEALING_H_
