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

TEST(TrainingClusterTest, MachinesHavePortsToo) {
  Cluster cluster = MakeZooCluster("dgx1-mesh:2").value();
  std::get<NodesInterconnect>(cluster.interconnect).levels[0].port_bandwidth_bytes_per_second = 48e9;
  EXPECT_DOUBLE_EQ(TrainingOf(cluster).between.bytes_per_second, 6e9);
}

}  // namespace
}  // namespace planwright
