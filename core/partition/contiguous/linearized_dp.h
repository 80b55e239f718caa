// The best split into intervals of one linear order of the blocks (device-placement 5.1.2).
//
// Adding a Hamiltonian path to the graph leaves one ideal per position, so the dynamic program takes O(n^2) instead of
// the square of the number of ideals. It is exact for the given order and a heuristic for the graph. Load windows
// (load_windows.h) for the given max_load limit the positions of each state; a greedy split provides the first
// max_load.
#ifndef PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_LINEARIZED_DP_H_
#define PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_LINEARIZED_DP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/limits.h"
#include "core/base/random.h"
#include "core/partition/contiguous/block_split.h"
#include "core/partition/search/block_instance.h"
#include "core/partition/search/load_windows.h"

namespace planwright {

// The least max load that a greedy filling along `order` reaches, by bisection between `lower_bound` and the load of
// everything: each device takes blocks as long as its load is within the target, pools in order. nullopt: none found
// (memory or support get in the way). O(blocks x degree x log).
std::optional<BlockSplit> GreedySplit(const BlockInstance& instance, const std::vector<int32_t>& order,
                                      int64_t lower_bound);

// The split along `order` with the least max load, if that is at most `max_load`. `first_starts`, by end: no stage that
// ends there begins before that position; empty: all may begin anywhere. `more_stored`, by number of devices behind a
// stage: how many times more than once it keeps UnitMemory::linear; empty: none (REQUIRES uses_all_devices, and one
// device for each stage). nullopt: there is none; or `was_interrupted` is set by the limits. Work: O(n x stage length +
// sum over states of window x stage length). Memory: 16 bytes per state and position in its window, at most
// limits.memory_bytes, else interrupted.
std::optional<BlockSplit> LinearizedSplit(const BlockInstance& instance, const LoadWindows& windows,
                                          const std::vector<int32_t>& order, int64_t max_load,
                                          const SolveLimits& limits, bool& was_interrupted,
                                          std::span<const std::size_t> first_starts = {},
                                          std::span<const int64_t> more_stored = {});

// Improves a contiguous split by re-dividing it along linear orders that respect its stages.
//
// Every split is a division of many linear orders of the blocks; the linearized program finds the best division of one.
// Taking random orders inside the stages of the incumbent and dividing again is a descent over splits whose
// neighbourhood is exponentially large and searched exactly. It closes most of the gap between one linearized split and
// the optimum, and so saves passes of the ideal program. Random orders come from a fixed stream: the result is
// deterministic.
//
// Returns `split` or a better one. Ends after `max_failures` orders in a row without gain, when `lower_bound` is
// reached, or by the limits. `rounds` counts the orders tried: each costs one linearized program just below the
// incumbent.
BlockSplit RedivideAlongOrders(const BlockInstance& instance, const LoadWindows& windows, BlockSplit split,
                               int64_t lower_bound, int max_failures, const SolveLimits& limits, RandomStream& random,
                               int64_t& rounds);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_LINEARIZED_DP_H_
