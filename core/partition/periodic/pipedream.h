// PipeDream's partitioner under its memory rule, as MadPipe's evaluation uses it (Narayanan et al.: PipeDream, SOSP
// 2019, section 3.1; MadPipe, section 5.1). A baseline: 1F1B* then says what the partition really takes.
#ifndef PLANWRIGHT_CORE_PARTITION_PERIODIC_PIPEDREAM_H_
#define PLANWRIGHT_CORE_PARTITION_PERIODIC_PIPEDREAM_H_

#include <optional>

#include "core/model/chain.h"
#include "core/partition/periodic/contiguous_optimum.h"

namespace planwright {

// The contiguous allocation with the least load of any device or link among those that fit by the rule; fewest stages
// first. A stage is said to store as many micro-batches as there are stages from it to the end: the warm-up of the real
// system, which forgets that transfers keep micro-batches in flight as well. `period` is that load, which memory seldom
// allows: SmallestPeriod is what it takes. nullopt: the rule finds nothing that fits. REQUIRES: at least one layer and
// one device. O(devices x layers^2).
std::optional<PeriodicAllocation> PipedreamPartition(const Chain& chain, const ChainDevices& devices);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PERIODIC_PIPEDREAM_H_
