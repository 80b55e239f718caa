// A cluster as the joint search sees it: devices in a row, node by node, class by class.
#ifndef PLANWRIGHT_CORE_JOINT_COST_TRAINING_CLUSTER_H_
#define PLANWRIGHT_CORE_JOINT_COST_TRAINING_CLUSTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/ids.h"
#include "core/model/cluster.h"
#include "core/model/joint.h"

namespace planwright {

// What two ranks exchange over.
struct TrainingLink {
  double bytes_per_second = 0;
  int64_t latency_ps = 0;

  bool operator==(const TrainingLink&) const = default;
};

// Nodes alike; others may have devices of the same class.
struct TrainingClass {
  DeviceClassId device_class;
  int32_t nodes = 0;
  // Devices in use of each.
  int32_t devices_per_node = 0;
  // Of the device that has least.
  int64_t memory_bytes = 0;
  // Of the one that has most; not less.
  int64_t most_memory_bytes = 0;

  int64_t devices() const { return int64_t{nodes} * devices_per_node; }
  // What a block of so many devices takes of the row: more than a node only whole nodes.
  int64_t TakenBy(int64_t block) const;
  // How many such blocks lie side by side.
  int64_t BlocksOf(int64_t block) const;
  // How many devices of each node, but the last one, such a block has: one that takes several lies on as many of each
  // as can be, in whole groups of tensor and context ranks where these fit, or of tensor ranks.
  int64_t PerNodeOf(const Degrees& block) const;
};

// Neighbouring nodes of a cluster that are closer to each other than to others: racks, pods.
struct TrainingGroup {
  // The number-th group has the nodes [number x nodes, (number + 1) x nodes).
  int64_t nodes = 0;
  // From one device to one in another node of the group, while all devices of its node send as well.
  TrainingLink link;
};

// Links between single devices (pair_links.h).
class PairLinks;

struct TrainingCluster {
  // In the order of the row.
  std::vector<TrainingClass> classes;
  // All devices, in the order of the row.
  std::vector<DeviceId> devices;
  TrainingLink inside;
  // As the link of a group, to any other node.
  TrainingLink between;
  // The smallest first; each one's size divides that of the next, its link is no slower.
  std::vector<TrainingGroup> groups = {};
  // Device d is in node d / node_span.
  int64_t node_span = 1;
  // Where pairs of devices have links of their own: each class is one node then, and what lies there costs what these
  // say, which is nowhere less than `inside`. nullptr: nodes alike.
  std::shared_ptr<const PairLinks> pairs = nullptr;

  // How far devices are apart: 0 in a node, then by groups, num_tiers() - 1 across all of them.
  int32_t num_tiers() const { return static_cast<int32_t>(groups.size()) + 2; }
  const TrainingLink& LinkOf(int32_t tier) const {
    if (tier == 0) return inside;
    return tier + 1 == num_tiers() ? between : groups[static_cast<std::size_t>(tier - 1)].link;
  }
  int64_t num_devices() const;
  // How many blocks of so many devices lie side by side.
  int64_t BlocksOf(int64_t block) const;
  // The closest that a block of so many nodes can be; a block of a node or less: 0.
  int32_t LeastTier(int64_t nodes) const;
  // The closest that a block of so many devices on nodes of `part` can be.
  int32_t LeastTierOf(const TrainingClass& part, int64_t block) const;
};

// `usable`: the devices that a plan may use. Nodes of one class of devices which have unlike numbers of these are
// classes of their own, the largest first, and so are those whose devices have less memory, behind those that have
// more (of many unlike ones, four levels are told apart), and the parts of a node with several classes of devices. CPUs
// are left out. `reserved_bytes`: of every device. Errors: INVALID_ARGUMENT where the interconnect is none of nodes,
// hierarchy, uniform; FAILED_PRECONDITION where no accelerator is left.
absl::StatusOr<TrainingCluster> MakeTrainingCluster(const Cluster& cluster, const std::vector<DeviceId>& usable,
                                                    int64_t reserved_bytes);

// `count` devices, or all that there are, given out class by class.
std::vector<int64_t> CountsByClass(const TrainingCluster& cluster, int64_t count);

// The part of `cluster` that has as many of each class (FirstDevicesByClass).
// REQUIRES: count >= 1.
TrainingCluster FirstDevices(const TrainingCluster& cluster, int64_t count);

// The part of `cluster` that has so many devices of each class: whole nodes, and some devices of one more, which is a
// class of its own. Nodes of the fullest racks come first; without racks all are alike. REQUIRES: one number for each
// class, at most its devices, not all of them 0.
TrainingCluster FirstDevicesByClass(const TrainingCluster& cluster, const std::vector<int64_t>& counts);

// As if all nodes were in one rack: at least as fast as any nodes in such numbers.
TrainingCluster AsCloseAsCanBe(const TrainingCluster& cluster);

// The classes in the opposite order; the devices with them.
TrainingCluster InReverse(const TrainingCluster& cluster);

// The orders in which a pipeline may pass the classes: all orders of up to three classes of devices, of more that of
// the file; each both ways.
std::vector<TrainingCluster> OrdersOf(const TrainingCluster& cluster);

// Whether some device has more memory than plans count on, or nodes that have as many devices of one class differ in
// it.
bool HasUnlikeMemory(const TrainingCluster& cluster);

// Whether devices differ in their class or memory.
bool HasUnlikeDevices(const TrainingCluster& cluster);

// As if nodes that have as many devices of one class had the memory of the device with the least of them, or the most:
// one class, whose blocks may be larger.
enum class AssumedMemory { kLeast, kMost };
TrainingCluster WithLikeMemory(const TrainingCluster& cluster, AssumedMemory memory);

// The rows in which a pipeline may pass the devices: the classes in each order, and where memory is unlike, also as if
// all had the least.
std::vector<TrainingCluster> RowsOf(const TrainingCluster& cluster);

// Rows on which every plan of the cluster fits and takes no longer: what is proven of these holds.
std::vector<TrainingCluster> BestRowsOf(const TrainingCluster& cluster);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_COST_TRAINING_CLUSTER_H_
