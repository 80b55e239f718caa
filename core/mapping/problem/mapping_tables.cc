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

}  // namespace planwright
