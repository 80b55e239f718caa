// Improves a contiguous split by re-dividing it along linear orders that respect its stages.
//
// Every split is a division of many linear orders of the blocks; the linearized program finds the best division of one.
// Taking random orders inside the stages of the incumbent and dividing again is a descent over splits whose
// neighbourhood is exponentially large and searched exactly. It closes most of the gap between one linearized split and
// the optimum, and so saves passes of the ideal program. Random orders come from a fixed stream: the result is
// deterministic.
#ifndef PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_SPLIT_REDIVISION_H_
#define PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_SPLIT_REDIVISION_H_

#include <cstdint>

#include "core/base/limits.h"
#include "core/base/random.h"
#include "core/partition/contiguous/block_split.h"
#include "core/partition/search/block_instance.h"
#include "core/partition/search/load_windows.h"

namespace planwright {

// `split` or a better one. Ends after `max_failures` orders in a row without gain, when `lower_bound` is reached, or by
// the limits. `rounds` counts the orders tried: each costs one linearized program just below the incumbent.
BlockSplit RedivideAlongOrders(const BlockInstance& instance, const LoadWindows& windows, BlockSplit split,
                               int64_t lower_bound, int max_failures, const SolveLimits& limits, RandomStream& random,
                               int64_t& rounds);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_SPLIT_REDIVISION_H_
