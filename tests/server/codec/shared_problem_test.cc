#include "server/codec/shared_problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planwright/v1/cluster.pb.h"
#include "planwright/v1/graph.pb.h"
#include "server/codec/cluster.h"
#include "server/codec/graph.h"
#include "server/codec/problem.h"
#include "tests/support/wire.h"

namespace planwright::server {
namespace {

constexpr char kUniform[] = "interconnect { uniform { bandwidth_bytes_per_second: 1e9 } }";
// Two hosts of four.
constexpr char kHosts[] = R"pb(
  interconnect {
    hierarchy {
      levels { fan_out: 4 bandwidth_bytes_per_second: 1e11 }
      levels { fan_out: 2 bandwidth_bytes_per_second: 1e9 }
    }
  })pb";

// Eight devices on two hosts.
v1::Cluster EightDevices(const std::string& interconnect, const std::string& prefix = "d") {
  auto cluster = Wire<v1::Cluster>(R"pb(device_classes { name: "gpu" memory_bytes: 8 }
                                        device_classes { name: "big" memory_bytes: 16 })pb");
  for (int i = 0; i < 8; ++i) {
    v1::Device& device = *cluster.add_devices();
    device.set_name(absl::StrCat(prefix, i));
    device.set_device_class("gpu");
    device.set_host(absl::StrCat("host", i / 4));
  }
  cluster.MergeFrom(Wire<v1::Cluster>(interconnect));
  return cluster;
}

std::optional<SharedProblem> Share(const v1::Cluster& wire_cluster, const std::string& text) {
  Violations violations;
  const OperatorGraph graph = DecodeGraph(Wire<v1::Graph>(R"pb(operators { name: "a" }
                                                               operators { name: "b" })pb"),
                                          violations);
  const Cluster cluster = DecodeCluster(wire_cluster, 100, violations);
  const PlanningProblem problem =
      DecodeProblem(Wire<v1::PlanningProblem>(text), graph, cluster, FieldPath("problem"), violations);
  EXPECT_TRUE(violations.empty()) << violations.ToStatus();
  return ShareProblem(graph, cluster, ModelLimits(), problem, EncodeProblem(problem, graph, cluster));
}

bool AreAlike(const std::optional<SharedProblem>& a, const std::optional<SharedProblem>& b) {
  return a.has_value() && b.has_value() && a->cluster_digest == b->cluster_digest &&
         a->problem.SerializeAsString() == b->problem.SerializeAsString() && a->devices.size() == b->devices.size();
}

std::ptrdiff_t PlaceOf(const std::string& device, const std::optional<SharedProblem>& shared) {
  return std::find(shared->devices.begin(), shared->devices.end(), device) - shared->devices.begin();
}

TEST(SharedProblemTest, NamesOfUniformDevicesDoNotCount) {
  const auto shared = Share(EightDevices(kUniform), "");
  EXPECT_TRUE(AreAlike(shared, Share(EightDevices(kUniform, "gpu"), "")));
  ASSERT_TRUE(shared.has_value());
  EXPECT_THAT(shared->devices, testing::UnorderedElementsAre("d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7"));
}

TEST(SharedProblemTest, EquallyManyOfThemAreAlike) {
  const v1::Cluster cluster = EightDevices(kUniform);
  const auto shared = Share(cluster, R"pb(devices_to_use { devices: "d0" devices: "d5" })pb");
  EXPECT_TRUE(AreAlike(shared, Share(cluster, R"pb(devices_to_use { devices: "d7" devices: "d6" })pb")));
  EXPECT_FALSE(AreAlike(shared, Share(cluster, R"pb(devices_to_use { devices: "d7" })pb")));
  EXPECT_FALSE(
      AreAlike(shared, Share(cluster, R"pb(devices_to_use { devices: "d0" devices: "d5" max_devices: 1 })pb")));
}

TEST(SharedProblemTest, HostsOfAHierarchyAreAlikeButWhatLiesFurtherApartIsNot) {
  const v1::Cluster cluster = EightDevices(kHosts);
  const auto pair = Share(cluster, R"pb(devices_to_use { devices: "d0" devices: "d1" })pb");
  EXPECT_TRUE(AreAlike(pair, Share(cluster, R"pb(devices_to_use { devices: "d6" devices: "d4" })pb")));
  EXPECT_FALSE(AreAlike(pair, Share(cluster, R"pb(devices_to_use { devices: "d3" devices: "d4" })pb")));
  EXPECT_TRUE(AreAlike(Share(cluster, R"pb(devices_to_use { hosts: "host0" })pb"),
                       Share(cluster, R"pb(devices_to_use { hosts: "host1" })pb")));
}

TEST(SharedProblemTest, IrregularPartsOfAHierarchyKeepTheirShape) {
  const v1::Cluster cluster = EightDevices(kHosts);
  const auto three = Share(cluster, R"pb(devices_to_use { devices: "d0" devices: "d1" devices: "d4" })pb");
  const auto mirrored = Share(cluster, R"pb(devices_to_use { devices: "d3" devices: "d6" devices: "d7" })pb");
  ASSERT_TRUE(AreAlike(three, mirrored));
  // The lonely one of either stands at the same place.
  EXPECT_EQ(PlaceOf("d4", three), PlaceOf("d3", mirrored));
}

TEST(SharedProblemTest, ClassAndMemoryTellDevicesApart) {
  v1::Cluster one = EightDevices(kUniform);
  one.mutable_devices(0)->set_device_class("big");
  v1::Cluster other = EightDevices(kUniform);
  other.mutable_devices(5)->set_device_class("big");
  const auto first = Share(one, "");
  const auto second = Share(other, "");
  ASSERT_TRUE(AreAlike(first, second));
  EXPECT_EQ(PlaceOf("d5", second), PlaceOf("d0", first));
  EXPECT_FALSE(AreAlike(first, Share(EightDevices(kUniform), "")));
  v1::Cluster reserved = EightDevices(kUniform);
  reserved.mutable_devices(0)->set_reserved_memory_bytes(1);
  EXPECT_FALSE(AreAlike(Share(reserved, ""), Share(EightDevices(kUniform), "")));
}

TEST(SharedProblemTest, WhatTheProblemSaysOfADeviceGoesWithIt) {
  const v1::Cluster cluster = EightDevices(kUniform);
  const auto shared = Share(cluster, R"pb(pinned { operator: "a" device: "d3" }
                                          forbidden { operator: "b" device: "d4" })pb");
  const auto other = Share(cluster, R"pb(pinned { operator: "a" device: "d0" }
                                         forbidden { operator: "b" device: "d7" })pb");
  ASSERT_TRUE(AreAlike(shared, other));
  const std::ptrdiff_t pinned = PlaceOf("d3", shared);
  EXPECT_EQ(PlaceOf("d0", other), pinned);
  EXPECT_EQ(shared->problem.pinned(0).device(), absl::StrCat(pinned));
  EXPECT_FALSE(AreAlike(shared, Share(cluster, R"pb(pinned { operator: "a" device: "d3" }
                                                    forbidden { operator: "b" device: "d3" })pb")));
  const auto start = Share(cluster, R"pb(start_from {
                                           stages { operators: "a" devices: "d0" devices: "d1" ring_order: "d1" }
                                           stages { operators: "b" devices: "d2" }
                                         })pb");
  EXPECT_TRUE(
      AreAlike(start, Share(cluster, R"pb(start_from {
                                            stages { operators: "a" devices: "d7" devices: "d2" ring_order: "d2" }
                                            stages { operators: "b" devices: "d1" }
                                          })pb")));
}

TEST(SharedProblemTest, MachinesAreAlikeAndSoArePlacesThatTheirLinksDoNotTellApart) {
  // Two machines of four devices, the first two of which are joined by a better link, as are the last two.
  const v1::Cluster cluster = EightDevices(R"pb(
    interconnect {
      nodes {
        devices_per_node: 4
        links { place_a: 0 place_b: 1 bandwidth_bytes_per_second: 4e10 }
        links { place_a: 2 place_b: 3 bandwidth_bytes_per_second: 4e10 }
        bandwidth_bytes_per_second: 1e10
        levels { fan_out: 2 bandwidth_bytes_per_second: 1e9 }
      }
    })pb");
  const auto joined = Share(cluster, R"pb(devices_to_use { devices: "d0" devices: "d1" })pb");
  EXPECT_TRUE(AreAlike(joined, Share(cluster, R"pb(devices_to_use { devices: "d7" devices: "d6" })pb")));
  const auto apart = Share(cluster, R"pb(devices_to_use { devices: "d0" devices: "d2" })pb");
  EXPECT_FALSE(AreAlike(joined, apart));
  EXPECT_TRUE(AreAlike(apart, Share(cluster, R"pb(devices_to_use { devices: "d5" devices: "d7" })pb")));
  EXPECT_FALSE(AreAlike(apart, Share(cluster, R"pb(devices_to_use { devices: "d0" devices: "d4" })pb")));
  EXPECT_TRUE(AreAlike(Share(cluster, R"pb(devices_to_use { hosts: "host0" })pb"),
                       Share(cluster, R"pb(devices_to_use { hosts: "host1" })pb")));
  // The lonely one of either stands at the same place.
  const auto three = Share(cluster, R"pb(devices_to_use { devices: "d0" devices: "d1" devices: "d2" })pb");
  const auto mirrored = Share(cluster, R"pb(devices_to_use { devices: "d5" devices: "d6" devices: "d7" })pb");
  ASSERT_TRUE(AreAlike(three, mirrored));
  EXPECT_EQ(PlaceOf("d2", three), PlaceOf("d5", mirrored));
}

constexpr char kJoint[] = "joint { global_batch: 8 }";

// Two racks of two hosts of two, the racks as fast as what joins them, and ports of a host that its devices share.
std::string Racks(const std::string& host_ports, const std::string& rack_bandwidth) {
  return absl::StrCat(
      "interconnect { hierarchy { levels { fan_out: 2 bandwidth_bytes_per_second: 1e11 } levels { fan_out: 2 ",
      "bandwidth_bytes_per_second: ", rack_bandwidth, host_ports,
      "} levels { fan_out: 2 bandwidth_bytes_per_second: 1e9 } } }");
}

// Joint plans count the ports of levels, and what passes a level passes those below it.
TEST(SharedProblemTest, JointPlansAreSharedAmongClustersWithTheSameLevelsOnly) {
  const v1::Cluster plain = EightDevices(Racks("", "2e9"));
  const v1::Cluster ports = EightDevices(Racks(" port_bandwidth_bytes_per_second: 1e9", "2e9"));
  const v1::Cluster slow = EightDevices(Racks("", "1e8"));
  EXPECT_FALSE(AreAlike(Share(plain, kJoint), Share(ports, kJoint)));
  const std::string far = absl::StrCat(kJoint, R"pb(devices_to_use { devices: "d0" devices: "d4" })pb");
  EXPECT_TRUE(AreAlike(Share(plain, far),
                       Share(EightDevices(Racks("", "2e9"), "gpu"),
                             absl::StrCat(kJoint, R"pb(devices_to_use { devices: "gpu3" devices: "gpu6" })pb"))));
  EXPECT_FALSE(AreAlike(Share(plain, far), Share(slow, far)));
  const std::string hosts = absl::StrCat(kJoint, R"pb(devices_to_use { devices: "d0" devices: "d2" })pb");
  EXPECT_FALSE(AreAlike(Share(slow, far), Share(slow, hosts)));
  // Half of each host is another machine than a host of half the size, whose devices have more of its ports each.
  const v1::Cluster halves =
      EightDevices(R"pb(interconnect {
                          hierarchy {
                            levels { fan_out: 1 bandwidth_bytes_per_second: 1e11 }
                            levels { fan_out: 8 bandwidth_bytes_per_second: 2e9 port_bandwidth_bytes_per_second: 1e9 }
                          }
                        })pb");
  const v1::Cluster pairs =
      EightDevices(R"pb(interconnect {
                          hierarchy {
                            levels { fan_out: 2 bandwidth_bytes_per_second: 1e11 }
                            levels { fan_out: 4 bandwidth_bytes_per_second: 2e9 port_bandwidth_bytes_per_second: 1e9 }
                          }
                        })pb");
  EXPECT_FALSE(AreAlike(Share(halves, hosts), Share(pairs, hosts)));
}

TEST(SharedProblemTest, JointPlansAreSharedAmongClustersWithTheSameOrderOfClassesOnly) {
  v1::Cluster one = EightDevices(kHosts);
  one.mutable_devices(0)->set_device_class("big");
  v1::Cluster other = one;
  other.mutable_device_classes()->SwapElements(0, 1);
  EXPECT_TRUE(AreAlike(Share(one, ""), Share(other, "")));
  EXPECT_FALSE(AreAlike(Share(one, kJoint), Share(other, kJoint)));
}

TEST(SharedProblemTest, WhereNamesMatterNothingIsShared) {
  const auto matrix = Wire<v1::Cluster>(R"pb(
    device_classes { name: "gpu" }
    devices { name: "d0" device_class: "gpu" }
    devices { name: "d1" device_class: "gpu" }
    interconnect { links { links { device_a: "d0" device_b: "d1" bandwidth_bytes_per_second: 1 } } })pb");
  EXPECT_FALSE(Share(matrix, "").has_value());
  const v1::Cluster cluster = EightDevices(kUniform);
  // Broken rules are to be told to the one who broke them.
  EXPECT_FALSE(Share(cluster, R"pb(devices_to_use { hosts: "nowhere" hosts: "host0" })pb").has_value());
  EXPECT_FALSE(Share(cluster, R"pb(devices_to_use { devices: "d0" }
                                   pinned { operator: "a" device: "d1" })pb")
                   .has_value());
  EXPECT_FALSE(
      Share(EightDevices("interconnect { hierarchy { levels { fan_out: 3 bandwidth_bytes_per_second: 1 } } }"), "")
          .has_value());
}

}  // namespace
}  // namespace planwright::server
