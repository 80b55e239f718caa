// How many devices a placement may use of each pool where the request limits their number.
#ifndef PLANWRIGHT_CORE_PARTITION_PARMESAN_REMAINING_DEVICES_H_
#define PLANWRIGHT_CORE_PARTITION_PARMESAN_REMAINING_DEVICES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/model/cluster.h"
#include "core/model/device_selection.h"
#include "core/partition/search/block_instance.h"

namespace planwright {

// Counts down while devices are taken. O(pools x limits) to make, O(limits) for each question.
class RemainingDevices {
 public:
  // REQUIRES: each limit speaks of whole device classes.
  RemainingDevices(const BlockInstance& instance, const std::vector<DeviceLimit>& limits);

  // How many devices of `pool` may still be taken.
  int64_t Of(std::size_t pool) const;
  void Take(std::size_t pool, int64_t devices);

 private:
  std::vector<int64_t> left_in_pool_;
  std::vector<int64_t> left_of_limit_;
  // By pool: the limits that count it.
  std::vector<std::vector<std::size_t>> limits_of_pool_;
};

// No placement within the limits uses more devices.
int64_t MostDevices(const BlockInstance& instance, const std::vector<DeviceLimit>& limits);

// `instance` with no more devices in each pool than a placement may use of it: what is proven of all its placements
// holds for those within the limits. Pools without devices are left out.
BlockInstance WithinLimits(BlockInstance instance, const std::vector<DeviceLimit>& limits);

// Likewise for a cluster whose pairs of devices are connected alike: it keeps those of each class with the most memory.
// Ids of devices are new.
Cluster WithinLimits(Cluster cluster, const std::vector<DeviceLimit>& limits);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PARMESAN_REMAINING_DEVICES_H_
