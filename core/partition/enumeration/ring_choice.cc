#include "core/partition/enumeration/ring_choice.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>
#include <utility>

#include "core/base/known.h"
#include "core/cost/terms/transfer.h"

namespace planwright {
namespace {

// A ring through all vertices from vertex 0 on; `neighbours` as bits, by vertex. nullopt: there is none.
std::optional<std::vector<std::size_t>> RingThrough(const std::vector<uint32_t>& neighbours) {
  const std::size_t n = neighbours.size();
  const uint32_t all = (uint32_t{1} << n) - 1;
  // By the vertices of a path from vertex 0: those where it can end.
  std::vector<uint32_t> ends(std::size_t{all} + 1);
  ends[1] = 1;
  for (uint32_t visited = 3; visited <= all; visited += 2) {
    for (std::size_t last = 1; last < n; ++last) {
      const uint32_t bit = uint32_t{1} << last;
      if ((visited & bit) != 0 && (ends[visited ^ bit] & neighbours[last]) != 0) ends[visited] |= bit;
    }
  }
  uint32_t closing = ends[all] & neighbours[0];
  if (closing == 0) return std::nullopt;
  std::vector<std::size_t> ring;
  for (uint32_t visited = all; visited != 1;) {
    ring.push_back(static_cast<std::size_t>(std::countr_zero(closing)));
    visited ^= uint32_t{1} << ring.back();
    closing = ends[visited] & neighbours[ring.back()];
  }
  ring.push_back(0);
  std::reverse(ring.begin(), ring.end());
  return ring;
}

bool IsNoSlower(const LinkSpeed& a, const LinkSpeed& b) {
  return a.bandwidth_bytes_per_second >= b.bandwidth_bytes_per_second && a.latency <= b.latency;
}

}  // namespace

RingChoice::Ring RingChoice::BestRing(const std::vector<DeviceId>& team, int64_t parameter_bytes) {
  const auto replicas = static_cast<int32_t>(team.size());
  const auto time_at = [&](const LinkSpeed& speed) {
    return AllReduceTime(parameter_bytes, replicas, speed, allreduce_.factor);
  };
  if (allreduce_.ring == AllReduce::Ring::kIndex) return {team, time_at(RingSpeed(network_, team))};
  std::vector<DeviceId> ascending = team;
  std::sort(ascending.begin(), ascending.end());
  if (network_.num_link_classes() == 1 || team.size() < 4) {
    const Picoseconds time = time_at(RingSpeed(network_, ascending));
    return {std::move(ascending), time};
  }
  const Candidate* best = nullptr;
  for (const Candidate& candidate : CandidatesOf(std::move(ascending))) {
    if (best == nullptr || time_at(candidate.speed) < time_at(best->speed)) best = &candidate;
  }
  return {best->order, time_at(best->speed)};
}

const std::vector<RingChoice::Candidate>& RingChoice::CandidatesOf(std::vector<DeviceId> ascending) {
  const auto [found, is_new] = candidates_.try_emplace(std::move(ascending));
  std::vector<Candidate>& candidates = found->second;
  if (!is_new) return candidates;
  const std::vector<DeviceId>& devices = found->first;
  std::set<double> bandwidths;
  std::set<Picoseconds> latencies;
  for (std::size_t link_class = 0; link_class < network_.num_link_classes(); ++link_class) {
    bandwidths.insert(Known(network_.speed(link_class).bandwidth_bytes_per_second));
    latencies.insert(network_.speed(link_class).latency);
  }
  for (auto bandwidth = bandwidths.rbegin(); bandwidth != bandwidths.rend(); ++bandwidth) {
    for (const Picoseconds latency : latencies) {
      const LinkSpeed threshold{*bandwidth, latency};
      const auto beats = [&](const Candidate& candidate) { return IsNoSlower(candidate.speed, threshold); };
      if (std::any_of(candidates.begin(), candidates.end(), beats)) continue;
      std::vector<uint32_t> neighbours(devices.size());
      for (std::size_t a = 0; a < devices.size(); ++a) {
        for (std::size_t b = 0; b < devices.size(); ++b) {
          if (a == b) continue;
          const LinkSpeed& link = network_.speed(network_.LinkClassOf(devices[a], devices[b]));
          if (IsNoSlower(link, threshold)) neighbours[a] |= uint32_t{1} << b;
        }
      }
      const std::optional<std::vector<std::size_t>> ring = RingThrough(neighbours);
      if (!ring.has_value()) continue;
      Candidate& candidate = candidates.emplace_back();
      for (const std::size_t position : *ring) candidate.order.push_back(devices[position]);
      candidate.speed = RingSpeed(network_, candidate.order);
    }
  }
  return candidates;
}

}  // namespace planwright
