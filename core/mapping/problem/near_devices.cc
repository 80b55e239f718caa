#include "core/mapping/problem/near_devices.h"

#include <algorithm>

namespace planwright {
namespace {

// Devices to a task: each takes microseconds.
constexpr std::size_t kGrain = 16;

struct NearCandidate {
  double time_ms = 0;
  std::size_t distance = 0;

  auto operator<=>(const NearCandidate&) const = default;
};

}  // namespace

NearDevices::NearDevices(const MappingInstance& instance, const LinkTimes& links, double bytes,
                         const SolveLimits& limits, TaskArena& arena)
    : count_of_(instance.num_devices(), 0) {
  const std::size_t devices = instance.num_devices();
  if (devices == 0) return;
  per_device_ = std::min(devices, std::max(kTableEntries / devices, kFewest));
  near_.resize(devices * per_device_);
  arena.ParallelFor(devices, kGrain, [&](std::size_t device) {
    const DeviceId here(device);
    if (instance.TakesPart(here) && !CheckInterruption(limits).has_value()) Fill(instance, links, bytes, here);
  });
}

void NearDevices::Fill(const MappingInstance& instance, const LinkTimes& links, double bytes, DeviceId here) {
  const std::size_t devices = instance.num_devices();
  std::vector<NearCandidate> candidates;
  candidates.reserve(devices);
  for (std::size_t distance = 1; distance < devices; ++distance) {
    const DeviceId other((here.index() + distance) % devices);
    if (!instance.TakesPart(other)) continue;
    const double time = links.Between(here, other).Of(bytes, 1) + links.Between(other, here).Of(bytes, 1);
    candidates.push_back({.time_ms = time, .distance = distance});
  }
  const std::size_t count = std::min(candidates.size(), per_device_);
  const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(candidates.begin(), end, candidates.end());
  std::sort(candidates.begin(), end);
  count_of_[here.index()] = count;
  for (std::size_t i = 0; i < count; ++i) {
    near_[here.index() * per_device_ + i] = DeviceId((here.index() + candidates[i].distance) % devices);
  }
}

}  // namespace planwright
