// Baseline: k-way partitioning by Scotch (Pellegrini), as device-placement sections 6 and 7 run it.
//
// Scotch balances the times of the parts and minimises the sum of what crosses between them; it knows neither order nor
// memory nor what a device pays, so its parts are rarely contiguous and may not fit. Vertices are blocks with their
// time on accelerators, edges the transfer times between two blocks.
#ifndef PLANWRIGHT_CORE_PARTITION_BASELINES_SCOTCH_MAPPING_H_
#define PLANWRIGHT_CORE_PARTITION_BASELINES_SCOTCH_MAPPING_H_

#include "core/partition/baselines/proposals.h"
#include "core/partition/search/search.h"

namespace planwright {

// Whether this build has the library.
bool HasScotch();

// Proposes Scotch's partition, the same for the same seed. A call cannot be interrupted, so graphs of more than 50,000
// blocks are refused. REQUIRES: HasScotch().
void ProposeScotch(const SearchRequest& request, Proposals& proposals);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_BASELINES_SCOTCH_MAPPING_H_
