// How many placements an enumeration looks at if it cuts nothing.
//
// Contiguous: chains of ideals with k stages x ways to give devices to k stages in turn, over all k. Non-contiguous:
// ways to divide the groups into k parts (Stirling numbers of the second kind) x the same ways; this bounds contiguous
// placements too where the order of stages does not matter. MIN_LATENCY: ordered divisions of the operators of each
// pass into subgraphs, times those over CPUs. Devices of one kind (device_options.h) are not told apart, except for
// latency. Upper bounds: branches that share a cut, pins and memory are not looked at.
//
// A problem whose search would nest too deep for the stack has no number either.
#ifndef PLANWRIGHT_CORE_PARTITION_ENUMERATION_PLACEMENT_COUNT_H_
#define PLANWRIGHT_CORE_PARTITION_ENUMERATION_PLACEMENT_COUNT_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/graph/digraph.h"
#include "core/partition/enumeration/device_options.h"
#include "core/partition/search/search.h"

namespace planwright {

// Numbers above are as good as infinite.
inline constexpr int64_t kMaxPlacements = 10'000'000;

// nullopt: more than kMaxPlacements, too many to be counted in some milliseconds, or nested too deep.
std::optional<int64_t> CountPipelines(const SearchRequest& request, const Digraph& precedence,
                                      const DeviceOptions& devices);
std::optional<int64_t> CountAllocations(const SearchRequest& request, std::size_t num_groups,
                                        const DeviceOptions& devices);
// Under PERIODIC. nullopt also where devices that hold several stages differ.
std::optional<int64_t> CountChains(const SearchRequest& request, const Digraph& precedence,
                                   const DeviceOptions& devices);
std::optional<int64_t> CountSubgraphs(const SearchRequest& request, const DeviceOptions& devices);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_ENUMERATION_PLACEMENT_COUNT_H_
