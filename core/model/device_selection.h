// Which devices of a cluster a plan may use, and the part of the cluster that they make.
//
// The one place that gives DeviceSelection its meaning: a search is handed the part as a cluster of its own, so that it
// cannot touch any other device, and its placements are named back. Devices keep their order, and the transfer between
// two of them never takes longer in the part than in the whole; mostly it takes as long.
#ifndef PLANWRIGHT_CORE_MODEL_DEVICE_SELECTION_H_
#define PLANWRIGHT_CORE_MODEL_DEVICE_SELECTION_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/problem.h"

namespace planwright {

// Devices that `selection` allows, ascending: those on one of `hosts`, among `devices` and with every label of
// `match_labels`, each where it is set, without `excluded_devices`. Does not look at max_devices, which says how many
// of them a plan may use. REQUIRES: ids in range. O(devices x (hosts + labels) + list lengths).
std::vector<DeviceId> SelectedDevices(const Cluster& cluster, const DeviceSelection& selection);

// Adds a violation (paths below "problem.devices_to_use") for a host or a label that no device has, for a listed device
// that another setting of the selection rules out, for a selection that leaves no device, and for one whose part of the
// interconnect cannot be expressed (PartOfInterconnect). REQUIRES: the cluster is valid, ids in range.
void CheckSelection(const Cluster& cluster, const DeviceSelection& selection, Violations& violations);

// The interconnect of `devices` alone. A part of a hierarchy is one again when at every level each group that keeps any
// device keeps equally many subgroups, e.g. whole hosts, or the same number of devices on each host. Of an irregular
// part it is FastestLevel: bounds hold, and placements are judged on the whole cluster. Everything else keeps its
// distances. Nodes whose machines keep the same places stay nodes, otherwise they become a matrix, which has the least
// of their latencies. nullopt: it cannot be expressed (a part of a grid or of links, where routes lead through devices
// that are left out; a matrix of too many devices). REQUIRES: `devices` ascending, not empty.
std::optional<Interconnect> PartOfInterconnect(const Cluster& cluster, std::span<const DeviceId> devices);

// One level for `count` devices that is nowhere slower than the links between any of `devices`.
// REQUIRES: `devices` ascending, not empty.
HierarchyInterconnect FastestLevel(const HierarchyInterconnect& hierarchy, std::span<const DeviceId> devices,
                                   std::size_t count);

// Some devices of a cluster as a cluster of their own.
class ClusterPart {
 public:
  // REQUIRES: `devices` ascending, not empty; PartOfInterconnect is not nullopt.
  ClusterPart(const Cluster& whole, std::vector<DeviceId> devices);
  // The same for `devices` that stand for any equally many of `alternatives`, of which they are some: what is proven of
  // the part holds for all of those, because its links are no slower than any of theirs. REQUIRES: both ascending.
  ClusterPart(const Cluster& whole, std::vector<DeviceId> devices, std::span<const DeviceId> alternatives);

  // All device classes of the whole, under the same ids.
  const Cluster& cluster() const { return cluster_; }

  // Names devices as the whole does.
  Placement ToWhole(Placement placement) const;
  // Names devices as the part does; nullopt: `placement` uses one that is left out.
  std::optional<Placement> ToPart(Placement placement) const;
  std::optional<DeviceId> ToPart(DeviceId device) const;

 private:
  std::vector<DeviceId> devices_;
  Cluster cluster_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MODEL_DEVICE_SELECTION_H_
