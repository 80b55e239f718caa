// How fast rings of devices can be, wherever their ranks lie.
#ifndef PLANWRIGHT_CORE_JOINT_PLACE_RING_SPEEDS_H_
#define PLANWRIGHT_CORE_JOINT_PLACE_RING_SPEEDS_H_

#include <cstdint>
#include <vector>

#include "core/base/polling.h"
#include "core/joint/cost/training_cluster.h"

namespace planwright {

class RingSpeeds {
 public:
  // O(devices^2). Interrupted, nothing is known. REQUIRES: cluster.pairs.
  RingSpeeds(const TrainingCluster& cluster, Poller& poller);

  // No ring of so many devices has a faster slowest link than `fastest` and this: each rank needs two links, of a pair
  // one. REQUIRES: there are so many devices.
  TrainingLink BestOf(int64_t ranks, TrainingLink fastest) const;

 private:
  // The fastest and the second fastest link of each device, each list descending, in bytes/s.
  std::vector<double> firsts_;
  std::vector<double> seconds_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_PLACE_RING_SPEEDS_H_
