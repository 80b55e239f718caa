#include "core/topology/routing.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

namespace planwright {
namespace {

// Settles devices by ascending label, each with its least one (Dijkstra). `extend(label, neighbour)` is the label
// behind a link, never less than `label`, or nullopt for a link that does not count.
template <typename Label, typename Neighbours, typename Extend>
std::vector<Label> LeastLabels(const Neighbours& neighbours, std::size_t source, Label start, Label none,
                               Extend extend) {
  using Entry = std::pair<Label, std::size_t>;
  std::vector<Label> labels(neighbours.size(), none);
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  labels[source] = start;
  queue.push({start, source});
  while (!queue.empty()) {
    const auto [label, device] = queue.top();
    queue.pop();
    if (labels[device] < label) continue;
    for (const auto& neighbour : neighbours[device]) {
      const Label extended = extend(label, neighbour);
      if (!(extended < labels[neighbour.device])) continue;
      labels[neighbour.device] = extended;
      queue.push({extended, neighbour.device});
    }
  }
  return labels;
}

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr Picoseconds kNever{kMaxQuantity};

Picoseconds Longer(Picoseconds time, Picoseconds by) { return Picoseconds(SaturatingAdd(time.count(), by.count())); }

}  // namespace

Router::Router(const LinksInterconnect& links, std::size_t num_devices)
    : routing_(links.routing), neighbours_(num_devices) {
  for (const LinksInterconnect::Link& link : links.links) {
    const std::size_t a = link.device_a.index();
    const std::size_t b = link.device_b.index();
    neighbours_[a].push_back({b, link.bandwidth_bytes_per_second, link.latency});
    neighbours_[b].push_back({a, link.bandwidth_bytes_per_second, link.latency});
  }
}

std::vector<Route> Router::RoutesFrom(DeviceId source) const {
  return routing_ == LinksInterconnect::Routing::kWidestPath ? WidestRoutesFrom(source.index())
                                                             : ShortestRoutesFrom(source.index());
}

std::vector<double> Router::WidestFrom(std::size_t source) const {
  // Labels are negated bandwidths, so that the least label is the widest way.
  std::vector<double> labels = LeastLabels(
      neighbours_, source, -kNoLimit, 0.0,
      [](double label, const Neighbour& neighbour) { return std::max(label, -neighbour.bandwidth_bytes_per_second); });
  for (double& label : labels) label = -label;
  return labels;
}

std::vector<Picoseconds> Router::LatenciesFrom(std::size_t source, double least_bandwidth) const {
  return LeastLabels(neighbours_, source, Picoseconds(0), kNever, [&](Picoseconds label, const Neighbour& neighbour) {
    return neighbour.bandwidth_bytes_per_second < least_bandwidth ? kNever : Longer(label, neighbour.latency);
  });
}

std::vector<Route> Router::WidestRoutesFrom(std::size_t source) const {
  const std::vector<double> widest = WidestFrom(source);
  std::vector<std::pair<double, std::size_t>> by_bandwidth;
  for (std::size_t device = 0; device < widest.size(); ++device) {
    if (device != source) by_bandwidth.emplace_back(widest[device], device);
  }
  std::sort(by_bandwidth.begin(), by_bandwidth.end());
  std::vector<Route> routes(widest.size());
  std::vector<Picoseconds> latencies;
  for (std::size_t i = 0; i < by_bandwidth.size(); ++i) {
    const auto& [bandwidth, device] = by_bandwidth[i];
    if (i == 0 || bandwidth != by_bandwidth[i - 1].first) latencies = LatenciesFrom(source, bandwidth);
    routes[device] = {bandwidth, latencies[device]};
  }
  for (const auto& [device, link] : WidestLinksFrom(source)) routes[device] = link;
  return routes;
}

std::map<std::size_t, Route> Router::WidestLinksFrom(std::size_t source) const {
  const auto is_better = [](const Route& a, const Route& b) {
    return std::pair(-a.bandwidth_bytes_per_second, a.latency) < std::pair(-b.bandwidth_bytes_per_second, b.latency);
  };
  std::map<std::size_t, Route> links;
  for (const Neighbour& neighbour : neighbours_[source]) {
    const Route link{neighbour.bandwidth_bytes_per_second, neighbour.latency};
    const auto [known, is_new] = links.try_emplace(neighbour.device, link);
    if (!is_new && is_better(link, known->second)) known->second = link;
  }
  return links;
}

namespace {

// Links, latency, negated bandwidth.
using ShortestLabel = std::tuple<int32_t, Picoseconds, double>;
constexpr ShortestLabel kStart{0, Picoseconds(0), -kNoLimit};
constexpr ShortestLabel kUnreached{std::numeric_limits<int32_t>::max(), kNever, 0.0};

template <typename Neighbour>
ShortestLabel ByLink(const ShortestLabel& label, const Neighbour& link) {
  const auto& [links, latency, bandwidth] = label;
  return {links + 1, Longer(latency, link.latency), std::max(bandwidth, -link.bandwidth_bytes_per_second)};
}

}  // namespace

std::vector<Route> Router::ShortestRoutesFrom(std::size_t source) const {
  const std::vector<ShortestLabel> labels = LeastLabels(neighbours_, source, kStart, kUnreached, ByLink<Neighbour>);
  std::vector<Route> routes(labels.size());
  for (std::size_t device = 0; device < labels.size(); ++device) {
    if (device != source) routes[device] = {-std::get<2>(labels[device]), std::get<1>(labels[device])};
  }
  return routes;
}

template <typename IsOnWay>
std::vector<DeviceId> Router::WayBack(std::size_t source, std::size_t destination, const IsOnWay& is_on_way) const {
  std::vector<DeviceId> way = {DeviceId(destination)};
  for (std::size_t device = destination; device != source; way.emplace_back(device)) {
    std::size_t before = neighbours_.size();
    for (const Neighbour& neighbour : neighbours_[device]) {
      if (neighbour.device < before && is_on_way(neighbour, device)) before = neighbour.device;
    }
    device = before;
  }
  std::reverse(way.begin(), way.end());
  return way;
}

std::vector<DeviceId> Router::WayBetween(DeviceId source, DeviceId destination) const {
  const std::size_t from = source.index();
  const std::size_t to = destination.index();
  if (WidestLinksFrom(from).contains(to)) return {source, destination};
  if (routing_ == LinksInterconnect::Routing::kShortestPath) {
    const std::vector<ShortestLabel> labels = LeastLabels(neighbours_, from, kStart, kUnreached, ByLink<Neighbour>);
    return WayBack(from, to, [&](const Neighbour& before, std::size_t device) {
      return ByLink(labels[before.device], before) == labels[device];
    });
  }
  // Latency, links: the latter so that links without latency lead on, too.
  using Label = std::pair<Picoseconds, int32_t>;
  const double widest = WidestFrom(from)[to];
  const Label none{kNever, std::numeric_limits<int32_t>::max()};
  const auto by_link = [&](const Label& label, const Neighbour& link) {
    if (link.bandwidth_bytes_per_second < widest || label == none) return none;
    return Label{Longer(label.first, link.latency), label.second + 1};
  };
  const std::vector<Label> labels = LeastLabels(neighbours_, from, Label{}, none, by_link);
  return WayBack(from, to, [&](const Neighbour& before, std::size_t device) {
    return labels[device] != none && by_link(labels[before.device], before) == labels[device];
  });
}

}  // namespace planwright
