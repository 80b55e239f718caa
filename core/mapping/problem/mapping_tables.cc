#include "core/mapping/problem/mapping_tables.h"

#include <algorithm>
#include <cmath>

#include "core/mapping/problem/stage_kinds.h"

namespace planwright {
namespace {

// What an edge carries at least where it matters: enough to tell latency from bandwidth.
double TypicalBytes(const MappingInstance& instance) {
  double bytes = 1;
  for (const StageTraffic& traffic : instance.traffic) {
    bytes = std::max(bytes, traffic.forward_bytes + traffic.backward_bytes);
  }
  for (const double ring_bytes : instance.allreduce_bytes) bytes = std::max(bytes, ring_bytes);
  return bytes;
}

}  // namespace

MappingTables::MappingTables(const MappingInstance& instance, const SolveLimits& limits, TaskArena& arena)
    : instance_(instance),
      links_(std::make_shared<const LinkTimes>(instance.network, instance.num_devices())),
      near_(std::make_shared<const NearDevices>(instance, *links_, TypicalBytes(instance), limits, arena)),
      neighbours_(Index(instance.num_stages)),
      devices_(ParticipatingDevices(instance)) {
  for (std::size_t i = 0; i < instance.traffic.size(); ++i) {
    const StageTraffic& traffic = instance.traffic[i];
    const auto position = static_cast<int32_t>(i);
    neighbours_[Index(traffic.from)].push_back({.traffic = position, .stage = traffic.to, .sends_forward = true});
    neighbours_[Index(traffic.to)].push_back({.traffic = position, .stage = traffic.from, .sends_forward = false});
  }
}

MappingTables::MappingTables(const MappingInstance& instance, const MappingTables& other)
    : instance_(instance),
      links_(other.links_),
      near_(other.near_),
      neighbours_(other.neighbours_),
      devices_(other.devices_) {}

bool MappingTables::MayRun(int32_t stage, DeviceId device) const {
  return std::isfinite(instance_.ComputeMs(stage, device));
}

}  // namespace planwright
