#include "core/cost/terms/sub_cluster.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

#include "core/base/known.h"
#include "core/cost/terms/transfer.h"
#include "core/model/device_selection.h"
#include "core/topology/routing.h"

namespace planwright {
namespace {

Route RouteOf(const LinkSpeed& speed) { return {Known(speed.bandwidth_bytes_per_second), speed.latency}; }

// One machine whose pairs are connected as they are in `whole`, routes and latencies included: links for all that are
// not as slow as the slowest. REQUIRES: pairs are as fast both ways, the whole has two devices.
NodesInterconnect AllPairs(const Interconnect& whole, std::span<const DeviceId> devices) {
  const Network network(whole);
  const Route slowest = RouteOf(network.SlowestLink());
  NodesInterconnect part{.devices_per_node = static_cast<int32_t>(devices.size()),
                         .links = {},
                         .bandwidth_bytes_per_second = slowest.bandwidth_bytes_per_second,
                         .latency = slowest.latency,
                         .levels = {}};
  for (std::size_t a = 0; a < devices.size(); ++a) {
    for (std::size_t b = a + 1; b < devices.size(); ++b) {
      const Route route = RouteOf(network.speed(network.LinkClassOf(devices[a], devices[b])));
      if (route == slowest) continue;
      part.links.push_back(
          {static_cast<int32_t>(a), static_cast<int32_t>(b), route.bandwidth_bytes_per_second, route.latency});
    }
  }
  return part;
}

}  // namespace

SubCluster::SubCluster(const Cluster& whole, std::vector<DeviceId> devices) : devices_(std::move(devices)) {
  cluster_.display_name = whole.display_name;
  cluster_.device_classes = whole.device_classes;
  for (const DeviceId device : devices_) cluster_.devices.push_back(whole.devices[device.index()]);
  std::optional<Interconnect> interconnect = PartOfInterconnect(whole, devices_);
  cluster_.interconnect = interconnect.has_value() ? *std::move(interconnect) : AllPairs(whole.interconnect, devices_);
}

SubCluster::SubCluster(const Cluster& whole, std::vector<DeviceId> devices, std::span<const DeviceId> alternatives)
    : SubCluster(whole, std::move(devices)) {
  const auto* hierarchy = std::get_if<HierarchyInterconnect>(&whole.interconnect);
  if (hierarchy == nullptr || devices_.size() == alternatives.size()) return;
  cluster_.interconnect = FastestLevel(*hierarchy, alternatives, devices_.size());
}

Placement SubCluster::ToWhole(Placement placement) const {
  for (Placement::Stage& stage : placement.stages) {
    for (DeviceId& device : stage.devices) device = devices_[device.index()];
    for (DeviceId& device : stage.ring) device = devices_[device.index()];
  }
  return placement;
}

std::optional<Placement> SubCluster::ToPart(Placement placement) const {
  const auto move_all = [this](std::vector<DeviceId>& devices) {
    return std::all_of(devices.begin(), devices.end(), [this](DeviceId& device) {
      const std::optional<DeviceId> in_part = ToPart(device);
      if (in_part.has_value()) device = *in_part;
      return in_part.has_value();
    });
  };
  for (Placement::Stage& stage : placement.stages) {
    if (!move_all(stage.devices) || !move_all(stage.ring)) return std::nullopt;
  }
  return placement;
}

std::optional<DeviceId> SubCluster::ToPart(DeviceId device) const {
  const auto found = std::lower_bound(devices_.begin(), devices_.end(), device);
  if (found == devices_.end() || *found != device) return std::nullopt;
  return DeviceId(static_cast<std::size_t>(found - devices_.begin()));
}

}  // namespace planwright
