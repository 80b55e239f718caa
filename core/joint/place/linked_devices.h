// How fast so many devices can reach each other, whichever they are.
#ifndef PLANWRIGHT_CORE_JOINT_PLACE_LINKED_DEVICES_H_
#define PLANWRIGHT_CORE_JOINT_PLACE_LINKED_DEVICES_H_

#include <cstdint>
#include <vector>

#include "core/base/polling.h"
#include "core/joint/cost/training_cluster.h"

namespace planwright {

class LinkedDevices {
 public:
  // Joins devices by their fastest links first, as single linkage does. O(devices^2). Interrupted, nothing is known.
  // REQUIRES: cluster.pairs.
  LinkedDevices(const TrainingCluster& cluster, Poller& poller);

  // No `count` devices that all reach each other do so with a greater bandwidth on their slowest link; its latency is
  // the greatest of the links that join them. Where nothing is known, or there are fewer devices: `fastest`.
  TrainingLink LinkOf(int64_t count, const TrainingLink& fastest) const;

 private:
  // [i]: what LinkOf says of i + 2 devices.
  std::vector<TrainingLink> links_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_PLACE_LINKED_DEVICES_H_
