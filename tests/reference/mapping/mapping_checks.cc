#include "tests/reference/mapping/mapping_checks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/mapping/anneal/simple_mappings.h"
#include "core/mapping/problem/evaluation.h"

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

}  // namespace

bool IsMapping(const MappingInstance& instance, const Mapping& mapping) {
  if (!DevicesFit(instance, mapping.devices)) return false;
  std::vector<std::vector<int32_t>> rings = mapping.rings;
  if (instance.free_ring_order) {
    for (std::vector<int32_t>& ring : rings) std::sort(ring.begin(), ring.end());
  }
  return rings == RingsInReplicaOrder(instance);
}

Mapping BestOfRandom(const MappingInstance& instance, const LinkTimes& links, const KindAssignment& kinds, int count,
                     RandomStream& random) {
  std::optional<std::pair<double, Mapping>> best;
  for (int i = 0; i < count; ++i) {
    Mapping mapping = MapRandomly(instance, kinds, random);
    const double value = Evaluate(instance, links, mapping).value_ms;
    if (!best.has_value() || value < best->first) best.emplace(value, std::move(mapping));
  }
  return std::move(best->second);
}

}  // namespace planwright
