#include "core/mapping/problem/ring_order.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "core/mapping/problem/evaluation.h"
#include "tests/reference/mapping/mapping_checks.h"
#include "tests/support/mapping_cases.h"

namespace planwright {
namespace {

// A stage of `replicas` replicas on a torus of one dimension.
MappingInstance OnCycle(int32_t replicas) {
  return {.replicas = StageReplicas(1, replicas),
          .device_kind = std::vector<int32_t>(Index(replicas), 0),
          .compute_ms = {1},
          .allreduce_bytes = {1e6},
          .network = Network(GridInterconnect{.dimensions = {replicas},
                                              .wrap_around = true,
                                              .link_bandwidth_bytes_per_second = 1e9,
                                              .non_adjacent = GridInterconnect::NonAdjacent::kDividedByHops})};
}

TEST(RingOrderTest, GoesAroundACycle) {
  const MappingInstance instance = OnCycle(6);
  Mapping mapping{.devices = {}, .rings = RingsInReplicaOrder(instance)};
  for (const std::size_t device : {0U, 3U, 1U, 5U, 4U, 2U}) mapping.devices.emplace_back(device);
  const LinkTimes links(instance.network, instance.num_devices());
  EXPECT_EQ(AllReduceMs(instance, links, OrderRings(instance, links, SolveLimits(), mapping), 0), 1);
}

TEST(RingOrderTest, MendsWhatTheNearestNeighbourLeavesToTheEnd) {
  // The way 0, 1, 2, 3 is fast, but so is 0, 1, 3, 2, 0, and only that has a fast end.
  MatrixInterconnect matrix{.bandwidth_bytes_per_second = std::vector<double>(16, 1e9), .latency = Picoseconds(0)};
  const auto set = [&](std::size_t a, std::size_t b, double bandwidth) {
    matrix.bandwidth_bytes_per_second[a * 4 + b] = matrix.bandwidth_bytes_per_second[b * 4 + a] = bandwidth;
  };
  set(0, 1, 9e9);
  set(1, 2, 8e9);
  set(2, 3, 9e9);
  set(1, 3, 5e9);
  set(0, 2, 5e9);
  MappingInstance instance = OnCycle(4);
  instance.network = Network(matrix);
  const Mapping mapping{.devices = {DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(3)}, .rings = {{0, 3, 1, 2}}};
  const LinkTimes links(instance.network, instance.num_devices());
  EXPECT_DOUBLE_EQ(AllReduceMs(instance, links, OrderRings(instance, links, SolveLimits(), mapping), 0), 0.2);
}

TEST(RingOrderTest, LeavesRingsInReplicaOrderWhereTheyMustBe) {
  MappingInstance instance = OnCycle(4);
  instance.free_ring_order = false;
  const Mapping mapping{.devices = {DeviceId(0), DeviceId(2), DeviceId(1), DeviceId(3)}, .rings = {{0, 1, 2, 3}}};
  EXPECT_EQ(OrderRings(instance, LinkTimes(instance.network, 4), SolveLimits(), mapping), mapping);
}

TEST(RingOrderTest, NeverWorsens) {
  RandomStream random(1);
  for (uint64_t i = 0; i < 300; ++i) {
    SCOPED_TRACE(i);
    const MappingInstance instance = MakeRandomMappingInstance(24, random);
    const std::optional<Mapping> mapping = MakeRandomMapping(instance, random);
    if (!mapping.has_value()) continue;
    const LinkTimes links(instance.network, instance.num_devices());
    const Mapping ordered = OrderRings(instance, links, SolveLimits(), *mapping);
    ASSERT_TRUE(IsMapping(instance, ordered));
    EXPECT_EQ(ordered.devices, mapping->devices);
    for (std::size_t stage = 0; stage < ordered.rings.size(); ++stage) {
      const auto id = static_cast<int32_t>(stage);
      EXPECT_LE(AllReduceMs(instance, links, ordered, id), AllReduceMs(instance, links, *mapping, id));
    }
  }
}

}  // namespace
}  // namespace planwright
