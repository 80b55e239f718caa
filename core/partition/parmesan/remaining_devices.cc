#include "core/partition/parmesan/remaining_devices.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace planwright {
namespace {

bool Counts(const DeviceLimit& limit, DeviceId device) {
  return std::binary_search(limit.devices.begin(), limit.devices.end(), device);
}

// How many devices the limits leave of a class with `count` devices, of which `device` is one.
int64_t MostOfClass(const std::vector<DeviceLimit>& limits, DeviceId device, std::size_t count) {
  auto most = static_cast<int64_t>(count);
  for (const DeviceLimit& limit : limits) {
    if (Counts(limit, device)) most = std::min(most, limit.most);
  }
  return most;
}

}  // namespace

RemainingDevices::RemainingDevices(const BlockInstance& instance, const std::vector<DeviceLimit>& limits)
    : limits_of_pool_(instance.pools.size()) {
  for (const DeviceLimit& limit : limits) left_of_limit_.push_back(limit.most);
  for (std::size_t pool = 0; pool < instance.pools.size(); ++pool) {
    const std::vector<DeviceId>& devices = instance.pools[pool].devices;
    left_in_pool_.push_back(static_cast<int64_t>(devices.size()));
    for (std::size_t limit = 0; limit < limits.size(); ++limit) {
      if (Counts(limits[limit], devices.front())) limits_of_pool_[pool].push_back(limit);
    }
  }
}

int64_t RemainingDevices::Of(std::size_t pool) const {
  int64_t room = left_in_pool_[pool];
  for (const std::size_t limit : limits_of_pool_[pool]) room = std::min(room, left_of_limit_[limit]);
  return room;
}

void RemainingDevices::Take(std::size_t pool, int64_t devices) {
  left_in_pool_[pool] -= devices;
  for (const std::size_t limit : limits_of_pool_[pool]) left_of_limit_[limit] -= devices;
}

int64_t MostDevices(const BlockInstance& instance, const std::vector<DeviceLimit>& limits) {
  // Each limit by itself, with all devices that it does not count; and what the limits leave of each pool.
  int64_t most = 0;
  const RemainingDevices room(instance, limits);
  for (std::size_t pool = 0; pool < instance.pools.size(); ++pool) most += room.Of(pool);
  for (const DeviceLimit& limit : limits) {
    int64_t with_limit = limit.most;
    for (std::size_t pool = 0; pool < instance.pools.size(); ++pool) {
      if (!Counts(limit, instance.pools[pool].devices.front())) with_limit += room.Of(pool);
    }
    most = std::min(most, with_limit);
  }
  return most;
}

BlockInstance WithinLimits(BlockInstance instance, const std::vector<DeviceLimit>& limits) {
  for (DevicePool& pool : instance.pools) {
    const int64_t most = MostOfClass(limits, pool.devices.front(), pool.devices.size());
    pool.devices.resize(static_cast<std::size_t>(most));
  }
  std::erase_if(instance.pools, [](const DevicePool& pool) { return pool.devices.empty(); });
  return instance;
}

Cluster WithinLimits(Cluster cluster, const std::vector<DeviceLimit>& limits) {
  if (limits.empty()) return cluster;
  std::map<DeviceClassId, std::vector<DeviceId>> classes;
  for (std::size_t i = 0; i < cluster.devices.size(); ++i) {
    classes[cluster.devices[i].device_class].emplace_back(i);
  }
  const auto memory = [&](DeviceId device) {
    return UsableMemoryBytes(cluster, device).value_or(std::numeric_limits<int64_t>::max());
  };
  std::vector<Device> kept;
  for (auto& [device_class, devices] : classes) {
    const int64_t most = MostOfClass(limits, devices.front(), devices.size());
    std::stable_sort(devices.begin(), devices.end(), [&](DeviceId a, DeviceId b) { return memory(a) > memory(b); });
    devices.resize(static_cast<std::size_t>(most));
    for (const DeviceId device : devices) kept.push_back(cluster.devices[device.index()]);
  }
  cluster.devices = std::move(kept);
  return cluster;
}

}  // namespace planwright
