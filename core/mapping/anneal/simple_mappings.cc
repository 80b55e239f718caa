#include "core/mapping/anneal/simple_mappings.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/base/index.h"
#include "core/mapping/problem/evaluation.h"

namespace planwright {
namespace {

// Lists the vertices replica by replica.
std::vector<std::size_t> AllVertices(const MappingInstance& instance) {
  std::vector<std::size_t> vertices(instance.num_vertices());
  std::iota(vertices.begin(), vertices.end(), std::size_t{0});
  return vertices;
}

// A neighbour of a stage: what crosses in either direction.
struct Neighbour {
  int32_t stage = 0;
  double sent_bytes = 0;
  double received_bytes = 0;
  int32_t sent = 0;
  int32_t received = 0;
};

std::vector<std::vector<Neighbour>> NeighboursByStage(const MappingInstance& instance) {
  std::vector<std::vector<Neighbour>> neighbours(Index(instance.num_stages));
  for (const StageTraffic& traffic : instance.traffic) {
    neighbours[Index(traffic.from)].push_back({traffic.to, traffic.forward_bytes, traffic.backward_bytes,
                                               traffic.forward_transfers, traffic.backward_transfers});
    neighbours[Index(traffic.to)].push_back({traffic.from, traffic.backward_bytes, traffic.forward_bytes,
                                             traffic.backward_transfers, traffic.forward_transfers});
  }
  return neighbours;
}

class GreedyMapper {
 public:
  GreedyMapper(const MappingInstance& instance, const LinkTimes& links, const KindAssignment& kinds,
               const SolveLimits& limits)
      : instance_(instance),
        links_(links),
        limits_(limits),
        neighbours_(NeighboursByStage(instance)),
        room_(kinds.replicas),
        free_(ParticipatingDevices(instance)),
        devices_(instance.num_vertices()),
        work_(instance.num_vertices()),
        allreduce_ms_(Index(instance.num_stages), 0.0) {}

  Mapping Map() && {
    for (int32_t replica = 0; replica < instance_.num_replicas; ++replica) {
      for (int32_t stage = 0; stage < instance_.num_stages; ++stage) Place(stage, replica);
    }
    return {.devices = std::move(devices_), .rings = RingsInReplicaOrder(instance_)};
  }

 private:
  void Place(int32_t stage, int32_t replica) {
    const bool is_stopped = CheckInterruption(limits_).has_value();
    std::optional<std::size_t> best;
    double best_value = 0;
    for (std::size_t place = 0; place < free_.size(); ++place) {
      if (RoomFor(stage, free_[place]) == 0) continue;
      if (is_stopped && best.has_value()) break;
      const double value = ValueAt(stage, replica, free_[place]);
      if (best.has_value() && value >= best_value) continue;
      best = place;
      best_value = value;
    }
    const DeviceId device = free_[*best];
    free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(*best));
    --RoomFor(stage, device);
    Take(stage, replica, device);
  }

  int32_t& RoomFor(int32_t stage, DeviceId device) {
    return room_[Index(stage) * Index(instance_.num_kinds) + Index(instance_.device_kind[device.index()])];
  }

  // What this replica of the stage does on the device for its neighbours so far; `update` gets what each of those does.
  template <typename Update>
  MappedWork WorkAt(int32_t stage, int32_t replica, DeviceId device, Update update) const {
    MappedWork own{.compute_ms = instance_.ComputeMs(stage, device)};
    for (const Neighbour& neighbour : neighbours_[Index(stage)]) {
      // Later stages of the replica are not placed.
      if (neighbour.stage > stage) continue;
      const std::size_t vertex = instance_.VertexOf(neighbour.stage, replica);
      const double sent = links_.Between(device, devices_[vertex]).Of(neighbour.sent_bytes, neighbour.sent);
      const double received = links_.Between(devices_[vertex], device).Of(neighbour.received_bytes, neighbour.received);
      own.out_ms += sent;
      own.in_ms += received;
      MappedWork other = work_[vertex];
      other.in_ms += sent;
      other.out_ms += received;
      update(neighbour.stage, vertex, other);
    }
    return own;
  }

  double AllReduceAt(int32_t stage, int32_t replica, DeviceId device) const {
    double slowest = allreduce_ms_[Index(stage)];
    const auto add = [&](DeviceId from, DeviceId to) {
      slowest = std::max(
          slowest, links_.Between(from, to).Of(instance_.allreduce_bytes[Index(stage)], instance_.allreduce_hops));
    };
    if (replica > 0) add(devices_[instance_.VertexOf(stage, replica - 1)], device);
    if (replica > 0 && replica + 1 == instance_.num_replicas) add(device, devices_[instance_.VertexOf(stage, 0)]);
    return slowest;
  }

  StageTimes TimesOf(const MappedWork& work, double allreduce_ms) const {
    return {.compute_ms = work.compute_ms, .load_ms = work.LoadMs(instance_.overlap), .allreduce_ms = allreduce_ms};
  }

  // The objective of the stages that the placement changes.
  double ValueAt(int32_t stage, int32_t replica, DeviceId device) {
    touched_.clear();
    const MappedWork own = WorkAt(stage, replica, device, [this](int32_t other, std::size_t, const MappedWork& work) {
      touched_.push_back(TimesOf(work, allreduce_ms_[Index(other)]));
    });
    touched_.push_back(TimesOf(own, AllReduceAt(stage, replica, device)));
    return ValueOf(instance_, touched_).value_ms;
  }

  void Take(int32_t stage, int32_t replica, DeviceId device) {
    const std::size_t own = instance_.VertexOf(stage, replica);
    work_[own] = WorkAt(stage, replica, device,
                        [this](int32_t, std::size_t vertex, const MappedWork& work) { work_[vertex] = work; });
    allreduce_ms_[Index(stage)] = AllReduceAt(stage, replica, device);
    devices_[own] = device;
  }

  const MappingInstance& instance_;
  const LinkTimes& links_;
  const SolveLimits& limits_;
  const std::vector<std::vector<Neighbour>> neighbours_;
  // Replicas of a stage that a kind of device still takes.
  std::vector<int32_t> room_;
  std::vector<DeviceId> free_;
  // Devices and work of the vertices placed so far.
  std::vector<DeviceId> devices_;
  std::vector<MappedWork> work_;
  // By stage, over the ring's edges so far.
  std::vector<double> allreduce_ms_;
  std::vector<StageTimes> touched_;
};

}  // namespace

Mapping MapConsecutively(const MappingInstance& instance, const KindAssignment& kinds) {
  std::vector<std::size_t> vertices = AllVertices(instance);
  const std::size_t stages = Index(instance.num_stages);
  std::stable_sort(vertices.begin(), vertices.end(),
                   [stages](std::size_t a, std::size_t b) { return a % stages < b % stages; });
  return {.devices = HandOut(instance, kinds, vertices, ParticipatingDevices(instance)),
          .rings = RingsInReplicaOrder(instance)};
}

Mapping MapReplicasTogether(const MappingInstance& instance, const KindAssignment& kinds) {
  return {.devices = HandOut(instance, kinds, AllVertices(instance), ParticipatingDevices(instance)),
          .rings = RingsInReplicaOrder(instance)};
}

Mapping MapGreedily(const MappingInstance& instance, const LinkTimes& links, const KindAssignment& kinds,
                    const SolveLimits& limits) {
  return GreedyMapper(instance, links, kinds, limits).Map();
}

Mapping MapRandomly(const MappingInstance& instance, const KindAssignment& kinds, RandomStream& random) {
  std::vector<DeviceId> devices = ParticipatingDevices(instance);
  for (std::size_t left = devices.size(); left > 1; --left) std::swap(devices[left - 1], devices[random.Below(left)]);
  return {.devices = HandOut(instance, kinds, AllVertices(instance), devices), .rings = RingsInReplicaOrder(instance)};
}

Mapping BestOfRandom(const MappingInstance& instance, const LinkTimes& links, const KindAssignment& kinds, int count,
                     RandomStream& random) {
  std::optional<std::pair<double, Mapping>> best;
  for (int i = 0; i < count; ++i) {
    Mapping mapping = MapRandomly(instance, kinds, random);
    const double value = Evaluate(instance, links, mapping).value_ms;
    if (!best.has_value() || value < best->first) best.emplace(value, std::move(mapping));
  }
  return std::move(best->second);
}

}  // namespace planwright
