#include "core/verify/joint/machines.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <variant>

namespace planwright::verify {

Machines::Machines(const Cluster& cluster) : cluster_(cluster) {
  per_node_ = static_cast<int64_t>(cluster.devices.size());
  if (const auto* uniform = std::get_if<UniformInterconnect>(&cluster.interconnect)) {
    inside_ = {uniform->bandwidth_bytes_per_second.value_or(0), uniform->latency.count()};
    between_ = inside_;
  }
  if (const auto* tree = std::get_if<HierarchyInterconnect>(&cluster.interconnect)) {
    per_node_ = tree->levels.front().fan_out;
    inside_ = {tree->levels.front().bandwidth_bytes_per_second, tree->levels.front().latency.count()};
    between_ = inside_;
    int64_t senders = per_node_;
    for (std::size_t level = 1; level < tree->levels.size(); ++level) {
      Slow(tree->levels[level], senders);
      senders *= tree->levels[level].fan_out;
    }
  }
  if (const auto* nodes = std::get_if<NodesInterconnect>(&cluster.interconnect)) {
    per_node_ = nodes->devices_per_node;
    inside_ = {nodes->bandwidth_bytes_per_second, nodes->latency.count()};
    if (inside_.bytes_per_second <= 0 && !nodes->links.empty()) {
      inside_ = {nodes->links.front().bandwidth_bytes_per_second, nodes->links.front().latency.count()};
    }
    between_ = inside_;
    int64_t senders = per_node_;
    for (const HierarchyInterconnect::Level& level : nodes->levels) {
      Slow(level, senders);
      senders *= level.fan_out;
    }
  }
}

std::map<DeviceClassId, int64_t> Machines::LargestNodes(const std::vector<DeviceId>& usable) const {
  std::map<std::pair<DeviceClassId, int64_t>, int64_t> counts;
  for (const DeviceId device : usable) ++counts[{cluster_.devices[device.index()].device_class, NodeOf(device)}];
  std::map<DeviceClassId, int64_t> largest;
  for (const auto& [key, count] : counts) largest[key.first] = std::max(largest[key.first], count);
  return largest;
}

void Machines::Slow(const HierarchyInterconnect::Level& level, int64_t senders) {
  if (level.fan_out == 1) return;
  double own = level.bandwidth_bytes_per_second;
  if (level.port_bandwidth_bytes_per_second.has_value()) {
    own = std::min(own, *level.port_bandwidth_bytes_per_second / static_cast<double>(senders));
  }
  between_.bytes_per_second = std::min(between_.bytes_per_second, own);
  between_.latency_ps = std::max(between_.latency_ps, level.latency.count());
}

int64_t BothWaysPs(int64_t bytes, const MachineLink& link) {
  if (bytes == 0) return 0;
  const auto seconds = static_cast<long double>(bytes) / static_cast<long double>(std::llround(link.bytes_per_second));
  return 2 * (static_cast<int64_t>(std::ceil(seconds * 1e12L)) + link.latency_ps);
}

}  // namespace planwright::verify
