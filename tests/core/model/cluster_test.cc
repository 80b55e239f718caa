#include "core/model/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/small_models.h"

namespace planwright {
namespace {

TEST(ClusterTest, InterconnectNamesAreThoseOfTheWire) {
  EXPECT_EQ(InterconnectName(HostStagedInterconnect()), "host_staged");
  EXPECT_EQ(InterconnectName(UniformInterconnect()), "uniform");
  EXPECT_EQ(InterconnectName(HierarchyInterconnect()), "hierarchy");
  EXPECT_EQ(InterconnectName(GridInterconnect()), "grid");
  EXPECT_EQ(InterconnectName(LinksInterconnect()), "links");
  EXPECT_EQ(InterconnectName(MatrixInterconnect()), "matrix");
  EXPECT_EQ(InterconnectName(NodesInterconnect()), "nodes");
}

TEST(ClusterTest, UsableMemoryIsWhatIsNotReserved) {
  Cluster cluster = SmallCluster(1, 1, HostStagedInterconnect(), 100);
  EXPECT_EQ(UsableMemoryBytes(cluster, DeviceId(0)), 100);
  cluster.devices[0].reserved_memory_bytes = 30;
  EXPECT_EQ(UsableMemoryBytes(cluster, DeviceId(0)), 70);
  cluster.devices[0].reserved_memory_bytes = 130;
  EXPECT_EQ(UsableMemoryBytes(cluster, DeviceId(0)), 0);
  EXPECT_EQ(UsableMemoryBytes(cluster, DeviceId(1)), std::nullopt);
}

TEST(ClusterTest, FindsTheClassOfADevice) {
  const Cluster cluster = SmallCluster(1, 1);
  EXPECT_EQ(cluster.class_of(DeviceId(0)).name, kAcceleratorClass);
  EXPECT_EQ(cluster.class_of(cluster.devices[1]).name, kCpuClass);
}

}  // namespace
}  // namespace planwright
