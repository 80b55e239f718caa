#include "core/mapping/problem/stage_kinds.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace planwright {
namespace {

// A flow of replicas from stages to kinds, augmented a path at a time.
class KindFlow {
 public:
  KindFlow(const MappingInstance& instance, double limit_ms)
      : instance_(instance), limit_ms_(limit_ms), replicas_(instance.compute_ms.size(), 0) {
    room_.resize(Index(instance.num_kinds), 0);
    for (const int32_t kind : instance.device_kind) {
      if (kind >= 0) ++room_[Index(kind)];
    }
  }

  // Whether all replicas of all stages could be placed.
  bool Fill() {
    for (int32_t stage = 0; stage < instance_.num_stages(); ++stage) {
      int32_t left = instance_.replicas.Of(stage);
      while (left > 0) {
        is_visited_.assign(room_.size(), false);
        const int32_t sent = Send(stage, left);
        if (sent == 0) return false;
        left -= sent;
      }
    }
    return true;
  }

  std::vector<int32_t> TakeReplicas() && { return std::move(replicas_); }

 private:
  std::size_t Cell(int32_t stage, std::size_t kind) const { return Index(stage) * room_.size() + kind; }

  // Places up to `amount` replicas of the stage on one kind, moving replicas of other stages on where it is full.
  int32_t Send(int32_t stage, int32_t amount) {
    for (std::size_t kind = 0; kind < room_.size(); ++kind) {
      if (is_visited_[kind] || !(instance_.compute_ms[Cell(stage, kind)] <= limit_ms_)) continue;
      is_visited_[kind] = true;
      const int32_t made = room_[kind] > 0 ? std::min(amount, room_[kind]) : MakeRoom(kind, amount);
      if (made == 0) continue;
      room_[kind] -= made;
      replicas_[Cell(stage, kind)] += made;
      return made;
    }
    return 0;
  }

  // Moves up to `amount` replicas of one stage away from the kind.
  int32_t MakeRoom(std::size_t kind, int32_t amount) {
    for (int32_t stage = 0; stage < instance_.num_stages(); ++stage) {
      int32_t& here = replicas_[Cell(stage, kind)];
      if (here == 0) continue;
      const int32_t moved = Send(stage, std::min(amount, here));
      if (moved == 0) continue;
      here -= moved;
      room_[kind] += moved;
      return moved;
    }
    return 0;
  }

  const MappingInstance& instance_;
  double limit_ms_;
  // Devices of each kind that nobody has.
  std::vector<int32_t> room_;
  std::vector<int32_t> replicas_;
  std::vector<bool> is_visited_;
};

}  // namespace

std::optional<KindAssignment> AssignKinds(const MappingInstance& instance) {
  std::vector<double> limits;
  for (const double time : instance.compute_ms) {
    if (std::isfinite(time)) limits.push_back(time);
  }
  std::sort(limits.begin(), limits.end());
  const auto first = std::partition_point(limits.begin(), limits.end(),
                                          [&](double limit) { return !KindFlow(instance, limit).Fill(); });
  if (first == limits.end()) return std::nullopt;
  KindFlow flow(instance, *first);
  flow.Fill();
  return KindAssignment{.replicas = std::move(flow).TakeReplicas(), .bottleneck_ms = *first};
}

std::vector<DeviceId> HandOut(const MappingInstance& instance, const KindAssignment& kinds,
                              const std::vector<std::size_t>& vertices, const std::vector<DeviceId>& order) {
  std::vector<int32_t> room = kinds.replicas;
  // By kind: its devices in order, and the next one.
  std::vector<std::vector<std::size_t>> places(Index(instance.num_kinds));
  for (std::size_t place = 0; place < order.size(); ++place) {
    places[Index(instance.device_kind[order[place].index()])].push_back(place);
  }
  std::vector<std::size_t> next(places.size(), 0);
  std::vector<DeviceId> devices(instance.num_vertices());
  for (const std::size_t vertex : vertices) {
    const std::size_t row = Index(instance.StageOf(vertex)) * places.size();
    std::size_t best = order.size();
    std::size_t best_kind = 0;
    for (std::size_t kind = 0; kind < places.size(); ++kind) {
      if (room[row + kind] == 0 || places[kind][next[kind]] >= best) continue;
      best = places[kind][next[kind]];
      best_kind = kind;
    }
    --room[row + best_kind];
    ++next[best_kind];
    devices[vertex] = order[best];
  }
  return devices;
}

std::vector<DeviceId> ParticipatingDevices(const MappingInstance& instance) {
  std::vector<DeviceId> devices;
  for (std::size_t device = 0; device < instance.num_devices(); ++device) {
    if (instance.TakesPart(DeviceId(device))) devices.emplace_back(device);
  }
  return devices;
}

}  // namespace planwright
