// A beam search for a first plan of least latency.
//
// As SerialLatencyStart it cuts one linear order of blocks into ranges, each on one accelerator, and single blocks on
// CPUs, but subgraphs run as soon as their inputs are there. Everything before a place to cut is settled, so a partial
// plan is known by when its open results are ready. A cell (accelerators used in cluster order, blocks placed) keeps
// the `width` best partial plans by the least latency that is still possible: the latest result plus the quickest way
// from it to the end. Ties: less time on devices in all. With two passes a range takes the time of both, for the
// backward pass mirrors the forward one; the latency of such a plan is known when it is scheduled.
#ifndef PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_BEAM_H_
#define PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_BEAM_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/polling.h"
#include "core/partition/latency/latency_annealing.h"
#include "core/partition/latency/latency_instance.h"
#include "core/partition/latency/latency_ranges.h"

namespace planwright {

// Work of the latency search (latency_annealing.h) is counted in `work`, which ends the search at about `max_work`: the
// beam is as wide as it allows, at most kMaxBeamWidth. nullopt: no cut fits, the narrowest beam would take too much
// work, or `poller` said stop. O(width x blocks x longest range x accelerators).
std::optional<LatencyAssignment> BeamLatencyStart(const LatencyInstance& instance, int32_t slots_per_pass,
                                                  const std::vector<LatencyBlock>& blocks, int64_t max_work,
                                                  Poller& poller, int64_t& work);

inline constexpr std::size_t kMaxBeamWidth = 16;

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_BEAM_H_
