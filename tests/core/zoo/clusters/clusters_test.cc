#include "core/zoo/clusters/clusters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

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

TEST(ClustersTest, CubeMeshesAreLinkedInsideEveryNode) {
  const Cluster cluster = Make("dgx1-mesh:4?nvlink_gb=25&pcie_gb=10&between_gb=3");
  EXPECT_EQ(cluster.devices.size(), 32U);
  EXPECT_EQ(cluster.devices[31].name, "host3/gpu7");
  EXPECT_EQ(cluster.device_classes[0].name, "v100-sxm2-32gb");
  const auto& nodes = std::get<NodesInterconnect>(cluster.interconnect);
  EXPECT_EQ(nodes.devices_per_node, 8);
  EXPECT_EQ(nodes.links.size(), 16U);
  EXPECT_EQ(nodes.links[0].bandwidth_bytes_per_second, 25e9);
  EXPECT_EQ(nodes.links[0].latency, microseconds(5));
  EXPECT_EQ(nodes.bandwidth_bytes_per_second, 10e9);
  ASSERT_EQ(nodes.levels.size(), 1U);
  EXPECT_EQ(nodes.levels[0].fan_out, 4);
  EXPECT_EQ(nodes.levels[0].bandwidth_bytes_per_second, 3e9);
  EXPECT_TRUE(std::get<NodesInterconnect>(Make("dgx1-mesh:1").interconnect).levels.empty());
}

TEST(NetworksTest, MeshesAndToriHaveTheirDimensions) {
  struct Case {
    const char* name;
    std::vector<int32_t> dimensions;
    bool wrap_around;
  };
  for (const Case& expected :
       {Case{"mesh2d:8", {8, 8}, false}, Case{"torus2d:4?width=16", {16, 4}, true}, Case{"mesh3d:4", {4, 4, 4}, false},
        Case{"torus3d:2?width=3&height=5", {3, 5, 2}, true}}) {
    const Cluster cluster = Make(expected.name);
    const auto& grid = std::get<GridInterconnect>(cluster.interconnect);
    EXPECT_EQ(grid.dimensions, expected.dimensions) << expected.name;
    EXPECT_EQ(grid.wrap_around, expected.wrap_around) << expected.name;
    EXPECT_EQ(grid.non_adjacent, GridInterconnect::NonAdjacent::kDividedByHops) << expected.name;
    EXPECT_EQ(grid.link_bandwidth_bytes_per_second, 25e9) << expected.name;
  }
  const Cluster cluster = Make("mesh2d:2?link_gb=50&far=link_bandwidth");
  EXPECT_EQ(cluster.devices[3].host, "host3");
  const auto& grid = std::get<GridInterconnect>(cluster.interconnect);
  EXPECT_EQ(grid.non_adjacent, GridInterconnect::NonAdjacent::kLinkBandwidth);
  EXPECT_EQ(grid.link_bandwidth_bytes_per_second, 50e9);
}

// Bandwidth in 10^9 bytes/s and latency of each level.
std::vector<std::tuple<int32_t, double, int64_t>> LevelsOf(const std::string& name) {
  const Cluster cluster = Make(name);
  std::vector<std::tuple<int32_t, double, int64_t>> levels;
  for (const auto& level : std::get<HierarchyInterconnect>(cluster.interconnect).levels) {
    levels.emplace_back(level.fan_out, level.bandwidth_bytes_per_second / 1e9, level.latency / microseconds(1));
  }
  return levels;
}

TEST(NetworksTest, FatTreesTaperTowardsTheRoot) {
  EXPECT_THAT(LevelsOf("fat-tree:3?devices=4&nodes=2&racks=5&rack_gb=24&rack_us=10&taper=2&tier_us=1"),
              ::testing::ElementsAre(std::tuple(4, 240, 5), std::tuple(2, 24, 10), std::tuple(5, 12, 12),
                                     std::tuple(3, 6, 14)));
  EXPECT_EQ(Make("fat-tree:3?devices=4&nodes=2&racks=5").devices.size(), 120U);
}

TEST(NetworksTest, DragonfliesCrossTwoLocalLinksBetweenGroups) {
  EXPECT_THAT(LevelsOf("dragonfly:9?devices=2&routers=4&router_gb=30&router_us=1&local_gb=20&local_us=3&global_gb=25&"
                       "global_us=7"),
              ::testing::ElementsAre(std::tuple(2, 30, 1), std::tuple(4, 20, 4), std::tuple(9, 20, 14)));
}

TEST(NetworksTest, RandomNetworksFollowFromTheirSeed) {
  const auto bandwidths = [](const std::string& name) {
    return std::get<MatrixInterconnect>(Make(name).interconnect).bandwidth_bytes_per_second;
  };
  for (const std::string family : {"random-blk1", "random-blk2", "random-uniform"}) {
    EXPECT_EQ(bandwidths(family + ":24").size(), 24U * 24U);
    EXPECT_EQ(bandwidths(family + ":24"), bandwidths(family + ":24?seed=1")) << family;
    EXPECT_NE(bandwidths(family + ":24"), bandwidths(family + ":24?seed=2")) << family;
  }
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
