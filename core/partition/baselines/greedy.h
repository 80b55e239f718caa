// Baseline: fills one device after the other along a topological order (device-placement, section 7).
//
// MIN_LATENCY: as in the paper. Blocks are taken in topological order, of the free ones the first in the graph first;
// each accelerator takes as many as its memory holds, blocks too large for any accelerator and those that are left go
// to the CPUs. The paper leaves the order open and its program follows a hash table, so values differ where the order
// matters.
// MAX_THROUGHPUT: memory alone would put small graphs on one device, so accelerators are filled up to the least load
// for which all blocks find a place (GreedySplit).
#ifndef PLANWRIGHT_CORE_PARTITION_BASELINES_GREEDY_H_
#define PLANWRIGHT_CORE_PARTITION_BASELINES_GREEDY_H_

#include "core/partition/baselines/proposals.h"
#include "core/partition/search/search.h"

namespace planwright {

// O((operators + tensor ends) log).
void ProposeGreedy(const SearchRequest& request, Proposals& proposals);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_BASELINES_GREEDY_H_
