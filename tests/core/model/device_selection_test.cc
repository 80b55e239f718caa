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

TEST(DeviceSelectionTest, PartsThatTakeATableOfPairsAreOfBoundedSize) {
  const Cluster grid = SmallCluster(2'050, 0, GridInterconnect{{2'050}, false, 1, {}, {}});
  DeviceSelection selection;
  selection.excluded_devices = Devices({7});
  EXPECT_THAT(Check(grid, selection),
              ElementsAre(Breaks("problem.devices_to_use",
                                 "must leave every device of cluster.interconnect.grid, or at most 2048 devices")));
  selection.excluded_devices = Devices({7, 11});
  EXPECT_THAT(Check(grid, selection), IsEmpty());
  EXPECT_THAT(Check(grid, {}), IsEmpty());
  const NodesInterconnect pairs{
      .devices_per_node = 2, .links = {}, .bandwidth_bytes_per_second = 2, .latency = {}, .levels = {{1'025, 1, {}}}};
  selection.excluded_devices = Devices({7});
  EXPECT_THAT(Check(SmallCluster(2'050, 0, pairs), selection),
              ElementsAre(Breaks("problem.devices_to_use",
                                 "must leave the same places of each machine of cluster.interconnect.nodes, or at "
                                 "most 2048 devices")));
}

}  // namespace
}  // namespace planwright
