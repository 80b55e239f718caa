// Where devices are, as far as what joint plans cost depends on it.
#ifndef PLANWRIGHT_CORE_VERIFY_JOINT_MACHINES_H_
#define PLANWRIGHT_CORE_VERIFY_JOINT_MACHINES_H_

#include <cstdint>
#include <map>
#include <vector>

#include "core/base/ids.h"
#include "core/model/cluster.h"

namespace planwright::verify {

struct MachineLink {
  double bytes_per_second = 0;
  int64_t latency_ps = 0;
};

// Nodes of a cluster whose interconnect is uniform, hierarchy or nodes.
class Machines {
 public:
  explicit Machines(const Cluster& cluster);

  int64_t NodeOf(DeviceId device) const { return static_cast<int64_t>(device.index()) / per_node_; }
  // Of each class the most devices of one node that `usable` holds.
  std::map<DeviceClassId, int64_t> LargestNodes(const std::vector<DeviceId>& usable) const;
  // Of one device to another one of its node; of one to another node, while all of its node send.
  const MachineLink& LinkOf(bool is_inside) const { return is_inside ? inside_ : between_; }

 private:
  void Slow(const HierarchyInterconnect::Level& level, int64_t senders);

  const Cluster& cluster_;
  int64_t per_node_ = 1;
  MachineLink inside_;
  MachineLink between_;
};

// Both ways of a tensor of `bytes`, each rounded up to whole picoseconds.
int64_t BothWaysPs(int64_t bytes, const MachineLink& link);

}  // namespace planwright::verify

#endif  // PLANWRIGHT_CORE_VERIFY_JOINT_MACHINES_H_
