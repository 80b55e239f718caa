#include "tests/support/mapping_cases.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "core/mapping/problem/evaluation.h"
#include "core/mapping/problem/stage_kinds.h"

namespace planwright {
namespace {

int32_t Small(RandomStream& random, int32_t low, int32_t high) {
  return static_cast<int32_t>(random.Between(low, high));
}

template <typename T>
void Shuffle(std::vector<T>& values, RandomStream& random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.Below(i)]);
}

// 1 .. 20 GB/s: bandwidths repeat.
double Bandwidth(RandomStream& random) { return 1e9 * static_cast<double>(random.Between(1, 20)); }

Picoseconds Latency(RandomStream& random) { return Picoseconds(random.Below(2) == 0 ? 0 : random.Between(1, 500'000)); }

Interconnect MakeMatrix(int32_t devices, bool is_symmetric, RandomStream& random) {
  MatrixInterconnect matrix{.bandwidth_bytes_per_second = {}, .latency = Latency(random)};
  const std::size_t count = Index(devices);
  matrix.bandwidth_bytes_per_second.resize(count * count, 1e9);
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < count; ++b) {
      double& bandwidth = matrix.bandwidth_bytes_per_second[a * count + b];
      bandwidth = is_symmetric && b < a ? matrix.bandwidth_bytes_per_second[b * count + a] : Bandwidth(random);
    }
  }
  return matrix;
}

Interconnect MakeInterconnect(int32_t devices, RandomStream& random) {
  switch (random.Below(5)) {
    case 0:
      return UniformInterconnect{.bandwidth_bytes_per_second = Bandwidth(random), .latency = Latency(random)};
    case 1:
      return HierarchyInterconnect{.levels = {{2, 20e9, Latency(random)}, {(devices + 1) / 2, 2e9, Latency(random)}}};
    case 2:
      return GridInterconnect{.dimensions = {(devices + 1) / 2, 2},
                              .wrap_around = random.Below(2) == 0,
                              .link_bandwidth_bytes_per_second = Bandwidth(random),
                              .latency = Latency(random),
                              .non_adjacent = GridInterconnect::NonAdjacent::kDividedByHops};
    default:
      return MakeMatrix(devices, random.Below(2) == 0, random);
  }
}

void AddTraffic(MappingInstance& instance, RandomStream& random) {
  for (int32_t a = 0; a < instance.num_stages(); ++a) {
    for (int32_t b = a + 1; b < instance.num_stages(); ++b) {
      if (random.Below(3) == 0) continue;
      StageTraffic traffic{.from = a, .to = b, .forward_bytes = 1e6 * static_cast<double>(random.Between(0, 20))};
      traffic.forward_transfers = Small(random, 0, 3);
      if (random.Below(2) == 0) {
        traffic.backward_bytes = 1e6 * static_cast<double>(random.Between(0, 20));
        traffic.backward_transfers = Small(random, 0, 3);
      }
      if (random.Below(2) == 0) std::swap(traffic.from, traffic.to);
      instance.traffic.push_back(traffic);
    }
  }
}

// Tries every device for every vertex from `vertex` on, and at the end every order of every ring.
class BruteForce {
 public:
  explicit BruteForce(const MappingInstance& instance)
      : instance_(instance), links_(instance.network, instance.num_devices()), is_taken_(instance.num_devices()) {
    mapping_.devices.resize(instance.num_vertices());
    mapping_.rings = RingsInReplicaOrder(instance);
  }

  void Place(std::size_t vertex) {
    if (vertex == mapping_.devices.size()) return OrderRings(0);
    for (std::size_t device = 0; device < is_taken_.size(); ++device) {
      const DeviceId id(device);
      const auto stage = instance_.StageOf(vertex);
      if (is_taken_[device] || !instance_.TakesPart(id)) continue;
      if (instance_.ComputeMs(stage, id) == std::numeric_limits<double>::infinity()) continue;
      is_taken_[device] = true;
      mapping_.devices[vertex] = id;
      Place(vertex + 1);
      is_taken_[device] = false;
    }
  }

  std::optional<double> best() const { return best_; }

 private:
  // No objective grows when an all-reduce gets shorter, so each ring is ordered for itself.
  void OrderRings(int32_t stage) {
    if (!instance_.HasRings() || stage == instance_.num_stages() || !instance_.free_ring_order) return Judge();
    std::vector<int32_t>& ring = mapping_.rings[Index(stage)];
    std::iota(ring.begin(), ring.end(), 0);
    std::vector<int32_t> best = ring;
    double least = AllReduceMs(instance_, links_, mapping_, stage);
    while (std::next_permutation(ring.begin() + 1, ring.end())) {
      const double time = AllReduceMs(instance_, links_, mapping_, stage);
      if (time >= least) continue;
      least = time;
      best = ring;
    }
    ring = best;
    OrderRings(stage + 1);
  }

  void Judge() {
    const double value = Evaluate(instance_, links_, mapping_).value_ms;
    if (!best_.has_value() || value < *best_) best_ = value;
  }

  const MappingInstance& instance_;
  LinkTimes links_;
  Mapping mapping_;
  std::vector<bool> is_taken_;
  std::optional<double> best_;
};

}  // namespace

MappingInstance MakeRandomMappingInstance(int32_t max_devices, RandomStream& random) {
  const int32_t devices = Small(random, 1, max_devices);
  MappingInstance instance{.network = Network(MakeInterconnect(devices, random))};
  const int32_t replicas = Small(random, 1, std::min(devices, 4));
  instance.replicas = StageReplicas(Small(random, 1, devices / replicas), replicas);
  instance.num_kinds = Small(random, 1, 2);
  for (int32_t device = 0; device < devices; ++device) {
    instance.device_kind.push_back(random.Below(20) == 0 ? -1 : Small(random, 0, instance.num_kinds - 1));
  }
  for (int32_t i = 0; i < instance.num_stages() * instance.num_kinds; ++i) {
    const bool is_forbidden = instance.num_kinds > 1 && random.Below(8) == 0;
    instance.compute_ms.push_back(is_forbidden ? std::numeric_limits<double>::infinity() : 4 * random.Unit());
  }
  AddTraffic(instance, random);
  for (int32_t stage = 0; stage < instance.num_stages(); ++stage) {
    instance.allreduce_bytes.push_back(1e6 * static_cast<double>(random.Between(0, 40)));
  }
  instance.allreduce_hops.assign(Index(instance.num_stages()), Small(random, 0, 4));
  instance.overlap = static_cast<Overlap>(random.Below(3));
  instance.objective = static_cast<MappingObjective>(random.Below(5));
  instance.load_weight = 0.5 + random.Unit();
  instance.allreduce_weight = 0.5 + random.Unit();
  instance.free_ring_order = random.Below(3) != 0;
  return instance;
}

MappingInstance MakeUnevenMappingInstance(int32_t max_devices, RandomStream& random) {
  MappingInstance instance = MakeRandomMappingInstance(max_devices, random);
  std::vector<int32_t> of_stage;
  for (int32_t stage = 0; stage < instance.num_stages(); ++stage) {
    of_stage.push_back(Small(random, 1, instance.replicas.Of(stage)));
  }
  instance.replicas = StageReplicas(std::move(of_stage));
  return instance;
}

std::optional<Mapping> MakeRandomMapping(const MappingInstance& instance, RandomStream& random) {
  const std::optional<KindAssignment> kinds = AssignKinds(instance);
  if (!kinds.has_value()) return std::nullopt;
  std::vector<std::size_t> vertices(instance.num_vertices());
  std::iota(vertices.begin(), vertices.end(), std::size_t{0});
  Shuffle(vertices, random);
  std::vector<DeviceId> devices = ParticipatingDevices(instance);
  Shuffle(devices, random);
  Mapping mapping{.devices = HandOut(instance, *kinds, vertices, devices), .rings = RingsInReplicaOrder(instance)};
  if (!instance.free_ring_order) return mapping;
  for (std::vector<int32_t>& ring : mapping.rings) Shuffle(ring, random);
  return mapping;
}

std::optional<double> BestValueByBruteForce(const MappingInstance& instance) {
  BruteForce search(instance);
  search.Place(0);
  return search.best();
}

}  // namespace planwright
