#include "core/zoo/clusters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <variant>

#include "core/zoo/families.h"
#include "core/zoo/zoo.h"

namespace planwright {
namespace {

using std::chrono::microseconds;

constexpr int64_t kGiB = int64_t{1} << 30;

Cluster Make(const std::string& name) { return MakeZooCluster(name).value(); }

TEST(ClustersTest, OneNodeIsUniform) {
  for (const char* name : {"dgx1-v100:1", "dgx-a100:1", "dgx-h100:1", "gb200-nvl72:1", "nodes:1"}) {
    const Cluster cluster = Make(name);
    EXPECT_EQ(cluster.devices.size(), std::string(name) == "gb200-nvl72:1" ? 72U : 8U) << name;
    EXPECT_TRUE(std::holds_alternative<UniformInterconnect>(cluster.interconnect)) << name;
  }
}

TEST(ClustersTest, SeveralNodesAreAHierarchyOfDevicesByNodes) {
  for (const char* name : {"dgx1-v100:3", "dgx-a100:3", "dgx-h100:3", "gb200-nvl72:3", "nodes:3"}) {
    const Cluster cluster = Make(name);
    const auto* hierarchy = std::get_if<HierarchyInterconnect>(&cluster.interconnect);
    ASSERT_NE(hierarchy, nullptr) << name;
    ASSERT_EQ(hierarchy->levels.size(), 2U);
    EXPECT_EQ(hierarchy->levels[1].fan_out, 3);
    EXPECT_EQ(static_cast<std::size_t>(hierarchy->levels[0].fan_out) * 3, cluster.devices.size()) << name;
    EXPECT_GT(hierarchy->levels[0].bandwidth_bytes_per_second, hierarchy->levels[1].bandwidth_bytes_per_second);
  }
}

TEST(ClustersTest, PcieHasAcceleratorsAndOneCpu) {
  const Cluster cluster = Make("pcie:4");
  ASSERT_EQ(cluster.devices.size(), 5U);
  EXPECT_EQ(cluster.class_of(DeviceId(0)).kind, DeviceKind::kAccelerator);
  EXPECT_EQ(cluster.class_of(DeviceId(0)).memory_bytes, 16 * kGiB);
  EXPECT_EQ(cluster.class_of(DeviceId(4)).kind, DeviceKind::kCpu);
  EXPECT_FALSE(cluster.class_of(DeviceId(4)).memory_bytes.has_value());
  EXPECT_TRUE(std::holds_alternative<HostStagedInterconnect>(cluster.interconnect));
}

TEST(ClustersTest, DevicesAreNamedByHostAndListedHostByHost) {
  const Cluster cluster = Make("dgx-a100:2");
  EXPECT_EQ(cluster.devices[0].name, "host0/gpu0");
  EXPECT_EQ(cluster.devices[7].name, "host0/gpu7");
  EXPECT_EQ(cluster.devices[8].name, "host1/gpu0");
  EXPECT_EQ(cluster.devices[8].host, "host1");
  EXPECT_EQ(Make("pcie:1").devices[1].name, "host0/cpu0");
  std::set<std::string> names;
  for (const Device& device : cluster.devices) names.insert(device.name);
  EXPECT_EQ(names.size(), cluster.devices.size());
}

// Without these the roofline function has no times.
TEST(ClustersTest, EveryClassHasRooflineNumbers) {
  for (const Family<ClusterConfig>& family : ClusterFamilies()) {
    const Cluster cluster = Make(std::string(family.name) + ":1");
    for (const DeviceClass& device_class : cluster.device_classes) {
      EXPECT_GT(device_class.peak_flops, 0) << device_class.name;
      EXPECT_GT(device_class.memory_bandwidth_bytes_per_second, 0) << device_class.name;
      EXPECT_GT(device_class.compute_efficiency, 0) << device_class.name;
      EXPECT_LE(device_class.compute_efficiency, 1) << device_class.name;
    }
  }
}

TEST(ClustersTest, TakesEveryNumberOfANode) {
  const Cluster cluster = Make(
      "nodes:2?devices=4&memory_gib=24.5&peak_tflops=71&memory_bandwidth_gb=672&compute_efficiency=0.4&"
      "kernel_overhead_us=3&inside_gb=25&inside_us=4&between_gb=12.5&between_us=20");
  ASSERT_EQ(cluster.devices.size(), 8U);
  EXPECT_EQ(cluster.devices[4].name, "host1/gpu0");
  ASSERT_EQ(cluster.device_classes.size(), 1U);
  const DeviceClass& device_class = cluster.device_classes[0];
  EXPECT_EQ(device_class.name, "accelerator");
  EXPECT_EQ(device_class.memory_bytes, 49 * kGiB / 2);
  EXPECT_EQ(device_class.peak_flops, 71e12);
  EXPECT_EQ(device_class.memory_bandwidth_bytes_per_second, 672e9);
  EXPECT_EQ(device_class.compute_efficiency, 0.4);
  EXPECT_EQ(device_class.kernel_overhead, microseconds(3));
  const auto& levels = std::get<HierarchyInterconnect>(cluster.interconnect).levels;
  ASSERT_EQ(levels.size(), 2U);
  EXPECT_EQ(levels[0].fan_out, 4);
  EXPECT_EQ(levels[0].bandwidth_bytes_per_second, 25e9);
  EXPECT_EQ(levels[0].latency, microseconds(4));
  EXPECT_EQ(levels[1].fan_out, 2);
  EXPECT_EQ(levels[1].bandwidth_bytes_per_second, 12.5e9);
  EXPECT_EQ(levels[1].latency, microseconds(20));
}

TEST(ClustersTest, ChangesOneNumberOfAKnownMachine) {
  const Cluster cluster = Make("dgx-h100:2?between_gb=10");
  EXPECT_EQ(cluster.display_name, "dgx-h100:2?between_gb=10");
  EXPECT_EQ(cluster.device_classes[0].name, "h100-sxm5-80gb");
  const auto& levels = std::get<HierarchyInterconnect>(cluster.interconnect).levels;
  EXPECT_EQ(levels[0].bandwidth_bytes_per_second, 370e9);
  EXPECT_EQ(levels[1].bandwidth_bytes_per_second, 10e9);
  const Cluster pcie = Make("pcie:2?host_gb=24&memory_gib=40");
  EXPECT_EQ(std::get<HostStagedInterconnect>(pcie.interconnect).bandwidth_bytes_per_second, 24e9);
  EXPECT_EQ(pcie.device_classes[0].memory_bytes, 40 * kGiB);
}

}  // namespace
}  // namespace planwright
