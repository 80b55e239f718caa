#include "server/codec/cluster.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "core/joint/cost/training_efficiency.h"
#include "tests/support/wire.h"

namespace planwright::server {
namespace {

using google::protobuf::util::MessageDifferencer;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kMaxDevices = 100;

constexpr char kDevices[] = R"pb(
  display_name: "box"
  device_classes {
    name: "gpu"
    kind: DEVICE_KIND_ACCELERATOR
    memory_bytes: 1000
    peak_flops: 1e12
    compute_efficiency: 0.5
    memory_bandwidth_bytes_per_second: 1e9
    kernel_overhead_ms: 0.01
    training {
      products: 0.1
      half_extent: 20
      attention: 0.2
      eight_bit_gain: 1.5
      memory: 0.3
      network: 0.4
      hidden_in_layers: 0.6
      hidden_among_data: 0.7
      hidden_at_step_end: 0.8
      launch_ms: 0.009
    }
  }
  device_classes { name: "cpu" kind: DEVICE_KIND_CPU compute_efficiency: 1 }
  devices {
    name: "g0"
    device_class: "gpu"
    host: "h0"
    labels { key: "rack" value: "7" }
    reserved_memory_bytes: 10
  }
  devices { name: "c0" device_class: "cpu" }
)pb";

std::vector<std::string> ViolationsInCluster(const std::string& cluster) {
  Violations violations;
  DecodeCluster(Wire<v1::Cluster>(cluster), kMaxDevices, violations);
  return Lines(violations);
}

std::vector<std::string> GroupViolations(const std::string& groups) {
  return ViolationsInCluster("device_classes { name: 'gpu' } interconnect { uniform {} } " + groups);
}

class InterconnectCodecTest : public testing::TestWithParam<const char*> {};

TEST_P(InterconnectCodecTest, EveryFieldMakesTheRoundTrip) {
  const auto wire = Wire<v1::Cluster>(kDevices + std::string("interconnect {") + GetParam() + "}");
  Violations violations;
  const Cluster cluster = DecodeCluster(wire, kMaxDevices, violations);
  EXPECT_THAT(Lines(violations), IsEmpty());
  std::string difference;
  MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differencer.Compare(wire, EncodeCluster(cluster))) << difference;
}

INSTANTIATE_TEST_SUITE_P(
    AllKinds, InterconnectCodecTest,
    testing::Values(
        "host_staged { bandwidth_bytes_per_second: 1e9 latency_ms: 0.5 }", "host_staged {}",
        "uniform { bandwidth_bytes_per_second: 1e9 latency_ms: 0.5 }",
        "hierarchy { levels { fan_out: 2 bandwidth_bytes_per_second: 1e9 latency_ms: 1 } "
        "levels { fan_out: 1 port_bandwidth_bytes_per_second: 7 } }",
        "grid { dimensions: 2 dimensions: 1 wrap_around: true link_bandwidth_bytes_per_second: 5 latency_ms: 1 "
        "non_adjacent: NON_ADJACENT_DIVIDED_BY_HOPS }",
        "links { links { device_a: 'g0' device_b: 'c0' bandwidth_bytes_per_second: 3 latency_ms: 2 } "
        "routing: ROUTING_SHORTEST_PATH }",
        "matrix { bandwidth_bytes_per_second: 0 bandwidth_bytes_per_second: 1 bandwidth_bytes_per_second: 2 "
        "bandwidth_bytes_per_second: 3 latency_ms: 4 }",
        "nodes { devices_per_node: 2 bandwidth_bytes_per_second: 5 latency_ms: 1 levels { fan_out: 1 latency_ms: 3 } "
        "links { place_a: 0 place_b: 1 bandwidth_bytes_per_second: 6 latency_ms: 2 } }"));

TEST(ClusterCodecTest, ReportsNamesTimesAndAnUnsetInterconnect) {
  EXPECT_THAT(ViolationsInCluster(R"pb(
                device_classes { name: "gpu" kernel_overhead_ms: nan }
                devices { name: "g0" device_class: "gpx" }
              )pb"),
              ElementsAre("cluster.device_classes[0].kernel_overhead_ms: must be finite and >= 0, is nan",
                          "cluster.devices[0].device_class: must name a device class of the cluster, is \"gpx\"",
                          "cluster.interconnect: must be one of host_staged, uniform, hierarchy, grid, links, "
                          "matrix and nodes; none of them is set"));
}

TEST(ClusterCodecTest, TrainingLeavesTheRestToTheBuiltInClass) {
  Violations violations;
  const Cluster cluster = DecodeCluster(Wire<v1::Cluster>(R"pb(
                                          device_classes {
                                            name: "h100-sxm5-80gb"
                                            training { network: 0.5 }
                                          }
                                          device_classes { name: "h100-pcie" }
                                          device_classes {
                                            name: "chip"
                                            training { launch_ms: 1 }
                                          }
                                          interconnect { uniform {} }
                                        )pb"),
                                        kMaxDevices, violations);
  EXPECT_THAT(Lines(violations), IsEmpty());
  TrainingEfficiency expected = BuiltInEfficiency("h100").value();
  expected.network = 0.5;
  EXPECT_EQ(cluster.device_classes[0].training, expected);
  EXPECT_FALSE(cluster.device_classes[1].training.has_value());
  EXPECT_EQ(cluster.device_classes[2].training, TrainingEfficiency{.launch = Picoseconds(1'000'000'000)});
}

TEST(ClusterCodecTest, ReportsLinksBetweenUnknownDevices) {
  EXPECT_THAT(ViolationsInCluster(kDevices + std::string("interconnect { links { links { device_a: 'g0' device_b: 'x' "
                                                         "latency_ms: inf } } }")),
              ElementsAre("cluster.interconnect.links.links[0].device_b: must name a device of the cluster, is \"x\"",
                          "cluster.interconnect.links.links[0].latency_ms: must be finite and >= 0, is inf"));
}

TEST(ClusterCodecTest, ReportsUnknownEnumNumbers) {
  auto wire = Wire<v1::Cluster>("device_classes { name: 'gpu' } interconnect { grid { } }");
  wire.mutable_device_classes(0)->set_kind(static_cast<v1::DeviceKind>(7));
  wire.mutable_interconnect()->mutable_grid()->set_non_adjacent(static_cast<v1::Interconnect::NonAdjacent>(8));
  Violations violations;
  DecodeCluster(wire, kMaxDevices, violations);
  EXPECT_THAT(Lines(violations),
              ElementsAre("cluster.device_classes[0].kind: must be a value of DeviceKind, is 7",
                          "cluster.interconnect.grid.non_adjacent: must be a value of NonAdjacent, is 8"));
}

TEST(DeviceGroupTest, ExpandsAfterTheListedDevices) {
  Violations violations;
  const Cluster cluster =
      DecodeCluster(Wire<v1::Cluster>(R"pb(
                      device_classes { name: "gpu" }
                      devices { name: "first" device_class: "gpu" }
                      device_groups { name_prefix: "g" device_class: "gpu" count: 4 hosts: "h0" hosts: "h1" }
                      interconnect { uniform {} }
                    )pb"),
                    kMaxDevices, violations);
  EXPECT_THAT(Lines(violations), IsEmpty());
  ASSERT_EQ(cluster.devices.size(), 5);
  EXPECT_EQ(cluster.devices[0].name, "first");
  EXPECT_EQ(cluster.devices[1].name, "g0");
  EXPECT_EQ(cluster.devices[4].name, "g3");
  EXPECT_EQ(cluster.devices[2].host, "h0");
  EXPECT_EQ(cluster.devices[3].host, "h1");
}

TEST(DeviceGroupTest, MayBeOnOneHostOrNone) {
  Violations violations;
  const Cluster cluster = DecodeCluster(Wire<v1::Cluster>(R"pb(
                                          device_classes { name: "gpu" }
                                          device_groups { name_prefix: "a" device_class: "gpu" count: 2 hosts: "h0" }
                                          device_groups { name_prefix: "b" device_class: "gpu" count: 1 }
                                          interconnect { uniform {} }
                                        )pb"),
                                        kMaxDevices, violations);
  EXPECT_THAT(Lines(violations), IsEmpty());
  ASSERT_EQ(cluster.devices.size(), 3);
  EXPECT_EQ(cluster.devices[0].host, "h0");
  EXPECT_EQ(cluster.devices[1].host, "h0");
  EXPECT_EQ(cluster.devices[2].host, "");
}

TEST(DeviceGroupTest, ReportsWhatDoesNotExpand) {
  EXPECT_THAT(GroupViolations("device_groups { name_prefix: 'g' device_class: 'gpu' }"),
              ElementsAre("cluster.device_groups[0].count: must be >= 1, is 0"));
  EXPECT_THAT(GroupViolations("device_groups { device_class: 'gpu' count: 3 hosts: 'a' hosts: 'b' }"),
              ElementsAre("cluster.device_groups[0].count: must be a multiple of the number of hosts (2), is 3"));
  EXPECT_THAT(
      GroupViolations("device_groups { device_class: 'tpu' count: 1 }"),
      ElementsAre("cluster.device_groups[0].device_class: must name a device class of the cluster, is \"tpu\""));
}

TEST(DeviceGroupTest, ReportsNamesThatAreTaken) {
  EXPECT_THAT(GroupViolations("devices { name: 'g1' device_class: 'gpu' } "
                              "device_groups { name_prefix: 'g' device_class: 'gpu' count: 5 }"),
              ElementsAre("cluster.device_groups[0].name_prefix: makes a second \"g1\""));
}

TEST(DeviceGroupTest, DoesNotMakeMoreDevicesThanTheLimit) {
  EXPECT_THAT(GroupViolations("device_groups { name_prefix: 'a' device_class: 'gpu' count: 60 } "
                              "device_groups { name_prefix: 'b' device_class: 'gpu' count: 2147483647 }"),
              ElementsAre("cluster.device_groups[1].count: makes 2147483707 devices, the limit is 100"));
}

}  // namespace
}  // namespace planwright::server
