// Proofs that no plan for latency exists, found without a search.
#ifndef PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_FEASIBILITY_H_
#define PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_FEASIBILITY_H_

#include <cstdint>
#include <optional>

#include "core/base/infeasibility.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/partition/latency/latency_instance.h"

namespace planwright {

// Bytes that a group adds to any accelerator, at least; of several groups they add up. O(vertices of the group).
int64_t LeastGroupBytes(const LatencyInstance& instance, int32_t group);

// Every shortage that an elementary argument proves: a group that may be on no device, a group that may not be on CPUs
// and is larger than every accelerator that it may be on, such groups larger than all accelerators together. nullopt:
// none (a plan may still not exist). O(vertices + groups x accelerators).
std::optional<Infeasibility> FindLatencyShortages(const OperatorGraph& graph, const Cluster& cluster,
                                                  const LatencyInstance& instance);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_FEASIBILITY_H_
