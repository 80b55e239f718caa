// Baseline: steepest descent from random assignments (device-placement section 6, "Local search", after [MKA07]).
//
// Starts with every block on a random accelerator and makes the move of one block that lowers the max load most, until
// none lowers it; 10 times. As in the paper's program the blocks are those that the contiguous search works on, memory
// is ignored (a result that does not fit is refused), and CPUs take only what no accelerator can run. Loads pay each
// net once per device. A move can lower the max load only where it takes a block from the busiest device or gives it
// one, so the others are not looked at.
#ifndef PLANWRIGHT_CORE_PARTITION_BASELINES_LOCAL_SEARCH_H_
#define PLANWRIGHT_CORE_PARTITION_BASELINES_LOCAL_SEARCH_H_

#include "core/base/limits.h"
#include "core/partition/baselines/proposals.h"
#include "core/partition/search/search.h"

namespace planwright {

// Proposes each local optimum. Random numbers come from options.seed. Work: moves looked at; without options.work_limit
// the search ends after 50 million of them. Each costs O(nets of the block). Memory: 4 bytes for each net and device.
void ProposeLocalSearch(const SearchRequest& request, const SolveLimits& limits, Proposals& proposals);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_BASELINES_LOCAL_SEARCH_H_
