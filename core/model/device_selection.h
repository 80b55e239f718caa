// Which devices of a cluster a plan may use, and the structure that the interconnect has among them.
//
// The one place that gives DeviceSelection its meaning. Searches get the devices as a cluster of their own
// (core/cost/terms/sub_cluster.h).
#ifndef PLANWRIGHT_CORE_MODEL_DEVICE_SELECTION_H_
#define PLANWRIGHT_CORE_MODEL_DEVICE_SELECTION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/problem.h"

namespace planwright {

// A limit on how many of some devices may be used.
struct DeviceLimit {
  // Ascending.
  std::vector<DeviceId> devices;
  int64_t most = 0;
};

// Devices that `selection` allows, ascending: those on one of `hosts`, among `devices` and with every label of
// `match_labels`, each where it is set, without `excluded_devices`. Does not look at max_devices, which says how many
// of them a plan may use. REQUIRES: ids in range. O(devices x (hosts + labels) + list lengths).
std::vector<DeviceId> SelectedDevices(const Cluster& cluster, const DeviceSelection& selection);

// Adds a violation (paths below "problem.devices_to_use") for a host or a label that no device has, for a listed device
// that another setting of the selection rules out, for a selection that leaves no device, and for one that leaves more
// devices than a table of pairs may have where it takes one (PartOfInterconnect).
// REQUIRES: the cluster is valid, ids in range.
void CheckSelection(const Cluster& cluster, const DeviceSelection& selection, Violations& violations);

// The interconnect of `devices` alone. A part of a hierarchy is one again when at every level each group that keeps any
// device keeps equally many subgroups, e.g. whole hosts, or the same number of devices on each host. Of an irregular
// part it is FastestLevel: bounds hold, and placements are judged on the whole cluster. Everything else keeps its
// distances. Nodes whose machines keep the same places stay nodes. nullopt: only a table of pairs tells (other parts of
// nodes; those of a grid or of links, where routes lead through devices that are left out).
// REQUIRES: `devices` ascending, not empty.
std::optional<Interconnect> PartOfInterconnect(const Cluster& cluster, std::span<const DeviceId> devices);

// One level for `count` devices that is nowhere slower than the links between any of `devices`.
// REQUIRES: `devices` ascending, not empty.
HierarchyInterconnect FastestLevel(const HierarchyInterconnect& hierarchy, std::span<const DeviceId> devices,
                                   std::size_t count);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MODEL_DEVICE_SELECTION_H_
