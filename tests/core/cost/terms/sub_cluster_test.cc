#include "core/cost/terms/sub_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <variant>
#include <vector>

#include "core/cost/terms/transfer.h"
#include "core/model/validator.h"
#include "tests/support/small_models.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Two racks of two hosts of two devices.
Cluster Racks() { return SmallCluster(8, 0, HierarchyInterconnect{{{2, 300, {}}, {2, 20, {}}, {2, 1, {}}}}); }

std::vector<DeviceId> Devices(const std::vector<std::size_t>& indices) {
  std::vector<DeviceId> devices;
  for (const std::size_t index : indices) devices.emplace_back(index);
  return devices;
}

// What `cluster` breaks.
std::vector<Violation> Rules(const Cluster& cluster) {
  Violations violations;
  ValidateCluster(cluster, ModelLimits(), violations);
  return violations.listed();
}

// The level of the lowest group that holds both, of a hierarchy with these fan-outs.
std::size_t LevelOf(const HierarchyInterconnect& hierarchy, std::size_t a, std::size_t b) {
  std::size_t level = 0;
  while (true) {
    a /= static_cast<std::size_t>(hierarchy.levels[level].fan_out);
    b /= static_cast<std::size_t>(hierarchy.levels[level].fan_out);
    if (a == b) return level;
    ++level;
  }
}

TEST(SubClusterTest, KeepsTheDistancesOfAHierarchy) {
  const Cluster cluster = Racks();
  const auto& whole = std::get<HierarchyInterconnect>(cluster.interconnect);
  for (const auto& indices : {std::vector<std::size_t>{0, 1, 2, 3}, {0, 4}, {1, 2, 4, 7}, {2, 3, 6, 7}, {5}}) {
    const std::vector<DeviceId> devices = Devices(indices);
    const SubCluster part(cluster, devices);
    const auto& kept = std::get<HierarchyInterconnect>(part.cluster().interconnect);
    ASSERT_EQ(kept.levels.size(), whole.levels.size());
    for (std::size_t a = 0; a < devices.size(); ++a) {
      EXPECT_EQ(part.cluster().devices[a].name, cluster.devices[indices[a]].name);
      for (std::size_t b = 0; b < a; ++b) EXPECT_EQ(LevelOf(kept, a, b), LevelOf(whole, indices[a], indices[b]));
    }
  }
}

TEST(SubClusterTest, IsNowhereSlowerThanAnIrregularPartOfAHierarchy) {
  const SubCluster part(Racks(), Devices({0, 2, 3, 6}));
  const auto& relaxed = std::get<HierarchyInterconnect>(part.cluster().interconnect);
  ASSERT_EQ(relaxed.levels.size(), 1U);
  EXPECT_EQ(relaxed.levels[0].fan_out, 4);
  EXPECT_EQ(relaxed.levels[0].bandwidth_bytes_per_second, 300);
  const SubCluster apart(Racks(), Devices({0, 2, 6}));
  EXPECT_EQ(std::get<HierarchyInterconnect>(apart.cluster().interconnect).levels[0].bandwidth_bytes_per_second, 20);
}

TEST(SubClusterTest, StandsForAnyEquallyManyDevices) {
  const SubCluster part(Racks(), Devices({0, 4}), Devices({0, 4, 5, 6}));
  const auto& relaxed = std::get<HierarchyInterconnect>(part.cluster().interconnect);
  EXPECT_EQ(relaxed.levels[0].fan_out, 2);
  EXPECT_EQ(relaxed.levels[0].bandwidth_bytes_per_second, 300);
  const SubCluster all(Racks(), Devices({0, 4}), Devices({0, 4}));
  EXPECT_EQ(std::get<HierarchyInterconnect>(all.cluster().interconnect).levels.size(), 3U);
}

TEST(SubClusterTest, IsAValidCluster) {
  for (const auto& interconnect : {Interconnect(HostStagedInterconnect()), Interconnect(UniformInterconnect{5, {}}),
                                   Interconnect(MatrixInterconnect{{0, 1, 2, 1, 0, 4, 2, 4, 0}, {}})}) {
    const SubCluster part(SmallCluster(3, 0, interconnect), Devices({0, 2}));
    EXPECT_THAT(Rules(part.cluster()), IsEmpty());
  }
}

// Four machines of two linked devices and one apart.
Cluster Machines() {
  return SmallCluster(12, 0,
                      NodesInterconnect{.devices_per_node = 3,
                                        .links = {{0, 2, 90, Picoseconds(1)}},
                                        .bandwidth_bytes_per_second = 40,
                                        .latency = Picoseconds(2),
                                        .levels = {{2, 20, Picoseconds(3)}, {2, 10, Picoseconds(4)}}});
}

TEST(SubClusterTest, NodesThatKeepTheSamePlacesStayNodes) {
  // Places 0 and 2 of the machines 0 and 3.
  const SubCluster part(Machines(), Devices({0, 2, 9, 11}));
  const auto& nodes = std::get<NodesInterconnect>(part.cluster().interconnect);
  EXPECT_EQ(nodes.devices_per_node, 2);
  ASSERT_EQ(nodes.links.size(), 1U);
  EXPECT_EQ(nodes.links[0].place_b, 1);
  EXPECT_EQ(nodes.links[0].bandwidth_bytes_per_second, 90);
  ASSERT_EQ(nodes.levels.size(), 2U);
  EXPECT_EQ(nodes.levels[0].fan_out, 1);
  EXPECT_EQ(nodes.levels[1].fan_out, 2);
}

// A ring of five devices with slow and fast links, and one that hangs on device 0.
Cluster Ring(LinksInterconnect::Routing routing) {
  LinksInterconnect links{.links = {}, .routing = routing};
  for (std::size_t i = 0; i < 5; ++i) {
    links.links.push_back({DeviceId(i), DeviceId((i + 1) % 5), i == 2 ? 10.0 : 50.0, Picoseconds(100 + i)});
  }
  links.links.push_back({DeviceId(0), DeviceId(5), 30, Picoseconds(7)});
  return SmallCluster(6, 0, links);
}

void ExpectSamePairs(const Cluster& whole, const std::vector<DeviceId>& devices) {
  const SubCluster part(whole, devices);
  EXPECT_THAT(Rules(part.cluster()), IsEmpty());
  const Network in_whole(whole.interconnect);
  const Network in_part(part.cluster().interconnect);
  for (std::size_t a = 0; a < devices.size(); ++a) {
    for (std::size_t b = 0; b < devices.size(); ++b) {
      if (a == b) continue;
      const LinkSpeed& kept = in_part.speed(in_part.LinkClassOf(DeviceId(a), DeviceId(b)));
      const LinkSpeed& given = in_whole.speed(in_whole.LinkClassOf(devices[a], devices[b]));
      EXPECT_EQ(kept.bandwidth_bytes_per_second, given.bandwidth_bytes_per_second) << a << ", " << b;
      EXPECT_EQ(kept.latency, given.latency) << a << ", " << b;
    }
  }
}

TEST(SubClusterTest, KeepsBandwidthAndLatencyOfEveryPair) {
  const GridInterconnect torus{{3, 2}, true, 12, Picoseconds(5), GridInterconnect::NonAdjacent::kDividedByHops};
  const GridInterconnect mesh{{3, 2}, false, 12, Picoseconds(5), GridInterconnect::NonAdjacent::kDividedByHops};
  const GridInterconnect alike{{3, 2}, false, 12, Picoseconds(5), GridInterconnect::NonAdjacent::kLinkBandwidth};
  const std::vector<Cluster> clusters = {
      SmallCluster(6, 0, torus),
      SmallCluster(6, 0, mesh),
      SmallCluster(6, 0, alike),
      Ring(LinksInterconnect::Routing::kWidestPath),
      Ring(LinksInterconnect::Routing::kShortestPath),
      Machines(),
  };
  for (const Cluster& cluster : clusters) {
    SCOPED_TRACE(InterconnectName(cluster.interconnect));
    for (const auto& indices : {std::vector<std::size_t>{0, 2, 3}, {1, 2, 4, 5}, {0, 1, 2, 3, 4}, {5}}) {
      ExpectSamePairs(cluster, Devices(indices));
    }
  }
}

TEST(SubClusterTest, KeepsThePairsOfAMatrix) {
  const SubCluster part(SmallCluster(3, 0, MatrixInterconnect{{0, 1, 2, 3, 0, 4, 5, 6, 0}, {}}), Devices({0, 2}));
  EXPECT_THAT(std::get<MatrixInterconnect>(part.cluster().interconnect).bandwidth_bytes_per_second,
              ElementsAre(0, 2, 5, 0));
}

TEST(SubClusterTest, NamesDevicesBothWays) {
  const SubCluster part(SmallCluster(4), Devices({1, 3}));
  const Placement in_part{{{{OperatorId(0)}, {DeviceId(1)}}, {{OperatorId(1)}, {DeviceId(0)}}}};
  const Placement in_whole = part.ToWhole(in_part);
  EXPECT_THAT(in_whole.stages[0].devices, ElementsAre(DeviceId(3)));
  EXPECT_THAT(in_whole.stages[1].devices, ElementsAre(DeviceId(1)));
  EXPECT_EQ(part.ToPart(in_whole)->stages[0].devices, in_part.stages[0].devices);
  EXPECT_FALSE(part.ToPart(Placement{{{{OperatorId(0)}, {DeviceId(2)}}}}).has_value());
}

}  // namespace
}  // namespace planwright
