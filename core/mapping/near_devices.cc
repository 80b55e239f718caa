#include "core/mapping/near_devices.h"

#include <algorithm>
#include <utility>

namespace planwright {
namespace {

struct Candidate {
  double time_ms = 0;
  std::size_t distance = 0;

  auto operator<=>(const Candidate&) const = default;
};

}  // namespace

NearDevices::NearDevices(const MappingInstance& instance, const LinkTimes& links, double bytes)
    : count_of_(instance.num_devices(), 0) {
  const std::size_t devices = instance.num_devices();
  if (devices == 0) return;
  per_device_ = std::min(devices, std::max(kTableEntries / devices, kFewest));
  near_.resize(devices * per_device_);
  std::vector<Candidate> candidates;
  for (std::size_t device = 0; device < devices; ++device) {
    candidates.clear();
    for (std::size_t distance = 1; distance < devices; ++distance) {
      const DeviceId here(device);
      const DeviceId other((device + distance) % devices);
      if (!instance.TakesPart(here) || !instance.TakesPart(other)) continue;
      const double time = links.Between(here, other).Of(bytes, 1) + links.Between(other, here).Of(bytes, 1);
      candidates.push_back({.time_ms = time, .distance = distance});
    }
    const std::size_t count = std::min(candidates.size(), per_device_);
    const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(candidates.begin(), end, candidates.end());
    std::sort(candidates.begin(), end);
    count_of_[device] = count;
    for (std::size_t i = 0; i < count; ++i) {
      near_[device * per_device_ + i] = DeviceId((device + candidates[i].distance) % devices);
    }
  }
}

}  // namespace planwright
