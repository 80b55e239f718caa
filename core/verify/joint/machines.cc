#include "core/verify/joint/machines.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

namespace planwright::verify {
namespace {

using Pairs = std::vector<std::pair<DeviceId, DeviceId>>;

void AddRing(const std::vector<DeviceId>& ring, Pairs& pairs) {
  for (std::size_t i = 1; i < ring.size(); ++i) pairs.emplace_back(ring[i - 1], ring[i]);
  if (ring.size() > 1) pairs.emplace_back(ring.back(), ring.front());
}

}  // namespace

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

StageNetwork::StageNetwork(const Cluster& cluster)
    : exists_(std::holds_alternative<GridInterconnect>(cluster.interconnect) ||
              std::holds_alternative<LinksInterconnect>(cluster.interconnect) ||
              std::holds_alternative<MatrixInterconnect>(cluster.interconnect)),
      links_(cluster.interconnect, cluster.devices.size()) {}

// Each way counts.
MachineLink StageNetwork::SlowestOf(const Pairs& pairs) {
  MachineLink slowest{std::numeric_limits<double>::infinity(), 0};
  for (const auto& [a, b] : pairs) {
    if (a == b) continue;
    for (const JudgedLink& link : {links_.Between(a, b), links_.Between(b, a)}) {
      slowest.bytes_per_second = std::min(slowest.bytes_per_second, link.bandwidth_bytes_per_second);
      slowest.latency_ps = std::max(slowest.latency_ps, link.latency.count());
    }
  }
  return slowest;
}

MachineLink StageNetwork::OfTensorGroups(const std::vector<DeviceId>& ranks, const Degrees& degrees) {
  Pairs pairs;
  for (auto group = ranks.begin(); group != ranks.end(); group += degrees.tensor) {
    AddRing({group, group + degrees.tensor}, pairs);
  }
  return SlowestOf(pairs);
}

MachineLink StageNetwork::OfCopies(const std::vector<DeviceId>& ranks, const Degrees& degrees) {
  Pairs pairs;
  for (std::size_t part = 0; part < static_cast<std::size_t>(degrees.tensor); ++part) {
    std::vector<DeviceId> alike;
    for (std::size_t rank = part; rank < ranks.size(); rank += static_cast<std::size_t>(degrees.tensor)) {
      alike.push_back(ranks[rank]);
    }
    if (degrees.context == 1 && degrees.expert == 1) {
      AddRing(alike, pairs);
      continue;
    }
    for (const DeviceId a : alike) {
      for (const DeviceId b : alike) {
        if (a < b) pairs.emplace_back(a, b);
      }
    }
  }
  return SlowestOf(pairs);
}

MachineLink StageNetwork::BetweenStages(const std::vector<DeviceId>& from, const std::vector<DeviceId>& to) {
  const auto& [fewer, more] = from.size() <= to.size() ? std::tie(from, to) : std::tie(to, from);
  Pairs pairs;
  for (std::size_t i = 0; i < more.size(); ++i) pairs.emplace_back(fewer[i * fewer.size() / more.size()], more[i]);
  return SlowestOf(pairs);
}

}  // namespace planwright::verify
