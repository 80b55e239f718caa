#include "tests/reference/mapping/scotch_static_mapping.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/base/index.h"
#include "core/graph/scotch_graph.h"

namespace planwright {
namespace {

constexpr std::size_t kMaxDevices = 1'024;
// The fastest link of a machine is this long.
constexpr double kShortest = 100;

bool CountsLoads(MappingObjective objective) { return objective != MappingObjective::kAllReduce; }
bool CountsRings(MappingObjective objective) { return objective != MappingObjective::kLoad; }

std::vector<ScotchGraph::Arc> SourceArcs(const MappingInstance& instance) {
  std::map<std::pair<std::size_t, std::size_t>, double> bytes;
  const auto add = [&bytes](std::size_t a, std::size_t b, double amount) {
    if (a == b) return;
    bytes[{a, b}] += amount;
    bytes[{b, a}] += amount;
  };
  for (int32_t replica = 0; replica < instance.replicas.Of(0); ++replica) {
    for (const StageTraffic& traffic : instance.traffic) {
      if (!CountsLoads(instance.objective)) continue;
      add(instance.VertexOf(traffic.from, replica), instance.VertexOf(traffic.to, replica),
          traffic.forward_bytes + traffic.backward_bytes);
    }
    for (int32_t stage = 0; stage < instance.num_stages(); ++stage) {
      if (!CountsRings(instance.objective)) continue;
      add(instance.VertexOf(stage, replica), instance.VertexOf(stage, (replica + 1) % instance.replicas.Of(0)),
          instance.allreduce_bytes[Index(stage)]);
    }
  }
  std::vector<ScotchGraph::Arc> arcs;
  for (const auto& [ends, amount] : bytes) {
    arcs.push_back({static_cast<int32_t>(ends.first), static_cast<int32_t>(ends.second), std::llround(amount)});
  }
  return arcs;
}

// What a megabyte takes between two devices, both directions together.
std::vector<ScotchGraph::Arc> TargetArcs(const LinkTimes& links, const std::vector<DeviceId>& devices) {
  constexpr double kMegabyte = 1e6;
  const auto time = [&](std::size_t a, std::size_t b) {
    return links.Between(devices[a], devices[b]).Of(kMegabyte, 1) +
           links.Between(devices[b], devices[a]).Of(kMegabyte, 1);
  };
  double least = 0;
  for (std::size_t a = 0; a < devices.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) least = least == 0 ? time(a, b) : std::min(least, time(a, b));
  }
  std::vector<ScotchGraph::Arc> arcs;
  for (std::size_t a = 0; a < devices.size(); ++a) {
    for (std::size_t b = 0; b < devices.size(); ++b) {
      const double length = least > 0 && a != b ? kShortest * time(a, b) / least : 1;
      if (a != b) arcs.push_back({static_cast<int32_t>(a), static_cast<int32_t>(b), std::llround(length)});
    }
  }
  return arcs;
}

// The place of each vertex among the devices. Empty: Scotch failed.
std::vector<SCOTCH_Num> PlacesOf(ScotchGraph& source, ScotchGraph& target) {
  if (source.handle() == nullptr || target.handle() == nullptr) return {};
  std::vector<SCOTCH_Num> place_of(source.num_vertices());
  SCOTCH_Arch machine;
  // The machine is bisected by the default.
  SCOTCH_Strat bisection;
  SCOTCH_Strat strategy;
  SCOTCH_archInit(&machine);
  SCOTCH_stratInit(&bisection);
  SCOTCH_stratInit(&strategy);
  const auto num_places = static_cast<SCOTCH_Num>(target.num_vertices());
  const bool is_mapped = SCOTCH_stratGraphMapBuild(&strategy, SCOTCH_STRATQUALITY, num_places, 0.0) == 0 &&
                         SCOTCH_archBuild(&machine, target.handle(), num_places, nullptr, &bisection) == 0 &&
                         SCOTCH_graphMap(source.handle(), &machine, &strategy, place_of.data()) == 0;
  SCOTCH_stratExit(&strategy);
  SCOTCH_stratExit(&bisection);
  SCOTCH_archExit(&machine);
  if (!is_mapped) place_of.clear();
  return place_of;
}

// Gives each vertex the device that Scotch wants for it where that is free and may be taken; then the others one by one
// the first that is left.
class Repair {
 public:
  Repair(const MappingInstance& instance, const KindAssignment& kinds)
      : instance_(instance), room_(kinds.replicas), is_taken_(instance.num_devices(), false) {}

  std::vector<DeviceId> Place(const std::vector<DeviceId>& wanted) {
    std::vector<DeviceId> devices = wanted;
    std::vector<std::size_t> left;
    for (std::size_t vertex = 0; vertex < wanted.size(); ++vertex) {
      if (!Take(vertex, wanted[vertex])) left.push_back(vertex);
    }
    const std::vector<DeviceId> all = ParticipatingDevices(instance_);
    for (const std::size_t vertex : left) {
      devices[vertex] = *std::find_if(all.begin(), all.end(), [&](DeviceId device) { return Take(vertex, device); });
    }
    return devices;
  }

 private:
  bool Take(std::size_t vertex, DeviceId device) {
    int32_t& room = room_[Index(instance_.StageOf(vertex)) * Index(instance_.num_kinds) +
                          Index(instance_.device_kind[device.index()])];
    if (room == 0 || is_taken_[device.index()]) return false;
    --room;
    is_taken_[device.index()] = true;
    return true;
  }

  const MappingInstance& instance_;
  std::vector<int32_t> room_;
  std::vector<bool> is_taken_;
};

}  // namespace

std::optional<Mapping> MapByScotch(const MappingInstance& instance, const LinkTimes& links, const KindAssignment& kinds,
                                   int64_t seed) {
  const std::vector<DeviceId> devices = ParticipatingDevices(instance);
  if (devices.size() > kMaxDevices) return std::nullopt;
  ScotchSession session(seed);
  ScotchGraph source(std::vector<int64_t>(instance.num_vertices(), 1), SourceArcs(instance), session);
  ScotchGraph target(std::vector<int64_t>(devices.size(), 1), TargetArcs(links, devices), session);
  std::vector<DeviceId> wanted;
  for (const SCOTCH_Num place : PlacesOf(source, target)) wanted.push_back(devices[Index(place)]);
  if (wanted.empty()) return std::nullopt;
  return Mapping{.devices = Repair(instance, kinds).Place(wanted), .rings = RingsInReplicaOrder(instance)};
}

}  // namespace planwright
