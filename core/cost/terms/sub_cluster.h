// Some devices of a cluster as a cluster of their own.
//
// A search is handed the part, so that it cannot touch any other device, and its placements are named back. Devices
// keep their order, and the transfer between two of them never takes longer in the part than in the whole; except in
// irregular parts of hierarchies it takes as long.
#ifndef PLANWRIGHT_CORE_COST_TERMS_SUB_CLUSTER_H_
#define PLANWRIGHT_CORE_COST_TERMS_SUB_CLUSTER_H_

#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/model/cluster.h"
#include "core/model/problem.h"

namespace planwright {

class SubCluster {
 public:
  // REQUIRES: `devices` ascending, not empty. Complexity: that of PartOfInterconnect; where it is nullopt
  // O(devices^2) beside the Network of the whole.
  SubCluster(const Cluster& whole, std::vector<DeviceId> devices);
  // As above, for `devices` that stand for any equally many of `alternatives`, of which they are some: what is proven
  // of the part holds for all of those: its links are no slower than any of theirs. REQUIRES: both ascending.
  SubCluster(const Cluster& whole, std::vector<DeviceId> devices, std::span<const DeviceId> alternatives);

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

#endif  // PLANWRIGHT_CORE_COST_TERMS_SUB_CLUSTER_H_
