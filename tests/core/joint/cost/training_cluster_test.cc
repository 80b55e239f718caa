#include "core/joint/cost/training_cluster.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "core/zoo/zoo.h"

namespace planwright {
namespace {

TrainingCluster TrainingOf(const Cluster& cluster) {
  std::vector<DeviceId> devices;
  devices.reserve(cluster.devices.size());
  for (std::size_t i = 0; i < cluster.devices.size(); ++i) devices.emplace_back(i);
  return MakeTrainingCluster(cluster, devices, 0).value();
}

TEST(TrainingClusterTest, DevicesOfANodeShareItsPorts) {
  Cluster cluster = MakeZooCluster("dgx-a100:4").value();
  EXPECT_DOUBLE_EQ(TrainingOf(cluster).between.bytes_per_second, 24e9);
  auto& levels = std::get<HierarchyInterconnect>(cluster.interconnect).levels;
  levels[1].port_bandwidth_bytes_per_second = 48e9;
  EXPECT_DOUBLE_EQ(TrainingOf(cluster).between.bytes_per_second, 6e9);
  levels[1].port_bandwidth_bytes_per_second = 1e12;
  EXPECT_DOUBLE_EQ(TrainingOf(cluster).between.bytes_per_second, 24e9);
}

TEST(TrainingClusterTest, ADeviceHasAPortOfItsOwnInsideItsNode) {
  Cluster cluster = MakeZooCluster("dgx-a100:4").value();
  const double inside = TrainingOf(cluster).inside.bytes_per_second;
  auto& levels = std::get<HierarchyInterconnect>(cluster.interconnect).levels;
  levels[0].port_bandwidth_bytes_per_second = 2 * inside;
  EXPECT_DOUBLE_EQ(TrainingOf(cluster).inside.bytes_per_second, inside);
  levels[0].port_bandwidth_bytes_per_second = 10e9;
  EXPECT_DOUBLE_EQ(TrainingOf(cluster).inside.bytes_per_second, 10e9);
  EXPECT_DOUBLE_EQ(TrainingOf(cluster).between.bytes_per_second, 10e9);
}

TEST(TrainingClusterTest, NodesOfARackShareAnOversubscribedLevel) {
  Cluster cluster = MakeZooCluster("fat-tree:2").value();
  auto& levels = std::get<HierarchyInterconnect>(cluster.interconnect).levels;
  // A rack has 32 devices.
  levels[2].port_bandwidth_bytes_per_second = 320e9;
  EXPECT_DOUBLE_EQ(TrainingOf(cluster).between.bytes_per_second, 10e9);
}

TEST(TrainingClusterTest, RacksAndPodsAreGroupsWhereTheyAreCloser) {
  const TrainingCluster alike = TrainingOf(MakeZooCluster("fat-tree:2?tier_us=0").value());
  EXPECT_TRUE(alike.groups.empty());
  // Four nodes in a rack, four racks in a pod.
  const TrainingCluster tree = TrainingOf(MakeZooCluster("fat-tree:2?taper=2").value());
  ASSERT_EQ(tree.groups.size(), 2U);
  EXPECT_EQ(tree.node_span, 8);
  EXPECT_EQ(tree.groups[0].nodes, 4);
  EXPECT_DOUBLE_EQ(tree.groups[0].link.bytes_per_second, 24e9);
  EXPECT_EQ(tree.groups[1].nodes, 16);
  EXPECT_DOUBLE_EQ(tree.groups[1].link.bytes_per_second, 12e9);
  EXPECT_DOUBLE_EQ(tree.between.bytes_per_second, 6e9);
  EXPECT_EQ(tree.LeastTier(1), 0);
  EXPECT_EQ(tree.LeastTier(4), 1);
  EXPECT_EQ(tree.LeastTier(5), 2);
  EXPECT_EQ(tree.LeastTier(17), 3);
  EXPECT_EQ(tree.num_tiers(), 4);
}

TEST(TrainingClusterTest, MachinesHavePortsToo) {
  Cluster cluster = MakeZooCluster("dgx1-mesh:2").value();
  std::get<NodesInterconnect>(cluster.interconnect).levels[0].port_bandwidth_bytes_per_second = 48e9;
  EXPECT_DOUBLE_EQ(TrainingOf(cluster).between.bytes_per_second, 6e9);
}

std::vector<std::pair<int32_t, int32_t>> NodesOf(const TrainingCluster& cluster) {
  std::vector<std::pair<int32_t, int32_t>> nodes;
  for (const TrainingClass& part : cluster.classes) nodes.emplace_back(part.nodes, part.devices_per_node);
  return nodes;
}

TEST(TrainingClusterTest, NodesOfUnlikeSizesAreClasses) {
  const Cluster cluster = MakeZooCluster("dgx-a100:4").value();
  std::vector<DeviceId> devices;
  for (std::size_t i = 3; i < cluster.devices.size(); ++i) devices.emplace_back(i);
  const TrainingCluster training = MakeTrainingCluster(cluster, devices, 0).value();
  EXPECT_EQ(NodesOf(training), (std::vector<std::pair<int32_t, int32_t>>{{3, 8}, {1, 5}}));
  EXPECT_EQ(training.devices.front(), DeviceId(8));
  EXPECT_EQ(training.devices.back(), DeviceId(7));
}

// Six nodes that reserve 0, 1, 2, 3, 12 and 30 GiB: four levels, divided where they are furthest apart.
TEST(TrainingClusterTest, NodesWithLessMemoryAreClassesBehindTheOthers) {
  constexpr int64_t kGiB = int64_t{1} << 30;
  Cluster cluster = MakeZooCluster("dgx-a100:6").value();
  const std::vector<int64_t> reserved = {2, 30, 0, 3, 12, 1};
  for (std::size_t device = 0; device < cluster.devices.size(); ++device) {
    cluster.devices[device].reserved_memory_bytes = reserved[device / 8] * kGiB;
  }
  const int64_t whole = UsableMemoryBytes(cluster, DeviceId(16)).value();
  const TrainingCluster levels = TrainingOf(cluster);
  ASSERT_EQ(NodesOf(levels), (std::vector<std::pair<int32_t, int32_t>>{{1, 8}, {3, 8}, {1, 8}, {1, 8}}));
  EXPECT_EQ(levels.devices.front(), DeviceId(16));
  EXPECT_EQ(levels.devices[8], DeviceId(0));
  EXPECT_EQ(levels.classes[1].memory_bytes, whole - 3 * kGiB);
  EXPECT_EQ(levels.classes[1].most_memory_bytes, whole - 1 * kGiB);
  EXPECT_EQ(levels.classes[3].memory_bytes, whole - 30 * kGiB);
  EXPECT_TRUE(HasUnlikeMemory(levels));
  const TrainingCluster least = WithLikeMemory(levels, AssumedMemory::kLeast);
  EXPECT_EQ(NodesOf(least), (std::vector<std::pair<int32_t, int32_t>>{{6, 8}}));
  EXPECT_EQ(least.classes[0].memory_bytes, whole - 30 * kGiB);
  EXPECT_EQ(least.devices.front(), DeviceId(0));
  EXPECT_EQ(RowsOf(levels).size(), 3U);
  for (const TrainingCluster& row : BestRowsOf(levels)) {
    for (const TrainingClass& part : row.classes) EXPECT_EQ(part.memory_bytes, whole);
  }
}

TEST(TrainingClusterTest, BlocksTakeAsManyDevicesOfEachNodeAsCanBe) {
  const auto per_node = [](int32_t node, const Degrees& block) {
    return TrainingClass{.device_class = DeviceClassId(0), .nodes = 9, .devices_per_node = node}.PerNodeOf(block);
  };
  // Inside of one.
  EXPECT_EQ(per_node(8, {.data = 5}), 8);
  EXPECT_EQ(per_node(8, {.data = 8}), 8);
  // 6 and 6 of two, 7, 7 and 6 of three.
  EXPECT_EQ(per_node(8, {.data = 12}), 6);
  EXPECT_EQ(per_node(8, {.data = 20}), 7);
  // Pairs, and pairs of pairs, stay together where they can: 8, 8 and 4; 6, 6 and 4; 4 and 2; 6, 6 and 2.
  EXPECT_EQ(per_node(8, {.tensor = 2, .data = 10}), 8);
  EXPECT_EQ(per_node(7, {.tensor = 2, .data = 8}), 6);
  EXPECT_EQ(per_node(5, {.tensor = 2, .data = 3}), 4);
  EXPECT_EQ(per_node(6, {.tensor = 2, .context = 7}), 6);
  // They do not on nodes of 5 that are full; groups larger than a node never do.
  EXPECT_EQ(per_node(5, {.tensor = 2, .data = 10}), 5);
  EXPECT_EQ(per_node(4, {.tensor = 6}), 3);
}

// Each order once, with the devices of its classes; nodes of one class of devices stay together.
TEST(TrainingClusterTest, OfThreeClassesEachMayComeFirst) {
  TrainingCluster training{.classes = {}, .devices = {}, .inside = {}, .between = {}};
  const std::vector<int32_t> class_of = {7, 7, 5, 9};
  for (std::size_t i = 0; i < class_of.size(); ++i) {
    training.classes.push_back(
        {.device_class = DeviceClassId(class_of[i]), .nodes = 1, .devices_per_node = static_cast<int32_t>(i) + 1});
    training.devices.insert(training.devices.end(), i + 1, DeviceId(static_cast<int32_t>(i)));
  }
  std::set<std::vector<int32_t>> orders;
  for (const TrainingCluster& order : OrdersOf(training)) {
    std::vector<int32_t> classes;
    std::size_t slot = 0;
    for (const TrainingClass& part : order.classes) {
      classes.push_back(static_cast<int32_t>(part.device_class.index()));
      for (int32_t i = 0; i < part.devices_per_node; ++i) {
        EXPECT_EQ(order.devices[slot++], DeviceId(part.devices_per_node - 1));
      }
    }
    EXPECT_EQ(slot, order.devices.size());
    EXPECT_TRUE(orders.insert(classes).second);
  }
  EXPECT_EQ(orders, (std::set<std::vector<int32_t>>{
                        {7, 7, 5, 9}, {9, 5, 7, 7}, {5, 7, 7, 9}, {9, 7, 7, 5}, {7, 7, 9, 5}, {5, 9, 7, 7}}));
  training.classes.push_back({.device_class = DeviceClassId(1), .nodes = 1, .devices_per_node = 1});
  training.devices.emplace_back(0);
  EXPECT_EQ(OrdersOf(training).size(), 2U);
}

// One device with less makes its node as small, but not what bounds speak of.
TEST(TrainingClusterTest, TheBestRowsHaveTheMostThatAnyDeviceHas) {
  Cluster cluster = MakeZooCluster("dgx-a100:1").value();
  cluster.devices[3].reserved_memory_bytes = int64_t{1} << 30;
  const TrainingCluster training = TrainingOf(cluster);
  EXPECT_EQ(training.classes[0].memory_bytes, UsableMemoryBytes(cluster, DeviceId(3)).value());
  EXPECT_TRUE(HasUnlikeMemory(training));
  EXPECT_EQ(RowsOf(training).size(), 1U);
  ASSERT_EQ(BestRowsOf(training).size(), 1U);
  EXPECT_EQ(BestRowsOf(training)[0].classes[0].memory_bytes, UsableMemoryBytes(cluster, DeviceId(0)).value());
}

TEST(TrainingClusterTest, FirstDevicesAreAsManyAsAreAskedFor) {
  const TrainingCluster all = TrainingOf(MakeZooCluster("dgx-a100:4").value());
  EXPECT_EQ(NodesOf(FirstDevices(all, 5)), (std::vector<std::pair<int32_t, int32_t>>{{1, 5}}));
  EXPECT_EQ(NodesOf(FirstDevices(all, 16)), (std::vector<std::pair<int32_t, int32_t>>{{2, 8}}));
  const TrainingCluster part = FirstDevices(all, 19);
  EXPECT_EQ(NodesOf(part), (std::vector<std::pair<int32_t, int32_t>>{{2, 8}, {1, 3}}));
  EXPECT_EQ(part.devices.size(), 19U);
  EXPECT_EQ(NodesOf(FirstDevices(part, 18)), (std::vector<std::pair<int32_t, int32_t>>{{2, 8}, {1, 2}}));
  EXPECT_EQ(FirstDevices(all, 100).devices.size(), 32U);
}

TEST(TrainingClusterTest, EachClassOfAMixedNodeHasItsPart) {
  Cluster cluster = MakeZooCluster("dgx-a100:2").value();
  cluster.device_classes.push_back(cluster.device_classes.front());
  cluster.device_classes.back().name = "other";
  for (std::size_t i = 5; i < 8; ++i) cluster.devices[i].device_class = DeviceClassId(1);
  const TrainingCluster training = TrainingOf(cluster);
  EXPECT_EQ(NodesOf(training), (std::vector<std::pair<int32_t, int32_t>>{{1, 8}, {1, 5}, {1, 3}}));
  EXPECT_EQ(training.classes.back().device_class, DeviceClassId(1));
}

}  // namespace
}  // namespace planwright
