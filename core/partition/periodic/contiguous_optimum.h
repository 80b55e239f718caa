// The contiguous allocation with the least period under memory, and so with 1F1B* the best contiguous schedule. Exact.
//
// Problem: cut a chain into at most P stages, one for each device, such that the least period of 1F1B*
// (core/schedule/one_f_one_b_star.h) is as small as possible.
//
// Idea: whether a period T is possible is decided from the last layer to the first. All that the stages behind a layer
// mean for those before it is their delay V: it says how many micro-batches each further stage stores. So for each
// layer and number of stages behind it the least V is kept; the delay in front of a stage grows with the one behind it,
// so the least V is the best. Bisection on T, in whole picoseconds, does the rest; every allocation found narrows it to
// its own least period. The paper (MadPipe) has no such baseline; the groups are those of its 1F1B*.
//
// One decision takes O(P x L x longest stage), the whole O(log time) of them. The period is a lower bound for
// contiguous allocations of this chain only (BoundScope::kGivenOrder).
#ifndef PLANWRIGHT_CORE_PARTITION_PERIODIC_CONTIGUOUS_OPTIMUM_H_
#define PLANWRIGHT_CORE_PARTITION_PERIODIC_CONTIGUOUS_OPTIMUM_H_

#include <cstdint>
#include <optional>

#include "core/base/units.h"
#include "core/model/chain.h"

namespace planwright {

struct PeriodicAllocation {
  ChainAllocation allocation;
  Picoseconds period{0};
};

// The best allocation; its stages are on the devices 0, 1, ... nullopt: no contiguous allocation fits, not even with
// one micro-batch in each stage. Deterministic. REQUIRES: at least one layer and one device.
std::optional<PeriodicAllocation> ContiguousOptimum(const Chain& chain, const ChainDevices& devices);

// Which layer misses how many bytes where no contiguous allocation fits the memory of its devices.
struct MemoryShortage {
  int32_t layer = 0;
  // More bytes than the available ones of one device.
  int64_t needed_bytes = 0;
  int64_t available_bytes = 0;

  bool operator==(const MemoryShortage&) const = default;
};

// Where contiguous allocations end, if ContiguousOptimum finds none: stages with one micro-batch each are packed from
// the last layer on, as far as the devices reach. The layer is the first that is left over, and the bytes are those of
// the smallest stage that would begin with it. nullopt: there is a contiguous allocation. O(devices x layers^2).
std::optional<MemoryShortage> ShortageOfContiguous(const Chain& chain, const ChainDevices& devices);

// PipeDream's partitioner under its memory rule, as MadPipe's evaluation uses it (Narayanan et al.: PipeDream, SOSP
// 2019, section 3.1; MadPipe, section 5.1). A baseline: 1F1B* then says what the partition really takes.
//
// The contiguous allocation with the least load of any device or link among those that fit by the rule; fewest stages
// first. A stage is said to store as many micro-batches as there are stages from it to the end: the warm-up of the real
// system, which forgets that transfers keep micro-batches in flight as well. `period` is that load, which memory seldom
// allows: SmallestPeriod is what it takes. nullopt: the rule finds nothing that fits. REQUIRES: at least one layer and
// one device. O(devices x layers^2).
std::optional<PeriodicAllocation> PipedreamPartition(const Chain& chain, const ChainDevices& devices);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PERIODIC_CONTIGUOUS_OPTIMUM_H_
