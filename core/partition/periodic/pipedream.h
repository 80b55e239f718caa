// PipeDream's partitioner under its memory rule, as MadPipe's evaluation uses it (Narayanan et al.: PipeDream, SOSP
// 2019, section 3.1; MadPipe, section 5.1). A baseline: 1F1B* then says what the partition really takes.
#ifndef PLANWRIGHT_CORE_PARTITION_PERIODIC_PIPEDREAM_H_
#define PLANWRIGHT_CORE_PARTITION_PERIODIC_PIPEDREAM_H_

#include <optional>

#include "core/model/chain.h"
#include "core/partition/periodic/contiguous_optimum.h"

namespace planwright {

// How many micro-batches a stage is said to store. Both forget that transfers keep micro-batches in flight as well.
enum class PipedreamMemory {
  // As many as there are stages from it to the end: the warm-up of the real system.
  kByDepth,
  // As many as there are devices: what the paper says of it.
  kAllDevices
};

// The contiguous allocation with the least load of any device or link among those that fit by the rule; fewest stages
// first. `period` is that load, which memory seldom allows: SmallestPeriod is what it takes. nullopt: the rule finds
// nothing that fits. REQUIRES: at least one layer and one device. O(devices x layers^2).
std::optional<PeriodicAllocation> PipedreamPartition(const Chain& chain, const ChainDevices& devices,
                                                     PipedreamMemory memory);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PERIODIC_PIPEDREAM_H_
