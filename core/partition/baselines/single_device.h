// Baseline: everything on one device, the one on which it takes the least.
#ifndef PLANWRIGHT_CORE_PARTITION_BASELINES_SINGLE_DEVICE_H_
#define PLANWRIGHT_CORE_PARTITION_BASELINES_SINGLE_DEVICE_H_

#include "core/partition/baselines/proposals.h"
#include "core/partition/search/search.h"

namespace planwright {

// Proposes the graph on the first device of each kind: devices of one class that offer the same memory.
// O(kinds x (operators + tensor ends)).
void ProposeSingleDevice(const SearchRequest& request, Proposals& proposals);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_BASELINES_SINGLE_DEVICE_H_
