// The bound "path_cut" of latency_bounds.h for one path.
#ifndef PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_PATH_H_
#define PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_PATH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/polling.h"
#include "core/partition/latency/latency_instance.h"

namespace planwright {

// Picoseconds; 0 where the path takes too many steps. nullopt: `poller` said stop. REQUIRES: `path` is a path of
// instance.precedence, not empty; `order` is a topological order of it.
std::optional<int64_t> PathCutBound(const LatencyInstance& instance, const std::vector<int32_t>& order,
                                    const std::vector<int32_t>& path, Poller& poller);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_PATH_H_
