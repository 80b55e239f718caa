// Simple assignments that the latency search starts from.
//
// All of them cut one linear order of *blocks* into ranges. A block is what must or might as well move together: the
// groups along every cycle that the contraction of groups makes of the forward edges and the reversed backward edges.
// Ranges of such an order never wait for each other in a circle, in either pass.
#ifndef PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_STARTS_H_
#define PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_STARTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/polling.h"
#include "core/base/random.h"
#include "core/partition/latency/latency_annealing.h"
#include "core/partition/latency/latency_instance.h"
#include "core/partition/latency/latency_ranges.h"

namespace planwright {

// Groups of each block, blocks in a depth-first topological order. O((vertices + edges) log).
std::vector<LatencyBlock> LatencyBlocks(const LatencyInstance& instance);

// Returns the same blocks in a random one of these orders.
std::vector<LatencyBlock> Reordered(const LatencyInstance& instance, const std::vector<LatencyBlock>& blocks,
                                    RandomStream& random);

// The greedy baseline of device-placement section 7: fills one accelerator after the other with consecutive blocks;
// what is left, and every block that no accelerator can take, goes to the CPUs. A block that may not be there either is
// put where it may be, fit or not: the search repairs that. O(blocks x accelerators + operators x accelerators).
LatencyAssignment GreedyLatencyStart(const LatencyInstance& instance, int32_t slots_per_pass,
                                     const std::vector<LatencyBlock>& blocks);

// The cut of the order into ranges, each on one accelerator, and single blocks on CPUs, with the least sum of
// durations: the best plan in which nothing runs at the same time. A dynamic program over (accelerators used in cluster
// order, blocks placed). nullopt: no such cut fits, finding it would take more than kMaxSerialSteps, or `poller`
// said stop.
// O(blocks x longest range x (classes x tensors of a block + accelerators)).
std::optional<LatencyAssignment> SerialLatencyStart(const LatencyInstance& instance, int32_t slots_per_pass,
                                                    const std::vector<LatencyBlock>& blocks, Poller& poller);

inline constexpr int64_t kMaxSerialSteps = int64_t{1} << 20;

// All vertices on the CPUs, whether they may be there or not, and sequences in the order of the slots.
LatencyAssignment CpuAssignment(const LatencyInstance& instance, int32_t slots_per_pass);

// A beam search for a first plan of least latency.
//
// As SerialLatencyStart it cuts one linear order of blocks into ranges, each on one accelerator, and single blocks on
// CPUs, but subgraphs run as soon as their inputs are there. Everything before a place to cut is settled, so a partial
// plan is known by when its open results are ready. A cell (accelerators used in cluster order, blocks placed) keeps
// the `width` best partial plans by the least latency that is still possible: the latest result plus the quickest way
// from it to the end. Ties: less time on devices in all. With two passes a range takes the time of both, for the
// backward pass mirrors the forward one; the latency of such a plan is known when it is scheduled.
//
// Work of the latency search (latency_annealing.h) is counted in `work`, which ends the search at about `max_work`: the
// beam is as wide as it allows, at most kMaxBeamWidth. nullopt: no cut fits, the narrowest beam would take too much
// work, or `poller` said stop. O(width x blocks x longest range x accelerators).
std::optional<LatencyAssignment> BeamLatencyStart(const LatencyInstance& instance, int32_t slots_per_pass,
                                                  const std::vector<LatencyBlock>& blocks, int64_t max_work,
                                                  Poller& poller, int64_t& work);

inline constexpr std::size_t kMaxBeamWidth = 16;

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_STARTS_H_
