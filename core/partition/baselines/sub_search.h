// Baselines that run another search on a changed problem.
#ifndef PLANWRIGHT_CORE_PARTITION_BASELINES_SUB_SEARCH_H_
#define PLANWRIGHT_CORE_PARTITION_BASELINES_SUB_SEARCH_H_

#include <functional>

#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/baselines/proposals.h"
#include "core/partition/search/search.h"

namespace planwright {

// Runs `solve` on `request`, ranking placements by `objective`, and proposes what `translate` makes of its placement.
// Bounds are dropped and proofs of infeasibility are mere refusals: they speak of the changed problem.
void RunSubSearch(SolveFunction solve, const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                  Proposals& proposals, const std::function<Picoseconds(const Placement&)>& objective,
                  const std::function<Placement(Placement)>& translate);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_BASELINES_SUB_SEARCH_H_
