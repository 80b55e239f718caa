#include "core/mapping/anneal/simple_mappings.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/base/index.h"
#include "core/base/known.h"
#include "core/mapping/problem/evaluation.h"

namespace planwright {
namespace {

class GreedyMapper {
 public:
  GreedyMapper(const MappingInstance& instance, const LinkTimes& links, const KindAssignment& kinds,
               const SolveLimits& limits)
      : instance_(instance),
        links_(links),
        limits_(limits),
        neighbours_(NeighboursOf(instance)),
        room_(kinds.replicas),
        free_(ParticipatingDevices(instance)),
        devices_(instance.num_vertices()),
        work_(instance.num_vertices()),
        allreduce_ms_(Index(instance.num_stages()), 0.0) {}

  Mapping Map() && {
    for (std::size_t vertex = 0; vertex < devices_.size(); ++vertex) Place(vertex);
    return {.devices = std::move(devices_), .rings = RingsInReplicaOrder(instance_)};
  }

 private:
  void Place(std::size_t vertex) {
    const int32_t stage = instance_.StageOf(vertex);
    const bool is_stopped = CheckInterruption(limits_).has_value();
    std::optional<std::size_t> best;
    double best_value = 0;
    for (std::size_t place = 0; place < free_.size(); ++place) {
      if (RoomFor(stage, free_[place]) == 0) continue;
      if (is_stopped && best.has_value()) break;
      const double value = ValueAt(vertex, free_[place]);
      if (best.has_value() && value >= best_value) continue;
      best = place;
      best_value = value;
    }
    const auto chosen = free_.begin() + static_cast<std::ptrdiff_t>(Known(best));
    const DeviceId device = *chosen;
    free_.erase(chosen);
    --RoomFor(stage, device);
    Take(vertex, device);
  }

  int32_t& RoomFor(int32_t stage, DeviceId device) {
    return room_[Index(stage) * Index(instance_.num_kinds) + Index(instance_.device_kind[device.index()])];
  }

  // What the replica does on the device for its neighbours so far; `update` gets what each of those does.
  template <typename Update>
  MappedWork WorkAt(std::size_t vertex, DeviceId device, Update update) const {
    MappedWork own{.compute_ms = instance_.ComputeMs(instance_.StageOf(vertex), device)};
    for (const ReplicaNeighbour& neighbour : neighbours_[vertex]) {
      const std::size_t met = Index(neighbour.vertex);
      // Later ones are not placed.
      if (met > vertex) continue;
      const StageTraffic& traffic = instance_.traffic[Index(neighbour.traffic)];
      const LinkTime& out = links_.Between(device, devices_[met]);
      const LinkTime& in = links_.Between(devices_[met], device);
      const double sent = neighbour.sends_forward ? out.Of(traffic.forward_bytes, traffic.forward_transfers)
                                                  : out.Of(traffic.backward_bytes, traffic.backward_transfers);
      const double received = neighbour.sends_forward ? in.Of(traffic.backward_bytes, traffic.backward_transfers)
                                                      : in.Of(traffic.forward_bytes, traffic.forward_transfers);
      own.out_ms += sent;
      own.in_ms += received;
      MappedWork other = work_[met];
      other.in_ms += sent;
      other.out_ms += received;
      update(met, other);
    }
    return own;
  }

  double AllReduceAt(std::size_t vertex, DeviceId device) const {
    const int32_t stage = instance_.StageOf(vertex);
    const int32_t replica = instance_.replicas.ReplicaOf(vertex);
    double slowest = allreduce_ms_[Index(stage)];
    const auto add = [&](DeviceId from, DeviceId to) {
      slowest = std::max(slowest, links_.Between(from, to).Of(instance_.allreduce_bytes[Index(stage)],
                                                              instance_.AllReduceHops(stage)));
    };
    if (replica > 0) add(devices_[instance_.VertexOf(stage, replica - 1)], device);
    if (replica > 0 && replica + 1 == instance_.replicas.Of(stage)) add(device, devices_[instance_.VertexOf(stage, 0)]);
    return slowest;
  }

  StageTimes TimesOf(const MappedWork& work, double allreduce_ms) const {
    return {.compute_ms = work.compute_ms, .load_ms = work.LoadMs(instance_.overlap), .allreduce_ms = allreduce_ms};
  }

  // The objective of the stages that the placement changes.
  double ValueAt(std::size_t vertex, DeviceId device) {
    touched_.clear();
    const MappedWork own = WorkAt(vertex, device, [this](std::size_t met, const MappedWork& work) {
      touched_.push_back(TimesOf(work, allreduce_ms_[Index(instance_.StageOf(met))]));
    });
    touched_.push_back(TimesOf(own, AllReduceAt(vertex, device)));
    return ValueOf(instance_, touched_).value_ms;
  }

  void Take(std::size_t vertex, DeviceId device) {
    work_[vertex] = WorkAt(vertex, device, [this](std::size_t met, const MappedWork& work) { work_[met] = work; });
    allreduce_ms_[Index(instance_.StageOf(vertex))] = AllReduceAt(vertex, device);
    devices_[vertex] = device;
  }

  const MappingInstance& instance_;
  const LinkTimes& links_;
  const SolveLimits& limits_;
  const std::vector<std::vector<ReplicaNeighbour>> neighbours_;
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
  std::vector<std::size_t> vertices = FirstNumbers<std::size_t>(instance.num_vertices());
  std::ranges::stable_sort(vertices, {}, [&](std::size_t vertex) { return instance.StageOf(vertex); });
  return {.devices = HandOut(instance, kinds, vertices, ParticipatingDevices(instance)),
          .rings = RingsInReplicaOrder(instance)};
}

Mapping MapReplicasTogether(const MappingInstance& instance, const KindAssignment& kinds) {
  return {.devices = HandOut(instance, kinds, FirstNumbers<std::size_t>(instance.num_vertices()),
                             ParticipatingDevices(instance)),
          .rings = RingsInReplicaOrder(instance)};
}

Mapping MapGreedily(const MappingInstance& instance, const LinkTimes& links, const KindAssignment& kinds,
                    const SolveLimits& limits) {
  return GreedyMapper(instance, links, kinds, limits).Map();
}

Mapping MapRandomly(const MappingInstance& instance, const KindAssignment& kinds, RandomStream& random) {
  std::vector<DeviceId> devices = ParticipatingDevices(instance);
  for (std::size_t left = devices.size(); left > 1; --left) std::swap(devices[left - 1], devices[random.Below(left)]);
  return {.devices = HandOut(instance, kinds, FirstNumbers<std::size_t>(instance.num_vertices()), devices),
          .rings = RingsInReplicaOrder(instance)};
}

}  // namespace planwright
