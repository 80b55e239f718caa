// Baseline for MIN_LATENCY: the contiguous split of greatest throughput, run for one micro-batch (device-placement
// section 7, "Max-load DP").
#ifndef PLANWRIGHT_CORE_PARTITION_BASELINES_MAX_LOAD_H_
#define PLANWRIGHT_CORE_PARTITION_BASELINES_MAX_LOAD_H_

#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/baselines/proposals.h"
#include "core/partition/search/search.h"

namespace planwright {

// Proposes the plan of IDEAL_DP for throughput, as subgraphs. Same complexity as IDEAL_DP.
void ProposeMaxLoad(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena, Proposals& proposals);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_BASELINES_MAX_LOAD_H_
