#include "core/verify/joint/machines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace planwright::verify {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// `of_class`: the class of each device, by number.
Cluster ClusterOf(Interconnect interconnect, const std::vector<std::size_t>& of_class) {
  Cluster cluster;
  cluster.device_classes.resize(2);
  for (const std::size_t device_class : of_class) {
    cluster.devices.emplace_back().device_class = DeviceClassId(device_class);
  }
  cluster.interconnect = std::move(interconnect);
  return cluster;
}

std::vector<DeviceId> Ids(const std::vector<std::size_t>& numbers) {
  std::vector<DeviceId> ids;
  for (const std::size_t number : numbers) ids.emplace_back(number);
  return ids;
}

HierarchyInterconnect::Level LevelOf(int32_t fan_out, double bandwidth, int64_t latency_ps) {
  HierarchyInterconnect::Level level;
  level.fan_out = fan_out;
  level.bandwidth_bytes_per_second = bandwidth;
  level.latency = Picoseconds(latency_ps);
  return level;
}

// Pods of two racks of one node of two devices.
Interconnect Tree() {
  HierarchyInterconnect tree;
  tree.levels = {LevelOf(2, 100, 1), LevelOf(1, 1, 9), LevelOf(2, 40, 5), LevelOf(2, 60, 3)};
  return tree;
}

TEST(MachinesTest, DevicesReachEachOtherByTheLeastRingThatHoldsThem) {
  const Cluster cluster = ClusterOf(Tree(), std::vector<std::size_t>(8, 0));
  const Machines machines(cluster);
  EXPECT_EQ(machines.NodeOf(DeviceId(0)), 0);
  EXPECT_EQ(machines.NodeOf(DeviceId(5)), 2);
  EXPECT_EQ(machines.RingOf(Ids({0})), 0U);
  EXPECT_EQ(machines.RingOf(Ids({2, 3})), 0U);
  EXPECT_EQ(machines.RingOf(Ids({1, 2})), 1U);
  EXPECT_EQ(machines.RingOf(Ids({3, 4})), 2U);
  EXPECT_EQ(machines.RingOf(Ids({0, 1, 7})), 2U);
}

TEST(MachinesTest, ALevelIsNoFasterThanWhatIsBelowIt) {
  const Cluster cluster = ClusterOf(Tree(), std::vector<std::size_t>(8, 0));
  const Machines machines(cluster);
  EXPECT_EQ(machines.LinkOf(0), (MachineLink{100, 1}));
  // The level of one rack per pod joins nothing.
  EXPECT_EQ(machines.LinkOf(1), (MachineLink{40, 5}));
  EXPECT_EQ(machines.LinkOf(2), (MachineLink{40, 5}));
}

TEST(MachinesTest, DevicesOfANodeShareItsPort) {
  HierarchyInterconnect tree;
  tree.levels = {LevelOf(2, 100, 1), LevelOf(2, 60, 1)};
  tree.levels[1].port_bandwidth_bytes_per_second = 50;
  const Cluster cluster = ClusterOf(tree, {0, 0, 0, 0});
  EXPECT_EQ(Machines(cluster).LinkOf(1), (MachineLink{25, 1}));
}

TEST(MachinesTest, ADeviceHasAPortOfItsOwnInsideItsNode) {
  HierarchyInterconnect tree;
  tree.levels = {LevelOf(2, 100, 1), LevelOf(2, 60, 1)};
  tree.levels[0].port_bandwidth_bytes_per_second = 50;
  const Cluster cluster = ClusterOf(tree, {0, 0, 0, 0});
  EXPECT_EQ(Machines(cluster).LinkOf(0), (MachineLink{50, 1}));
  EXPECT_EQ(Machines(cluster).LinkOf(1), (MachineLink{50, 1}));
}

TEST(MachinesTest, DevicesOfUnlikeClassesMayBeAnywhere) {
  const Cluster cluster = ClusterOf(Tree(), {0, 1, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(Machines(cluster).RingOf(Ids({0, 1})), 2U);
}

TEST(MachinesTest, AUniformClusterIsOneNode) {
  const Cluster cluster = ClusterOf(UniformInterconnect{7, Picoseconds(2)}, {0, 0, 0});
  const Machines machines(cluster);
  EXPECT_EQ(machines.NodeOf(DeviceId(2)), 0);
  EXPECT_EQ(machines.RingOf(Ids({0, 2})), 0U);
  EXPECT_EQ(machines.LinkOf(0), (MachineLink{7, 2}));
}

TEST(MachinesTest, LinksInsideANodeAreThoseOfItsTableWhereItSaysNothingElse) {
  NodesInterconnect nodes;
  nodes.devices_per_node = 2;
  nodes.bandwidth_bytes_per_second = 0;
  nodes.links.emplace_back();
  nodes.links.back().bandwidth_bytes_per_second = 30;
  nodes.links.back().latency = Picoseconds(4);
  nodes.levels = {LevelOf(2, 10, 6)};
  Cluster cluster = ClusterOf(nodes, {0, 0, 0, 0});
  EXPECT_EQ(Machines(cluster).LinkOf(0), (MachineLink{30, 4}));
  EXPECT_EQ(Machines(cluster).LinkOf(1), (MachineLink{10, 6}));
  nodes.bandwidth_bytes_per_second = 20;
  nodes.latency = Picoseconds(1);
  cluster.interconnect = nodes;
  EXPECT_EQ(Machines(cluster).LinkOf(0), (MachineLink{20, 1}));
}

TEST(MachinesTest, NodeSizesCountUsableDevicesOfEachClassAndNode) {
  const Cluster cluster = ClusterOf(Tree(), {0, 0, 0, 1, 1, 1, 0, 0});
  const auto sizes = Machines(cluster).NodeSizes(Ids({0, 2, 3, 4, 5, 6, 7}));
  EXPECT_THAT(sizes, UnorderedElementsAre(Pair(Pair(DeviceClassId(0), 0), 1), Pair(Pair(DeviceClassId(0), 1), 1),
                                          Pair(Pair(DeviceClassId(1), 1), 1), Pair(Pair(DeviceClassId(1), 2), 2),
                                          Pair(Pair(DeviceClassId(0), 3), 2)));
}

TEST(BothWaysTest, RoundsEachWayUpAndAddsItsLatency) {
  EXPECT_EQ(BothWaysPs(0, {3e12, 5}), 0);
  EXPECT_EQ(BothWaysPs(7, {3e12, 5}), 2 * (3 + 5));
  EXPECT_EQ(BothWaysPs(6, {3e12, 5}), 2 * (2 + 5));
}

TEST(BothWaysTest, WholePicosecondsStayWhole) {
  for (int64_t bytes = 1; bytes <= 100'000; ++bytes) {
    ASSERT_EQ(BothWaysPs(bytes, {1e9, 0}), 2'000 * bytes);
    ASSERT_EQ(BothWaysPs(bytes, {25e9, 7}), 2 * (40 * bytes + 7));
    ASSERT_EQ(BothWaysPs(bytes, {24e9, 0}), 2 * ((125 * bytes + 2) / 3));
  }
}

TEST(BothWaysTest, IsAtMostWhatAnyStepTakes) {
  constexpr int64_t kMost = int64_t{1} << 59;
  EXPECT_EQ(BothWaysPs(int64_t{1} << 62, {1, int64_t{1} << 62}), kMost);
  EXPECT_EQ(BothWaysPs(1'000'000, {0.25, 0}), kMost);
  EXPECT_EQ(BothWaysPs(0, {1, 5}), 0);
}

}  // namespace
}  // namespace planwright::verify
