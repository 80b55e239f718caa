// Baseline: the whole graph on every device of one class, each working on micro-batches of its own.
#ifndef PLANWRIGHT_CORE_PARTITION_BASELINES_DATA_PARALLEL_H_
#define PLANWRIGHT_CORE_PARTITION_BASELINES_DATA_PARALLEL_H_

#include "core/partition/baselines/proposals.h"
#include "core/partition/search/search.h"

namespace planwright {

// Proposes, for each class of devices, one stage of all operators with a replica on each of them (device-placement,
// C.2; docs/cost-model.md section 6). REQUIRES: replication PER_STAGE. O(classes x (operators + tensors + devices)).
void ProposeDataParallel(const SearchRequest& request, Proposals& proposals);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_BASELINES_DATA_PARALLEL_H_
