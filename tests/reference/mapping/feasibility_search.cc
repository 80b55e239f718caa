#include "tests/reference/mapping/feasibility_search.h"

#include <algorithm>
#include <cmath>

#include "core/base/index.h"
#include "core/base/polling.h"
#include "core/mapping/problem/evaluation.h"
#include "core/mapping/problem/stage_kinds.h"

namespace planwright {

FeasibilitySearch::FeasibilitySearch(const MappingInstance& instance, const LinkTimes& links,
                                     const CheckingScheme& scheme)
    : instance_(instance),
      links_(links),
      scheme_(scheme),
      devices_(ParticipatingDevices(instance)),
      next_(devices_.size() + 1),
      previous_(devices_.size() + 1),
      device_of_(scheme.order.size()),
      place_at_(scheme.order.size()),
      rings_(scheme.order.size()),
      traffic_(Index(instance.num_stages())) {
  for (const StageTraffic& traffic : instance.traffic) {
    traffic_[Index(traffic.from)].push_back(&traffic);
    traffic_[Index(traffic.to)].push_back(&traffic);
  }
}

Feasibility FeasibilitySearch::Search(double target_ms, int64_t max_nodes, const SolveLimits& limits) {
  const std::size_t end = devices_.size();
  for (std::size_t place = 0; place <= end; ++place) {
    next_[place] = place == end ? 0 : place + 1;
    previous_[place] = place == 0 ? end : place - 1;
  }
  Poller poller(limits);
  nodes_ = 0;
  std::size_t position = 0;
  std::size_t place = next_[end];
  while (position < scheme_.order.size()) {
    if (place == end) {
      if (position == 0) return Feasibility::kNone;
      place = place_at_[--position];
      Restore(place);
      place = next_[place];
      continue;
    }
    if (nodes_ == max_nodes || poller.ShouldStop()) return Feasibility::kTimeout;
    ++nodes_;
    if (Fits(position, devices_[place], target_ms)) {
      Take(place);
      place_at_[position++] = place;
      place = next_[end];
    } else {
      place = next_[place];
    }
  }
  return Feasibility::kFound;
}

Mapping FeasibilitySearch::mapping() const { return {.devices = device_of_, .rings = RingsInReplicaOrder(instance_)}; }

bool FeasibilitySearch::Fits(std::size_t position, DeviceId device, double target_ms) {
  const std::size_t vertex = scheme_.order[position];
  if (!std::isfinite(instance_.ComputeMs(instance_.StageOf(vertex), device))) {
    return false;
  }
  device_of_[vertex] = device;
  if (instance_.objective == MappingObjective::kAllReduce) return RingValueMs(position, device) <= target_ms;
  const std::vector<std::size_t>& known = scheme_.loads[position];
  return std::all_of(known.begin(), known.end(),
                     [&](std::size_t other) { return instance_.load_weight * LoadMs(other) <= target_ms; });
}

double FeasibilitySearch::LoadMs(std::size_t vertex) const {
  const std::size_t stage = Index(instance_.StageOf(vertex));
  const std::size_t replica = vertex - stage;
  MappedWork work{.compute_ms = instance_.ComputeMs(static_cast<int32_t>(stage), device_of_[vertex])};
  for (const StageTraffic* traffic : traffic_[stage]) {
    const DeviceId from = device_of_[replica + Index(traffic->from)];
    const DeviceId to = device_of_[replica + Index(traffic->to)];
    const double forward = links_.Between(from, to).Of(traffic->forward_bytes, traffic->forward_transfers);
    const double backward = links_.Between(to, from).Of(traffic->backward_bytes, traffic->backward_transfers);
    const bool sends = Index(traffic->from) == stage;
    work.out_ms += sends ? forward : backward;
    work.in_ms += sends ? backward : forward;
  }
  return work.LoadMs(instance_.overlap);
}

double FeasibilitySearch::RingValueMs(std::size_t position, DeviceId device) {
  const auto stage = instance_.StageOf(scheme_.order[position]);
  const bool is_first = scheme_.ring_edges[position].empty();
  RingTimes ring = is_first ? RingTimes() : rings_[position - 1];
  ring.compute_ms = std::max(ring.compute_ms, instance_.ComputeMs(stage, device));
  for (const auto& [from, to] : scheme_.ring_edges[position]) {
    const LinkTime& link = links_.Between(device_of_[from], device_of_[to]);
    ring.slowest.ms_per_byte = std::max(ring.slowest.ms_per_byte, link.ms_per_byte);
    ring.slowest.latency_ms = std::max(ring.slowest.latency_ms, link.latency_ms);
  }
  rings_[position] = ring;
  const double allreduce_ms = ring.slowest.Of(instance_.allreduce_bytes[Index(stage)], instance_.AllReduceHops(stage));
  return instance_.load_weight * ring.compute_ms + instance_.allreduce_weight * allreduce_ms;
}

void FeasibilitySearch::Take(std::size_t place) {
  next_[previous_[place]] = next_[place];
  previous_[next_[place]] = previous_[place];
}

void FeasibilitySearch::Restore(std::size_t place) {
  next_[previous_[place]] = place;
  previous_[next_[place]] = place;
}

}  // namespace planwright
