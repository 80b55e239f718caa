#include "core/verify/joint/stage_links.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <tuple>
#include <variant>

namespace planwright::verify {
namespace {

using Pairs = std::vector<std::pair<DeviceId, DeviceId>>;

void AddRing(const std::vector<DeviceId>& ring, Pairs& pairs) {
  for (std::size_t i = 1; i < ring.size(); ++i) pairs.emplace_back(ring[i - 1], ring[i]);
  if (ring.size() > 1) pairs.emplace_back(ring.back(), ring.front());
}

}  // namespace

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
