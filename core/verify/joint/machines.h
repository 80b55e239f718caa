// Where devices are, as far as what joint plans cost depends on it.
#ifndef PLANWRIGHT_CORE_VERIFY_JOINT_MACHINES_H_
#define PLANWRIGHT_CORE_VERIFY_JOINT_MACHINES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/model/cluster.h"
#include "core/model/joint.h"
#include "core/verify/facts/links.h"

namespace planwright::verify {

struct MachineLink {
  double bytes_per_second = 0;
  int64_t latency_ps = 0;

  bool operator==(const MachineLink&) const = default;
};

// Nodes of a cluster whose interconnect is uniform, hierarchy or nodes, and the racks, pods, ... that these lie in.
// Where pairs of devices have links of their own (StageNetwork) all are one node, whose links say nothing.
class Machines {
 public:
  explicit Machines(const Cluster& cluster);

  int64_t NodeOf(DeviceId device) const { return static_cast<int64_t>(device.index()) / rings_.front().devices; }
  // The link that all `devices` can rely on to reach each other; `ring`: its number, 0 is inside a node. Devices of
  // unlike classes may be anywhere.
  std::size_t RingOf(const std::vector<DeviceId>& devices) const;
  const MachineLink& LinkOf(std::size_t ring) const { return rings_[ring].link; }
  // By class and node, how many devices `usable` holds.
  std::map<std::pair<DeviceClassId, int64_t>, int64_t> NodeSizes(const std::vector<DeviceId>& usable) const;

 private:
  // Devices whose numbers divided by `devices` are equal reach each other by `link`, while all others send too.
  struct Ring {
    int64_t devices = 1;
    MachineLink link;
  };

  void AddRings(const std::vector<HierarchyInterconnect::Level>& levels, std::size_t from);

  const Cluster& cluster_;
  std::vector<Ring> rings_;
};

// A tensor of `bytes` on its way, rounded up to whole picoseconds and at most 2^58; there and back.
int64_t OneWayPs(int64_t bytes, const MachineLink& link);
int64_t BothWaysPs(int64_t bytes, const MachineLink& link);

// What the ranks of a stage rely on where pairs of devices have links of their own: grids, explicit links, matrices.
// Not thread-safe.
class StageNetwork {
 public:
  // The cluster is valid and outlives the object.
  explicit StageNetwork(const Cluster& cluster);

  // Whether pairs have links of their own.
  bool exists() const { return exists_; }

  // The slowest link between neighbours of the tensor rings; between ranks that hold the same part of the layers,
  // neighbours on their ring or, with a context or expert degree, any two; between ranks of two stages that exchange.
  // Where there is none it is infinitely fast. REQUIRES: exists().
  MachineLink OfTensorGroups(const std::vector<DeviceId>& ranks, const Degrees& degrees);
  MachineLink OfCopies(const std::vector<DeviceId>& ranks, const Degrees& degrees);
  MachineLink BetweenStages(const std::vector<DeviceId>& from, const std::vector<DeviceId>& to);

 private:
  MachineLink SlowestOf(const std::vector<std::pair<DeviceId, DeviceId>>& pairs);

  bool exists_;
  JudgedLinks links_;
};

}  // namespace planwright::verify

#endif  // PLANWRIGHT_CORE_VERIFY_JOINT_MACHINES_H_
