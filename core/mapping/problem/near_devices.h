// The devices that are connected best to each device.
#ifndef PLANWRIGHT_CORE_MAPPING_PROBLEM_NEAR_DEVICES_H_
#define PLANWRIGHT_CORE_MAPPING_PROBLEM_NEAR_DEVICES_H_

#include <cstddef>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/mapping/problem/link_times.h"
#include "core/mapping/problem/mapping_instance.h"

namespace planwright {

// Immutable and thread-safe. Memory: at most kTableEntries entries of 4 bytes, or kFewest for each device.
class NearDevices {
 public:
  // Orders pairs by what `bytes` take there and back. Where the limits say stop, which is looked at for every device,
  // lists stay empty. Complexity O(D^2) for D devices, and the sort of the lists.
  NearDevices(const MappingInstance& instance, const LinkTimes& links, double bytes, const SolveLimits& limits,
              TaskArena& arena);

  // Fastest first, all that take part except the device itself, or as many as the memory allows. Devices that are
  // connected alike follow each other in the order of their distance id - device id, around the end, so that a list
  // that is cut short names others for every device.
  std::span<const DeviceId> Of(DeviceId device) const {
    return {near_.data() + device.index() * per_device_, count_of_[device.index()]};
  }

 private:
  static constexpr std::size_t kTableEntries = std::size_t{1} << 20U;
  static constexpr std::size_t kFewest = 256;

  void Fill(const MappingInstance& instance, const LinkTimes& links, double bytes, DeviceId here);

  std::size_t per_device_ = 0;
  std::vector<DeviceId> near_;
  std::vector<std::size_t> count_of_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROBLEM_NEAR_DEVICES_H_
