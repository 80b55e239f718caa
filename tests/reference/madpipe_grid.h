// MadPipe-DP as the paper tabulates it, on a grid, with Algorithm 1 around it (MadPipe, sections 4.2.2, 4.2.3 and 5.1):
// the reference that madpipe.h is measured against.
//
// States are (layer, normal devices left, special load, special memory, delay); the last three take 101, 11 and 51
// equal steps. Rounding goes up, which the paper leaves open: no allocation then looks better than it is, so the value
// is never below that of madpipe.h with SpecialMemory::kPaper. It is what the paper says up to two points: C(k - 1)
// stands where the text prints C(k), and the workspace, which the paper does not have, counts for every special stage.
#ifndef PLANWRIGHT_TESTS_REFERENCE_MADPIPE_GRID_H_
#define PLANWRIGHT_TESTS_REFERENCE_MADPIPE_GRID_H_

#include <optional>

#include "core/model/chain.h"
#include "core/partition/periodic/contiguous_optimum.h"

namespace planwright {

// The best of ten iterations of Algorithm 1: min over them of max(MadPipe-DP(T^), T^) and its allocation; devices are
// numbered as the chain meets them. nullopt: no iteration found an allocation. Deterministic.
// Each iteration takes O(layers x longest stage x states), and 4 bytes for each point of the grid and layer.
// REQUIRES: at least one layer and one device.
std::optional<PeriodicAllocation> MadpipeGrid(const Chain& chain, const ChainDevices& devices);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_REFERENCE_MADPIPE_GRID_H_
