#include "core/mapping/problem/mapping_tables.h"

#include <algorithm>
#include <cmath>

#include "core/mapping/problem/stage_kinds.h"

namespace planwright {
namespace {

// Devices to a task: each takes microseconds.
constexpr std::size_t kGrain = 16;

struct NearCandidate {
  double time_ms = 0;
  std::size_t distance = 0;

  auto operator<=>(const NearCandidate&) const = default;
};

// What an edge carries at least where it matters: enough to tell latency from bandwidth.
double TypicalBytes(const MappingInstance& instance) {
  double bytes = 1;
  for (const StageTraffic& traffic : instance.traffic) {
    bytes = std::max(bytes, traffic.forward_bytes + traffic.backward_bytes);
  }
  for (const double ring_bytes : instance.allreduce_bytes) bytes = std::max(bytes, ring_bytes);
  return bytes;
}

constexpr double kMsPerSecond = 1e3;
constexpr double kMsPerPicosecond = 1e-9;

LinkTime TimeOf(const LinkSpeed& speed) {
  LinkTime time{.latency_ms = static_cast<double>(speed.latency.count()) * kMsPerPicosecond};
  if (speed.bandwidth_bytes_per_second.has_value()) time.ms_per_byte = kMsPerSecond / *speed.bandwidth_bytes_per_second;
  return time;
}

}  // namespace

NearDevices::NearDevices(const MappingInstance& instance, const LinkTimes& links, double bytes,
                         const SolveLimits& limits, TaskArena& arena)
    : count_of_(instance.num_devices(), 0) {
  const std::size_t devices = instance.num_devices();
  if (devices == 0) return;
  per_device_ = std::min(devices, std::max(kTableEntries / devices, kFewest));
  near_.resize(devices * per_device_);
  arena.ParallelFor(devices, kGrain, [&](std::size_t device) {
    const DeviceId here(device);
    if (instance.TakesPart(here) && !CheckInterruption(limits).has_value()) Fill(instance, links, bytes, here);
  });
}

void NearDevices::Fill(const MappingInstance& instance, const LinkTimes& links, double bytes, DeviceId here) {
  const std::size_t devices = instance.num_devices();
  std::vector<NearCandidate> candidates;
  candidates.reserve(devices);
  for (std::size_t distance = 1; distance < devices; ++distance) {
    const DeviceId other((here.index() + distance) % devices);
    if (!instance.TakesPart(other)) continue;
    const double time = links.Between(here, other).Of(bytes, 1) + links.Between(other, here).Of(bytes, 1);
    candidates.push_back({.time_ms = time, .distance = distance});
  }
  const std::size_t count = std::min(candidates.size(), per_device_);
  const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(candidates.begin(), end, candidates.end());
  std::sort(candidates.begin(), end);
  count_of_[here.index()] = count;
  for (std::size_t i = 0; i < count; ++i) {
    near_[here.index() * per_device_ + i] = DeviceId((here.index() + candidates[i].distance) % devices);
  }
}

MappingTables::MappingTables(const MappingInstance& instance, const SolveLimits& limits, TaskArena& arena)
    : instance_(instance),
      links_(std::make_shared<const LinkTimes>(instance.network, instance.num_devices())),
      near_(std::make_shared<const NearDevices>(instance, *links_, TypicalBytes(instance), limits, arena)),
      neighbours_(NeighboursOf(instance)),
      devices_(ParticipatingDevices(instance)) {
  for (const std::vector<ReplicaNeighbour>& of_vertex : neighbours_) num_edges_ += of_vertex.size();
  num_edges_ /= 2;
}

MappingTables::MappingTables(const MappingInstance& instance, const MappingTables& other)
    : instance_(instance),
      links_(other.links_),
      near_(other.near_),
      neighbours_(other.neighbours_),
      num_edges_(other.num_edges_),
      devices_(other.devices_) {}

bool MappingTables::MayRun(int32_t stage, DeviceId device) const {
  return std::isfinite(instance_.ComputeMs(stage, device));
}

LinkTimes::LinkTimes(const Network& network, std::size_t num_devices) : network_(network), num_devices_(num_devices) {
  for (std::size_t link = 0; link < network.num_link_classes(); ++link) times_.push_back(TimeOf(network.speed(link)));
  if (num_devices > kTabledDevices) return;
  classes_.resize(num_devices * num_devices);
  is_symmetric_ = true;
  for (std::size_t a = 0; a < num_devices; ++a) {
    for (std::size_t b = 0; b < num_devices; ++b) {
      if (a == b) continue;
      classes_[a * num_devices + b] = static_cast<uint32_t>(network.LinkClassOf(DeviceId(a), DeviceId(b)));
      if (b < a && classes_[a * num_devices_ + b] != classes_[b * num_devices_ + a]) is_symmetric_ = false;
    }
  }
}

}  // namespace planwright
