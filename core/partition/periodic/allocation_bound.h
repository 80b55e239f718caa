// A lower bound for the period of every allocation of a chain, whatever its stages and devices.
//
// Three things hold at any period T. Devices: the work is shared by all of them, and consecutive layers of one device
// are a run that takes at most T. Delay: a layer's micro-batches are away for as long as the layers behind it take,
// each layer at best a stage of its own (delay.h), so a run stores at least what its own layers store at that delay,
// and must fit. Memory at large: what a layer stores on average is its bytes times the time a micro-batch is away, in
// periods; peaks are no less than averages, so the sum over all layers, with static bytes, fits the memory of all
// devices together. Runs have ends: each costs buffers, and its transfers keep the micro-batches of all layers before
// it away for longer; the cheapest division into runs that fit is found by dynamic programming. All of it shrinks when
// T grows, so bisection finds the least T that nothing speaks against. The papers have no such bound.
#ifndef PLANWRIGHT_CORE_PARTITION_PERIODIC_ALLOCATION_BOUND_H_
#define PLANWRIGHT_CORE_PARTITION_PERIODIC_ALLOCATION_BOUND_H_

#include <cstdint>
#include <optional>

#include "core/base/units.h"
#include "core/cost/chain/chain_costs.h"
#include "core/model/chain.h"

namespace planwright {

// No allocation of the chain has a pattern with a shorter period; nullopt: none has a pattern at all.
// REQUIRES: at least one layer and one device. O(layers x longest run x log time).
std::optional<Picoseconds> AllocationBound(const Chain& chain, const ChainDevices& devices);

// Whether it matters to what stages keep where they begin: a stage cut in two on its device then keeps more (chain.h,
// received_bytes), so that cutting all stages into layers bounds nothing.
bool StagesReceive(const Chain& chain);

// What the end of a run in front of `layer` costs at this period, in bytes on average: buffers at both sides, and what
// the layers before it store during the transfers. REQUIRES: 0 < layer < layers.
double RunEndBytes(const Chain& chain, const ChainSums& sums, int32_t layer, Picoseconds period);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PERIODIC_ALLOCATION_BOUND_H_
