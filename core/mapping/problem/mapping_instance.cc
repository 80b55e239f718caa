#include "core/mapping/problem/mapping_instance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace planwright {
namespace {

bool DevicesFit(const MappingInstance& instance, const std::vector<DeviceId>& devices) {
  if (devices.size() != instance.num_vertices()) return false;
  std::vector<bool> is_taken(instance.num_devices(), false);
  for (std::size_t vertex = 0; vertex < devices.size(); ++vertex) {
    const DeviceId device = devices[vertex];
    if (device.index() >= is_taken.size() || is_taken[device.index()] || !instance.TakesPart(device)) return false;
    is_taken[device.index()] = true;
    const auto stage = static_cast<int32_t>(vertex % Index(instance.num_stages));
    if (!std::isfinite(instance.ComputeMs(stage, device))) return false;
  }
  return true;
}

bool IsRing(const MappingInstance& instance, std::vector<int32_t> ring) {
  if (instance.free_ring_order) std::sort(ring.begin(), ring.end());
  std::vector<int32_t> replicas(Index(instance.num_replicas));
  std::iota(replicas.begin(), replicas.end(), 0);
  return ring == replicas;
}

}  // namespace

std::vector<std::vector<int32_t>> RingsInReplicaOrder(const MappingInstance& instance) {
  if (!instance.HasRings()) return {};
  std::vector<int32_t> ring(Index(instance.num_replicas));
  std::iota(ring.begin(), ring.end(), 0);
  return std::vector<std::vector<int32_t>>(Index(instance.num_stages), ring);
}

bool IsMapping(const MappingInstance& instance, const Mapping& mapping) {
  if (!DevicesFit(instance, mapping.devices)) return false;
  if (!instance.HasRings()) return mapping.rings.empty();
  if (mapping.rings.size() != Index(instance.num_stages)) return false;
  return std::all_of(mapping.rings.begin(), mapping.rings.end(),
                     [&](const std::vector<int32_t>& ring) { return IsRing(instance, ring); });
}

}  // namespace planwright
