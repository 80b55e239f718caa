#include "core/model/device_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/validator.h"
#include "tests/core/model/violation_matchers.h"
#include "tests/support/small_models.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Two racks of two hosts of two devices: "acc0" to "acc7".
Cluster Racks() {
  Cluster cluster = SmallCluster(8);
  for (std::size_t i = 0; i < 8; ++i) {
    cluster.devices[i].host = "host" + std::to_string(i / 2);
    cluster.devices[i].labels = {{"rack", i < 4 ? "a" : "b"}, {"even", i % 2 == 0 ? "yes" : "no"}};
  }
  cluster.interconnect = HierarchyInterconnect{{{2, 300, {}}, {2, 20, {}}, {2, 1, {}}}};
  return cluster;
}

std::vector<DeviceId> Devices(const std::vector<std::size_t>& indices) {
  std::vector<DeviceId> devices;
  for (const std::size_t index : indices) devices.emplace_back(index);
  return devices;
}

DeviceSelection Hosts(std::vector<std::string> hosts) {
  DeviceSelection selection;
  selection.hosts = std::move(hosts);
  return selection;
}

std::vector<Violation> Check(const Cluster& cluster, const DeviceSelection& selection) {
  Violations violations;
  CheckSelection(cluster, selection, violations);
  return violations.listed();
}

TEST(DeviceSelectionTest, SelectsEverythingByDefault) {
  EXPECT_EQ(SelectedDevices(SmallCluster(3), {}), Devices({0, 1, 2}));
}

TEST(DeviceSelectionTest, SelectsWhatEverySettingAllows) {
  const Cluster cluster = Racks();
  DeviceSelection selection = Hosts({"host3", "host1", "host2"});
  EXPECT_EQ(SelectedDevices(cluster, selection), Devices({2, 3, 4, 5, 6, 7}));
  selection.match_labels = {{"rack", "b"}};
  EXPECT_EQ(SelectedDevices(cluster, selection), Devices({4, 5, 6, 7}));
  selection.match_labels["even"] = "no";
  EXPECT_EQ(SelectedDevices(cluster, selection), Devices({5, 7}));
  selection.excluded_devices = Devices({7, 0});
  EXPECT_EQ(SelectedDevices(cluster, selection), Devices({5}));
  selection.devices = Devices({5});
  EXPECT_EQ(SelectedDevices(cluster, selection), Devices({5}));
  EXPECT_THAT(Check(SmallCluster(2), {}), IsEmpty());
}

struct BrokenCase {
  std::string name;
  std::function<void(DeviceSelection&)> set;
  std::string path;
  std::string rule;
};

class BrokenSelectionTest : public ::testing::TestWithParam<BrokenCase> {};

TEST_P(BrokenSelectionTest, IsTheOnlyViolation) {
  DeviceSelection selection;
  GetParam().set(selection);
  EXPECT_THAT(Check(Racks(), selection), ElementsAre(Breaks(GetParam().path, GetParam().rule)));
}

INSTANTIATE_TEST_SUITE_P(
    All, BrokenSelectionTest,
    ::testing::Values(BrokenCase{"UnknownHost",
                                 [](auto& s) {
                                   s.hosts = {"host0", "host9"};
                                 },
                                 "problem.devices_to_use.hosts[1]",
                                 "must be the host of a device of the cluster, is \"host9\""},
                      BrokenCase{"UnknownLabel",
                                 [](auto& s) {
                                   s.match_labels = {{"zone", "x"}};
                                 },
                                 "problem.devices_to_use.match_labels[\"zone\"]",
                                 "must be a label of a device of the cluster, is \"x\""},
                      BrokenCase{"UnknownLabelValue",
                                 [](auto& s) {
                                   s.match_labels = {{"rack", "c"}};
                                 },
                                 "problem.devices_to_use.match_labels[\"rack\"]",
                                 "must be a label of a device of the cluster, is \"c\""},
                      BrokenCase{"OnAnotherHost",
                                 [](auto& s) {
                                   s.hosts = {"host0"};
                                   s.devices = Devices({0, 2});
                                 },
                                 "problem.devices_to_use.devices[1]",
                                 "must be on one of problem.devices_to_use.hosts, is \"acc2\""},
                      BrokenCase{"WithoutTheLabel",
                                 [](auto& s) {
                                   s.match_labels = {{"even", "yes"}};
                                   s.devices = Devices({1, 2});
                                 },
                                 "problem.devices_to_use.devices[0]",
                                 "must have the labels of problem.devices_to_use.match_labels, is \"acc1\""},
                      BrokenCase{"WantedAndExcluded",
                                 [](auto& s) {
                                   s.devices = Devices({4, 5});
                                   s.excluded_devices = Devices({5});
                                 },
                                 "problem.devices_to_use.devices[1]",
                                 "must not be among problem.devices_to_use.excluded_devices, is \"acc5\""},
                      BrokenCase{"Empty",
                                 [](auto& s) {
                                   s.hosts = {"host0"};
                                   s.match_labels = {{"rack", "b"}};
                                 },
                                 "problem.devices_to_use", "must leave at least one device, leaves none"}),
    [](const auto& tested) { return tested.param.name; });

TEST(DeviceSelectionTest, PartsOfGridsAndLinksCannotBeExpressed) {
  Cluster cluster = SmallCluster(4, 0, GridInterconnect{{2, 2}, false, 1, {}, {}});
  DeviceSelection selection;
  selection.devices = Devices({0, 1});
  EXPECT_THAT(Check(cluster, selection),
              ElementsAre(Breaks("problem.devices_to_use",
                                 "must leave every device of cluster.interconnect.grid, whose routes lead through all "
                                 "of them")));
  selection.devices = Devices({3, 2, 1, 0});
  EXPECT_THAT(Check(cluster, selection), IsEmpty());
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

TEST(ClusterPartTest, KeepsTheDistancesOfAHierarchy) {
  const Cluster cluster = Racks();
  const auto& whole = std::get<HierarchyInterconnect>(cluster.interconnect);
  for (const auto& indices : {std::vector<std::size_t>{0, 1, 2, 3}, {0, 4}, {1, 2, 4, 7}, {2, 3, 6, 7}, {5}}) {
    const std::vector<DeviceId> devices = Devices(indices);
    const ClusterPart part(cluster, devices);
    const auto& kept = std::get<HierarchyInterconnect>(part.cluster().interconnect);
    ASSERT_EQ(kept.levels.size(), whole.levels.size());
    for (std::size_t a = 0; a < devices.size(); ++a) {
      EXPECT_EQ(part.cluster().devices[a].name, cluster.devices[indices[a]].name);
      for (std::size_t b = 0; b < a; ++b) EXPECT_EQ(LevelOf(kept, a, b), LevelOf(whole, indices[a], indices[b]));
    }
  }
}

TEST(ClusterPartTest, IsNowhereSlowerThanAnIrregularPartOfAHierarchy) {
  const ClusterPart part(Racks(), Devices({0, 2, 3, 6}));
  const auto& relaxed = std::get<HierarchyInterconnect>(part.cluster().interconnect);
  ASSERT_EQ(relaxed.levels.size(), 1U);
  EXPECT_EQ(relaxed.levels[0].fan_out, 4);
  EXPECT_EQ(relaxed.levels[0].bandwidth_bytes_per_second, 300);
  const ClusterPart apart(Racks(), Devices({0, 2, 6}));
  EXPECT_EQ(std::get<HierarchyInterconnect>(apart.cluster().interconnect).levels[0].bandwidth_bytes_per_second, 20);
}

TEST(ClusterPartTest, StandsForAnyEquallyManyDevices) {
  const ClusterPart part(Racks(), Devices({0, 4}), Devices({0, 4, 5, 6}));
  const auto& relaxed = std::get<HierarchyInterconnect>(part.cluster().interconnect);
  EXPECT_EQ(relaxed.levels[0].fan_out, 2);
  EXPECT_EQ(relaxed.levels[0].bandwidth_bytes_per_second, 300);
  const ClusterPart all(Racks(), Devices({0, 4}), Devices({0, 4}));
  EXPECT_EQ(std::get<HierarchyInterconnect>(all.cluster().interconnect).levels.size(), 3U);
}

TEST(ClusterPartTest, IsAValidCluster) {
  for (const auto& interconnect : {Interconnect(HostStagedInterconnect()), Interconnect(UniformInterconnect{5, {}}),
                                   Interconnect(MatrixInterconnect{{0, 1, 2, 1, 0, 4, 2, 4, 0}, {}})}) {
    const ClusterPart part(SmallCluster(3, 0, interconnect), Devices({0, 2}));
    Violations violations;
    ValidateCluster(part.cluster(), ModelLimits(), violations);
    EXPECT_THAT(violations.listed(), IsEmpty());
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

TEST(ClusterPartTest, NodesThatKeepTheSamePlacesStayNodes) {
  // Places 0 and 2 of the machines 0 and 3.
  const ClusterPart part(Machines(), Devices({0, 2, 9, 11}));
  const auto& nodes = std::get<NodesInterconnect>(part.cluster().interconnect);
  EXPECT_EQ(nodes.devices_per_node, 2);
  ASSERT_EQ(nodes.links.size(), 1U);
  EXPECT_EQ(nodes.links[0].place_b, 1);
  EXPECT_EQ(nodes.links[0].bandwidth_bytes_per_second, 90);
  ASSERT_EQ(nodes.levels.size(), 2U);
  EXPECT_EQ(nodes.levels[0].fan_out, 1);
  EXPECT_EQ(nodes.levels[1].fan_out, 2);
}

TEST(ClusterPartTest, OtherPartsOfNodesKeepTheirPairs) {
  const ClusterPart part(Machines(), Devices({0, 2, 4, 6}));
  const auto& matrix = std::get<MatrixInterconnect>(part.cluster().interconnect);
  EXPECT_EQ(matrix.latency, Picoseconds(1));
  EXPECT_THAT(matrix.bandwidth_bytes_per_second, ElementsAre(0, 90, 20, 10,  //
                                                             90, 0, 20, 10,  //
                                                             20, 20, 0, 10,  //
                                                             10, 10, 10, 0));
}

TEST(ClusterPartTest, KeepsThePairsOfAMatrix) {
  const ClusterPart part(SmallCluster(3, 0, MatrixInterconnect{{0, 1, 2, 3, 0, 4, 5, 6, 0}, {}}), Devices({0, 2}));
  EXPECT_THAT(std::get<MatrixInterconnect>(part.cluster().interconnect).bandwidth_bytes_per_second,
              ElementsAre(0, 2, 5, 0));
}

TEST(ClusterPartTest, NamesDevicesBothWays) {
  const ClusterPart part(SmallCluster(4), Devices({1, 3}));
  const Placement in_part{{{{OperatorId(0)}, {DeviceId(1)}}, {{OperatorId(1)}, {DeviceId(0)}}}};
  const Placement in_whole = part.ToWhole(in_part);
  EXPECT_THAT(in_whole.stages[0].devices, ElementsAre(DeviceId(3)));
  EXPECT_THAT(in_whole.stages[1].devices, ElementsAre(DeviceId(1)));
  EXPECT_EQ(part.ToPart(in_whole)->stages[0].devices, in_part.stages[0].devices);
  EXPECT_FALSE(part.ToPart(Placement{{{{OperatorId(0)}, {DeviceId(2)}}}}).has_value());
}

}  // namespace
}  // namespace planwright
