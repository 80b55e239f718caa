#include "core/verify/facts/links.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <variant>

namespace planwright {
namespace {

// The innermost level whose groups hold both; of two leaves of the tree.
JudgedLink LinkOf(const std::vector<HierarchyInterconnect::Level>& levels, std::size_t a, std::size_t b) {
  std::size_t group_a = a;
  std::size_t group_b = b;
  for (const HierarchyInterconnect::Level& level : levels) {
    group_a /= static_cast<std::size_t>(level.fan_out);
    group_b /= static_cast<std::size_t>(level.fan_out);
    if (group_a == group_b) return {level.bandwidth_bytes_per_second, level.latency};
  }
  return {};
}

JudgedLink LinkOf(const NodesInterconnect& nodes, DeviceId a, DeviceId b) {
  const auto size = static_cast<std::size_t>(nodes.devices_per_node);
  if (a.index() / size != b.index() / size) return LinkOf(nodes.levels, a.index() / size, b.index() / size);
  const auto places = std::minmax({static_cast<int32_t>(a.index() % size), static_cast<int32_t>(b.index() % size)});
  for (const NodesInterconnect::Link& link : nodes.links) {
    if (std::minmax({link.place_a, link.place_b}) == places) return {link.bandwidth_bytes_per_second, link.latency};
  }
  return {nodes.bandwidth_bytes_per_second, nodes.latency};
}

// Steps from one place of a line, or of a ring, to another.
std::size_t Steps(std::size_t from, std::size_t to, std::size_t size, bool is_ring) {
  const std::size_t up = from < to ? to - from : from - to;
  return is_ring && size - up < up ? size - up : up;
}

JudgedLink LinkOf(const GridInterconnect& grid, DeviceId a, DeviceId b) {
  std::size_t hops = 0;
  std::size_t stride = 1;
  for (const int32_t dimension : grid.dimensions) {
    const auto size = static_cast<std::size_t>(dimension);
    hops += Steps(a.index() / stride % size, b.index() / stride % size, size, grid.wrap_around);
    stride *= size;
  }
  const bool divides = grid.non_adjacent == GridInterconnect::NonAdjacent::kDividedByHops;
  const double share = divides ? static_cast<double>(hops) : 1.0;
  return {grid.link_bandwidth_bytes_per_second / share, grid.latency};
}

// Whether links of at least `least_bandwidth` alone join the two.
bool Join(const JudgedRoads& roads, double least_bandwidth, DeviceId a, DeviceId b) {
  std::vector<bool> is_reached(roads.size(), false);
  std::vector<DeviceId> open = {a};
  is_reached[a.index()] = true;
  while (!open.empty() && !is_reached[b.index()]) {
    const DeviceId device = open.back();
    open.pop_back();
    for (const JudgedRoad& road : roads[device.index()]) {
      if (road.link.bandwidth_bytes_per_second < least_bandwidth || is_reached[road.to.index()]) continue;
      is_reached[road.to.index()] = true;
      open.push_back(road.to);
    }
  }
  return is_reached[b.index()];
}

// The least latency over links of at least `least_bandwidth`. REQUIRES: they join the two.
Picoseconds LeastLatency(const JudgedRoads& roads, double least_bandwidth, DeviceId a, DeviceId b) {
  std::vector<bool> is_final(roads.size(), false);
  std::multimap<Picoseconds, DeviceId> open = {{Picoseconds(0), a}};
  while (open.begin()->second != b) {
    const auto [latency, device] = *open.begin();
    open.erase(open.begin());
    if (is_final[device.index()]) continue;
    is_final[device.index()] = true;
    for (const JudgedRoad& road : roads[device.index()]) {
      if (road.link.bandwidth_bytes_per_second < least_bandwidth) continue;
      open.emplace(Picoseconds(SaturatingAdd(latency.count(), road.link.latency.count())), road.to);
    }
  }
  return open.begin()->first;
}

// The link of the two where they have one: the widest, of equally wide ones the quickest.
std::optional<JudgedLink> WidestLink(const JudgedRoads& roads, DeviceId a, DeviceId b) {
  std::optional<JudgedLink> widest;
  for (const JudgedRoad& road : roads[a.index()]) {
    if (road.to != b) continue;
    const double bandwidth = road.link.bandwidth_bytes_per_second;
    const bool is_wider = !widest.has_value() || bandwidth > widest->bandwidth_bytes_per_second;
    const bool is_quicker =
        widest.has_value() && bandwidth == widest->bandwidth_bytes_per_second && road.link.latency < widest->latency;
    if (is_wider || is_quicker) widest = road.link;
  }
  return widest;
}

// Where no link joins the two: the greatest bandwidth whose links alone do, then the least latency over them.
JudgedLink WidestWay(const JudgedRoads& roads, DeviceId a, DeviceId b) {
  if (const std::optional<JudgedLink> link = WidestLink(roads, a, b)) return *link;
  std::vector<double> bandwidths;
  for (const std::vector<JudgedRoad>& from : roads) {
    for (const JudgedRoad& road : from) bandwidths.push_back(road.link.bandwidth_bytes_per_second);
  }
  std::sort(bandwidths.begin(), bandwidths.end());
  bandwidths.erase(std::unique(bandwidths.begin(), bandwidths.end()), bandwidths.end());
  // Wider links are fewer and join less: the last bandwidth that still joins the two is found by halving.
  const auto separates = std::partition_point(bandwidths.begin(), bandwidths.end(),
                                              [&](double bandwidth) { return Join(roads, bandwidth, a, b); });
  const double widest = *std::prev(separates);
  return {widest, LeastLatency(roads, widest, a, b)};
}

// Less latency, then more bandwidth.
bool IsBetter(const JudgedLink& a, const JudgedLink& b) {
  if (a.latency != b.latency) return a.latency < b.latency;
  return a.bandwidth_bytes_per_second > b.bandwidth_bytes_per_second;
}

// Devices one link away, then two, ... until `b` is among them.
JudgedLink ShortestWay(const JudgedRoads& roads, DeviceId a, DeviceId b) {
  std::vector<bool> is_nearer(roads.size(), false);
  std::map<DeviceId, JudgedLink> level = {{a, {std::numeric_limits<double>::infinity(), Picoseconds(0)}}};
  while (!level.contains(b)) {
    for (const auto& [device, way] : level) is_nearer[device.index()] = true;
    std::map<DeviceId, JudgedLink> next;
    for (const auto& [device, way] : level) {
      for (const JudgedRoad& road : roads[device.index()]) {
        if (is_nearer[road.to.index()]) continue;
        const JudgedLink longer{std::min(way.bandwidth_bytes_per_second, road.link.bandwidth_bytes_per_second),
                                Picoseconds(SaturatingAdd(way.latency.count(), road.link.latency.count()))};
        const auto [known, is_new] = next.try_emplace(road.to, longer);
        if (!is_new && IsBetter(longer, known->second)) known->second = longer;
      }
    }
    level = std::move(next);
  }
  return level.at(b);
}

JudgedRoads RoadsOf(const Interconnect& interconnect, std::size_t num_devices) {
  JudgedRoads roads(num_devices);
  const auto* links = std::get_if<LinksInterconnect>(&interconnect);
  if (links == nullptr) return roads;
  for (const LinksInterconnect::Link& link : links->links) {
    const JudgedLink both_ways{link.bandwidth_bytes_per_second, link.latency};
    roads[link.device_a.index()].push_back({link.device_b, both_ways});
    roads[link.device_b.index()].push_back({link.device_a, both_ways});
  }
  return roads;
}

bool TransferTimesCount(const Interconnect& interconnect) {
  return std::holds_alternative<HostStagedInterconnect>(interconnect) ||
         std::holds_alternative<UniformInterconnect>(interconnect);
}

}  // namespace

JudgedLinks::JudgedLinks(const Interconnect& interconnect, std::size_t num_devices)
    : interconnect_(interconnect), num_devices_(num_devices), roads_(RoadsOf(interconnect, num_devices)) {}

JudgedLink JudgedLinks::Between(DeviceId a, DeviceId b) {
  if (const auto* host = std::get_if<HostStagedInterconnect>(&interconnect_)) {
    return {host->bandwidth_bytes_per_second.value_or(0), host->latency};
  }
  if (const auto* uniform = std::get_if<UniformInterconnect>(&interconnect_)) {
    return {uniform->bandwidth_bytes_per_second.value_or(0), uniform->latency};
  }
  if (const auto* hierarchy = std::get_if<HierarchyInterconnect>(&interconnect_)) {
    return LinkOf(hierarchy->levels, a.index(), b.index());
  }
  if (const auto* grid = std::get_if<GridInterconnect>(&interconnect_)) return LinkOf(*grid, a, b);
  if (const auto* nodes = std::get_if<NodesInterconnect>(&interconnect_)) return LinkOf(*nodes, a, b);
  if (const auto* matrix = std::get_if<MatrixInterconnect>(&interconnect_)) {
    return {matrix->bandwidth_bytes_per_second[a.index() * num_devices_ + b.index()], matrix->latency};
  }
  const auto [found, is_new] = routed_.try_emplace(std::minmax(a, b));
  if (is_new) {
    const bool widest = std::get<LinksInterconnect>(interconnect_).routing == LinksInterconnect::Routing::kWidestPath;
    found->second = widest ? WidestWay(roads_, a, b) : ShortestWay(roads_, a, b);
  }
  return found->second;
}

Picoseconds JudgedLinks::TransferBetween(const Tensor& tensor, DeviceId a, DeviceId b) {
  if (TransferTimesCount(interconnect_) && tensor.transfer.has_value()) return *tensor.transfer;
  const JudgedLink link = Between(a, b);
  return link.latency + TransferTime(tensor.size_bytes, link.bandwidth_bytes_per_second);
}

Picoseconds JudgedLinks::RingAllReduce(int64_t parameter_bytes, const std::vector<DeviceId>& ring,
                                       AllReduce::Factor factor) {
  const std::size_t count = ring.size();
  if (count < 2) return Picoseconds(0);
  JudgedLink slowest{std::numeric_limits<double>::infinity(), Picoseconds(0)};
  for (std::size_t i = 0; i < count; ++i) {
    const JudgedLink link = Between(ring[i], ring[(i + 1) % count]);
    slowest.bandwidth_bytes_per_second = std::min(slowest.bandwidth_bytes_per_second, link.bandwidth_bytes_per_second);
    slowest.latency = std::max(slowest.latency, link.latency);
  }
  const auto replica_count = static_cast<int64_t>(count);
  const int64_t steps = 2 * (replica_count - 1);
  const int64_t chunks = factor == AllReduce::Factor::kRing ? steps : steps / 2;
  return TransferTime(parameter_bytes, chunks, replica_count, slowest.bandwidth_bytes_per_second) +
         steps * slowest.latency;
}

}  // namespace planwright
