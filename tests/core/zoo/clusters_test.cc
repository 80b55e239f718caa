#include "core/zoo/clusters.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <variant>

namespace planwright {
namespace {

TEST(ClustersTest, OneDgxIsUniform) {
  for (const Cluster& cluster : {MakeDgx1V100(1), MakeDgxA100(1)}) {
    EXPECT_EQ(cluster.devices.size(), 8U);
    EXPECT_TRUE(std::holds_alternative<UniformInterconnect>(cluster.interconnect)) << cluster.display_name;
  }
}

TEST(ClustersTest, SeveralDgxAreAHierarchyOfEightByNodes) {
  for (const Cluster& cluster : {MakeDgx1V100(3), MakeDgxA100(3)}) {
    const auto* hierarchy = std::get_if<HierarchyInterconnect>(&cluster.interconnect);
    ASSERT_NE(hierarchy, nullptr) << cluster.display_name;
    ASSERT_EQ(hierarchy->levels.size(), 2U);
    EXPECT_EQ(hierarchy->levels[0].fan_out, 8);
    EXPECT_EQ(hierarchy->levels[1].fan_out, 3);
    EXPECT_GT(hierarchy->levels[0].bandwidth_bytes_per_second, hierarchy->levels[1].bandwidth_bytes_per_second);
    EXPECT_EQ(cluster.devices.size(), 24U);
  }
}

TEST(ClustersTest, PcieHasAcceleratorsAndOneCpu) {
  const Cluster cluster = MakePcie(4);
  ASSERT_EQ(cluster.devices.size(), 5U);
  EXPECT_EQ(cluster.class_of(DeviceId(0)).kind, DeviceKind::kAccelerator);
  EXPECT_EQ(cluster.class_of(DeviceId(0)).memory_bytes, int64_t{16} << 30);
  EXPECT_EQ(cluster.class_of(DeviceId(4)).kind, DeviceKind::kCpu);
  EXPECT_FALSE(cluster.class_of(DeviceId(4)).memory_bytes.has_value());
  EXPECT_TRUE(std::holds_alternative<HostStagedInterconnect>(cluster.interconnect));
}

TEST(ClustersTest, DevicesAreNamedByHostAndListedHostByHost) {
  const Cluster cluster = MakeDgxA100(2);
  EXPECT_EQ(cluster.devices[0].name, "host0/gpu0");
  EXPECT_EQ(cluster.devices[7].name, "host0/gpu7");
  EXPECT_EQ(cluster.devices[8].name, "host1/gpu0");
  EXPECT_EQ(cluster.devices[8].host, "host1");
  EXPECT_EQ(MakePcie(1).devices[1].name, "host0/cpu0");
  std::set<std::string> names;
  for (const Device& device : cluster.devices) names.insert(device.name);
  EXPECT_EQ(names.size(), cluster.devices.size());
}

// Without these the roofline function has no times.
TEST(ClustersTest, EveryClassHasRooflineNumbers) {
  for (const Cluster& cluster : {MakeDgx1V100(1), MakeDgxA100(1), MakePcie(1)}) {
    for (const DeviceClass& device_class : cluster.device_classes) {
      EXPECT_GT(device_class.peak_flops, 0) << device_class.name;
      EXPECT_GT(device_class.memory_bandwidth_bytes_per_second, 0) << device_class.name;
      EXPECT_GT(device_class.compute_efficiency, 0) << device_class.name;
      EXPECT_LE(device_class.compute_efficiency, 1) << device_class.name;
    }
  }
}

}  // namespace
}  // namespace planwright
