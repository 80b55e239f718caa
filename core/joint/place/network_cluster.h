// A cluster whose pairs of devices have links of their own, as the joint search sees it.
#ifndef PLANWRIGHT_CORE_JOINT_PLACE_NETWORK_CLUSTER_H_
#define PLANWRIGHT_CORE_JOINT_PLACE_NETWORK_CLUSTER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/ids.h"
#include "core/joint/cost/training_cluster.h"
#include "core/model/cluster.h"

namespace planwright {

// Whether the interconnect is a grid, explicit links or a matrix.
bool IsNetwork(const Cluster& cluster);

// A row of the accelerators among `usable`, class by class, each class one node whose pairs are as the interconnect has
// them, with the memory of the device that has least; `inside` and `between` are the fastest bandwidth and the least
// latency of any pair. `reserved_bytes`: of every
// device. Errors: FAILED_PRECONDITION where no accelerator is left. REQUIRES: IsNetwork, a valid cluster.
// O(devices^2 log devices), explicit links beside routing; grids O(devices).
absl::StatusOr<TrainingCluster> MakeNetworkCluster(const Cluster& cluster, const std::vector<DeviceId>& usable,
                                                   int64_t reserved_bytes);

// Where devices of one class differ in memory: the network without those that have least, without those that have less
// than the next level, and so on, at most three. REQUIRES: `network` is MakeNetworkCluster's, or FirstDevicesByClass of
// it. O(devices log devices).
std::vector<TrainingCluster> PartsOfMoreMemory(const Cluster& cluster, const TrainingCluster& network,
                                               int64_t reserved_bytes);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_PLACE_NETWORK_CLUSTER_H_
