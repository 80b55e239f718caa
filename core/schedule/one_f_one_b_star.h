// 1F1B*: the best periodic pattern of a contiguous allocation (Beaumont, Eyraud-Dubois, Shilova: MadPipe, 2020, section
// 4.1), one forward and one backward task of every stage per period.
//
// Forward tasks and transfers follow each other without a pause. On the way back every device and link waits as little
// as the period allows (delay.h); the transfers of a cut are a stage of their own, on their link. No periodic pattern
// of this period stores fewer micro-batches at any stage (Proposition 1): the delay in front of a stage is the least
// possible, as each step is monotone in the delay behind it, and a stage that a micro-batch occupies for D of time
// holds ceil(D / period) of them at some moment. That argument treats each stage as if it were alone, so the counts
// bound from below what stages of general allocations store, as well.
//
// Full duplex, beyond the paper: the two directions of a cut are two links with one task each, which never meet. The
// same argument holds, and the counts are exact there too.
//
// INFERENCE: only the forward tasks; every stage counts one micro-batch, and stores nothing.
#ifndef PLANWRIGHT_CORE_SCHEDULE_ONE_F_ONE_B_STAR_H_
#define PLANWRIGHT_CORE_SCHEDULE_ONE_F_ONE_B_STAR_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/units.h"
#include "core/model/chain.h"
#include "core/model/periodic_pattern.h"

namespace planwright {

struct OneFOneBStar {
  PeriodicPattern pattern;
  // Micro-batches that each stage stores at its peak.
  std::vector<int32_t> in_flight;
};

// The pattern of this period. nullopt: a device or a link has more to do than fits into it. Memory plays no part.
// REQUIRES, here and below: `allocation` covers the chain in order, its stages on different devices; period > 0.
// O(layers log layers + stages^2).
std::optional<OneFOneBStar> ScheduleOneFOneBStar(const Chain& chain, const ChainAllocation& allocation,
                                                 const ChainDevices& devices, Picoseconds period);

// The least period, in whole picoseconds and at least one, at which the allocation fits the memory of its devices.
// nullopt: its stages do not fit with one micro-batch each. A longer period never stores more, so bisection finds it;
// it is a sum of loads of consecutive stages and cuts, as in the paper, unless the links are full duplex, where such a
// sum may be divided by a number of periods. O(layers log layers + stages^2 + stages log time).
std::optional<Picoseconds> SmallestPeriod(const Chain& chain, const ChainAllocation& allocation,
                                          const ChainDevices& devices);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SCHEDULE_ONE_F_ONE_B_STAR_H_
