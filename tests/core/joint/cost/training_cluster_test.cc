#include "core/joint/cost/training_cluster.h"

#include <gtest/gtest.h>

#include <variant>
#include <vector>

#include "core/zoo/zoo.h"

namespace planwright {
namespace {

TrainingCluster TrainingOf(const Cluster& cluster) {
  std::vector<DeviceId> devices;
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

}  // namespace
}  // namespace planwright
