#include "core/planner/devices/device_choices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/small_models.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::vector<DeviceId> Devices(const std::vector<std::size_t>& indices) {
  std::vector<DeviceId> devices;
  for (const std::size_t index : indices) devices.emplace_back(index);
  return devices;
}

TEST(DeviceChoicesTest, CountsAcceleratorsWhereThereAreAny) {
  const Cluster cluster = SmallCluster(2, 2);
  EXPECT_EQ(CountedDevices(cluster, Devices({0, 1, 2, 3})), Devices({0, 1}));
  EXPECT_EQ(CountedDevices(cluster, Devices({2, 3})), Devices({2, 3}));
}

TEST(DeviceChoicesTest, WithoutLimitsTakesEverything) {
  EXPECT_THAT(*DeviceChoices(SmallCluster(2, 1), Devices({0, 2}), {}), ElementsAre(Devices({0, 2})));
}

TEST(DeviceChoicesTest, OfOneClassTakesThoseWithTheMostMemory) {
  Cluster cluster = SmallCluster(4, 0, HostStagedInterconnect(), 100);
  cluster.devices[0].reserved_memory_bytes = 10;
  cluster.devices[2].reserved_memory_bytes = 20;
  const std::vector<DeviceId> all = Devices({0, 1, 2, 3});
  for (const auto& [most, taken] : std::vector<std::pair<int64_t, std::vector<std::size_t>>>{
           {1, {1}}, {2, {1, 3}}, {3, {0, 1, 3}}, {4, {0, 1, 2, 3}}, {9, {0, 1, 2, 3}}}) {
    const std::vector<DeviceLimit> limits = {{all, most}};
    EXPECT_THAT(*DeviceChoices(cluster, all, limits), ElementsAre(Devices(taken)));
  }
}

TEST(DeviceChoicesTest, DividesALimitAmongClasses) {
  const std::vector<DeviceId> all = Devices({0, 1, 2, 3});
  const std::vector<DeviceLimit> limits = {{all, 2}};
  EXPECT_THAT(*DeviceChoices(SmallCluster(3, 1), all, limits), UnorderedElementsAre(Devices({0, 1}), Devices({0, 3})));
}

TEST(DeviceChoicesTest, KeepsSeveralLimits) {
  const std::vector<DeviceId> all = Devices({0, 1, 2, 3, 4});
  const std::vector<DeviceLimit> limits = {{all, 3}, {Devices({0, 1, 2}), 1}};
  EXPECT_THAT(*DeviceChoices(SmallCluster(3, 2), all, limits), ElementsAre(Devices({0, 3, 4})));
}

// Three hosts of four devices.
TEST(DeviceChoicesTest, TakesDevicesOfAHierarchyCloseTogether) {
  const Cluster cluster = SmallCluster(12, 0, HierarchyInterconnect{{{4, 300, {}}, {3, 20, {}}}});
  const std::vector<DeviceId> free = Devices({0, 3, 4, 5, 6, 7, 8, 9, 10});
  for (const auto& [most, taken] :
       std::vector<std::pair<int64_t, std::vector<std::size_t>>>{{1, {0}},
                                                                 {2, {0, 3}},
                                                                 {3, {8, 9, 10}},
                                                                 {4, {4, 5, 6, 7}},
                                                                 {5, {0, 4, 5, 6, 7}},
                                                                 {6, {0, 3, 4, 5, 6, 7}},
                                                                 {7, {4, 5, 6, 7, 8, 9, 10}},
                                                                 {8, {0, 4, 5, 6, 7, 8, 9, 10}}}) {
    const std::vector<DeviceLimit> limits = {{free, most}};
    EXPECT_THAT(*DeviceChoices(cluster, free, limits), ElementsAre(Devices(taken))) << most;
  }
}

TEST(DeviceChoicesTest, NothingIsNoChoice) {
  const std::vector<DeviceId> all = Devices({0, 1});
  const std::vector<DeviceLimit> limits = {{all, 0}};
  EXPECT_THAT(*DeviceChoices(SmallCluster(2), all, limits), IsEmpty());
}

TEST(DeviceChoicesTest, RefusesThousandsOfDivisions) {
  Cluster cluster = SmallCluster(600);
  std::vector<DeviceId> all;
  for (std::size_t i = 0; i < 600; ++i) {
    cluster.devices[i].device_class = DeviceClassId(i % 3);
    all.emplace_back(i);
  }
  cluster.device_classes.resize(3);
  const std::vector<DeviceLimit> limits = {{all, 300}};
  EXPECT_EQ(DeviceChoices(cluster, all, limits).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace planwright
