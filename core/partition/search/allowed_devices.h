// What pins and bans leave of the devices of a stage.
#ifndef PLANWRIGHT_CORE_PARTITION_SEARCH_ALLOWED_DEVICES_H_
#define PLANWRIGHT_CORE_PARTITION_SEARCH_ALLOWED_DEVICES_H_

#include <cstddef>
#include <vector>

#include "core/base/ids.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// By device; empty: all devices.
using DeviceSet = std::vector<bool>;

inline bool Holds(const DeviceSet& set, std::size_t device) { return set.empty() || set[device]; }

// Leaves in `set` what is in both, and returns whether that is anything. O(devices), or O(1) where one of them is
// empty.
bool Intersect(const DeviceSet& other, DeviceSet& set);

// By group of operators: the devices that they may share. O(groups + operators + bans + pins x devices), with points of
// interruption.
std::vector<DeviceSet> AllowedDevices(const ResolvedProblem& problem, std::size_t num_devices,
                                      std::size_t num_operators, const std::vector<std::vector<OperatorId>>& groups);

// The graph with a colocation group for the operators pinned to each device and all that share a device with them.
// REQUIRES: stages have no replicas, or nothing is pinned. O(operators + pins).
OperatorGraph WithPinsUnited(OperatorGraph graph, const ResolvedProblem& problem);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_SEARCH_ALLOWED_DEVICES_H_
