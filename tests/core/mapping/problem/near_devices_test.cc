#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/mapping/problem/mapping_tables.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;

NearDevices Near(const MappingInstance& instance) {
  TaskArena arena(2);
  return NearDevices(instance, LinkTimes(instance.network, instance.num_devices()), 1e6, SolveLimits(), arena);
}

TEST(NearDevicesTest, PutsTheFastestFirstAndLeavesOutWhoTakesNoPart) {
  const MappingInstance instance{
      .device_kind = {0, 0, 0, 0, 0, -1},
      .network = Network(HierarchyInterconnect{.levels = {{2, 100e9, {}}, {3, 10e9, {}}}}),
  };
  const NearDevices near = Near(instance);
  EXPECT_THAT(near.Of(DeviceId(0)), ElementsAre(DeviceId(1), DeviceId(2), DeviceId(3), DeviceId(4)));
  EXPECT_THAT(near.Of(DeviceId(3)), ElementsAre(DeviceId(2), DeviceId(4), DeviceId(0), DeviceId(1)));
  EXPECT_TRUE(near.Of(DeviceId(5)).empty());
}

TEST(NearDevicesTest, CountsBothDirections) {
  // To 1 and 2 alike, but only from 2 is the way back fast.
  const MappingInstance instance{
      .device_kind = {0, 0, 0},
      .network = Network(MatrixInterconnect{.bandwidth_bytes_per_second = {1, 5e9, 5e9, 1e9, 1, 1e9, 5e9, 1e9, 1},
                                            .latency = Picoseconds(0)}),
  };
  EXPECT_THAT(Near(instance).Of(DeviceId(0)), ElementsAre(DeviceId(2), DeviceId(1)));
}

TEST(NearDevicesTest, KeepsShortListsOfLargeMachines) {
  constexpr std::size_t kDevices = 2048;
  const MappingInstance instance{
      .device_kind = std::vector<int32_t>(kDevices, 0),
      .network = Network(GridInterconnect{.dimensions = {kDevices},
                                          .wrap_around = true,
                                          .link_bandwidth_bytes_per_second = 1e9,
                                          .non_adjacent = GridInterconnect::NonAdjacent::kDividedByHops}),
  };
  const NearDevices near = Near(instance);
  ASSERT_EQ(near.Of(DeviceId(17)).size(), 512);
  EXPECT_EQ(near.Of(DeviceId(17))[0], DeviceId(18));
  EXPECT_EQ(near.Of(DeviceId(17))[1], DeviceId(16));
}

}  // namespace
}  // namespace planwright
