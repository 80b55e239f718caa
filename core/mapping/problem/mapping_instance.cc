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
    if (!std::isfinite(instance.ComputeMs(instance.StageOf(vertex), device))) return false;
  }
  return true;
}

std::vector<int32_t> InReplicaOrder(int32_t num_replicas) {
  std::vector<int32_t> ring(Index(num_replicas));
  std::iota(ring.begin(), ring.end(), 0);
  return ring;
}

bool IsRing(const MappingInstance& instance, int32_t stage, std::vector<int32_t> ring) {
  if (instance.free_ring_order) std::sort(ring.begin(), ring.end());
  return ring == InReplicaOrder(instance.replicas.Of(stage));
}

}  // namespace

std::vector<std::vector<ReplicaNeighbour>> NeighboursOf(const MappingInstance& instance) {
  std::vector<std::vector<ReplicaNeighbour>> neighbours(instance.num_vertices());
  int32_t edge = 0;
  for (std::size_t i = 0; i < instance.traffic.size(); ++i) {
    const auto traffic = static_cast<int32_t>(i);
    instance.replicas.ForEachMeeting(
        instance.traffic[i].from, instance.traffic[i].to, [&](std::size_t a, std::size_t b) {
          neighbours[a].push_back({traffic, edge, static_cast<int32_t>(b), /*sends_forward=*/true});
          neighbours[b].push_back({traffic, edge, static_cast<int32_t>(a), /*sends_forward=*/false});
          ++edge;
        });
  }
  return neighbours;
}

std::vector<std::vector<int32_t>> RingsInReplicaOrder(const MappingInstance& instance) {
  std::vector<std::vector<int32_t>> rings;
  if (!instance.HasRings()) return rings;
  for (int32_t stage = 0; stage < instance.num_stages(); ++stage) {
    rings.push_back(InReplicaOrder(instance.replicas.Of(stage)));
  }
  return rings;
}

bool IsMapping(const MappingInstance& instance, const Mapping& mapping) {
  if (!DevicesFit(instance, mapping.devices)) return false;
  if (!instance.HasRings()) return mapping.rings.empty();
  if (mapping.rings.size() != Index(instance.num_stages())) return false;
  for (int32_t stage = 0; stage < instance.num_stages(); ++stage) {
    if (!IsRing(instance, stage, mapping.rings[Index(stage)])) return false;
  }
  return true;
}

}  // namespace planwright
