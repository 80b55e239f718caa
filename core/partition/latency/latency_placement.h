// Placements of the model as assignments of the latency search, and back.
#ifndef PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_PLACEMENT_H_
#define PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_PLACEMENT_H_

#include <cstdint>
#include <optional>

#include "core/model/problem.h"
#include "core/partition/latency/latency_annealing.h"
#include "core/partition/latency/latency_instance.h"

namespace planwright {

// One stage for every subgraph, in the order in which they start, then one for each CPU that runs anything.
// REQUIRES: the assignment has a schedule. O(vertices log vertices + cost of one schedule).
Placement ToPlacement(const LatencyInstance& instance, int32_t slots_per_pass, const LatencyAssignment& assignment);

// Each stage on an accelerator becomes one subgraph of each pass that it has; what is on CPUs goes to the pool.
// nullopt: an accelerator has more subgraphs of a pass than slots, or a group is where it may not be.
// REQUIRES: every vertex is in one stage, of one device. O(operators + vertices).
std::optional<LatencyAssignment> FromPlacement(const LatencyInstance& instance, int32_t slots_per_pass,
                                               const Placement& placement);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_PLACEMENT_H_
