#include "core/verify/joint/machines.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>

namespace planwright::verify {

Machines::Machines(const Cluster& cluster) : cluster_(cluster) {
  if (const auto* tree = std::get_if<HierarchyInterconnect>(&cluster.interconnect)) {
    const HierarchyInterconnect::Level& node = tree->levels.front();
    // Each device has a port of its own.
    const double port = node.port_bandwidth_bytes_per_second.value_or(node.bandwidth_bytes_per_second);
    rings_.push_back({node.fan_out, {std::min(node.bandwidth_bytes_per_second, port), node.latency.count()}});
    AddRings(tree->levels, 1);
  } else if (const auto* nodes = std::get_if<NodesInterconnect>(&cluster.interconnect)) {
    MachineLink inside{nodes->bandwidth_bytes_per_second, nodes->latency.count()};
    if (inside.bytes_per_second <= 0 && !nodes->links.empty()) {
      inside = {nodes->links.front().bandwidth_bytes_per_second, nodes->links.front().latency.count()};
    }
    rings_.push_back({nodes->devices_per_node, inside});
    AddRings(nodes->levels, 0);
  } else if (const auto* uniform = std::get_if<UniformInterconnect>(&cluster.interconnect)) {
    rings_.push_back({static_cast<int64_t>(cluster.devices.size()),
                      {uniform->bandwidth_bytes_per_second.value_or(0), uniform->latency.count()}});
  } else {
    rings_.push_back({static_cast<int64_t>(cluster.devices.size()), {}});
  }
  // Without anything above nodes, what is between them is never asked for but by tables that both ends have.
  if (rings_.size() == 1) rings_.push_back(rings_.front());
}

void Machines::AddRings(const std::vector<HierarchyInterconnect::Level>& levels, std::size_t from) {
  for (std::size_t level = from; level < levels.size(); ++level) {
    const Ring& below = rings_.back();
    if (levels[level].fan_out == 1) continue;
    double own = levels[level].bandwidth_bytes_per_second;
    const std::optional<double>& port = levels[level].port_bandwidth_bytes_per_second;
    if (port.has_value()) own = std::min(own, *port / static_cast<double>(below.devices));
    const MachineLink link{std::min(below.link.bytes_per_second, own),
                           std::max(below.link.latency_ps, levels[level].latency.count())};
    rings_.push_back({below.devices * levels[level].fan_out, link});
  }
}

std::size_t Machines::RingOf(const std::vector<DeviceId>& devices) const {
  const auto is_like_first = [&](DeviceId device) {
    return cluster_.devices[device.index()].device_class == cluster_.devices[devices.front().index()].device_class;
  };
  std::size_t ring = 0;
  if (!std::all_of(devices.begin(), devices.end(), is_like_first)) return rings_.size() - 1;
  const auto is_in_ring = [&](DeviceId device) {
    const int64_t size = rings_[ring].devices;
    return static_cast<int64_t>(device.index()) / size == static_cast<int64_t>(devices.front().index()) / size;
  };
  while (ring + 1 < rings_.size() && !std::all_of(devices.begin(), devices.end(), is_in_ring)) ++ring;
  return ring;
}

std::map<std::pair<DeviceClassId, int64_t>, int64_t> Machines::NodeSizes(const std::vector<DeviceId>& usable) const {
  std::map<std::pair<DeviceClassId, int64_t>, int64_t> sizes;
  for (const DeviceId device : usable) ++sizes[{cluster_.devices[device.index()].device_class, NodeOf(device)}];
  return sizes;
}

int64_t OneWayPs(int64_t bytes, const MachineLink& link) {
  if (bytes == 0) return 0;
  __extension__ using Wide = __int128;
  // Beyond what any step may take.
  constexpr Wide kMost = Wide{1} << 58;
  const Wide rate = std::llround(std::clamp(link.bytes_per_second, 1.0, 0x1p62));
  const Wide one_way = (Wide{bytes} * 1'000'000'000'000 + rate - 1) / rate + link.latency_ps;
  return static_cast<int64_t>(std::min(one_way, kMost));
}

int64_t BothWaysPs(int64_t bytes, const MachineLink& link) { return 2 * OneWayPs(bytes, link); }

}  // namespace planwright::verify
