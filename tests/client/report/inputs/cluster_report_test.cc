#include "client/report/inputs/cluster_report.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

namespace planwright::client {
namespace {

using ::testing::HasSubstr;

// Of `devices` devices of one class.
std::string Report(int devices, const std::string& interconnect) {
  v1::Cluster cluster;
  const std::string text =
      "device_classes { name: 'v100' memory_bytes: 34359738368 peak_flops: 125e12 "
      "memory_bandwidth_bytes_per_second: 900e9 } interconnect {" +
      interconnect + "}";
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &cluster));
  v1::DeviceGroup& group = *cluster.add_device_groups();
  group.set_device_class("v100");
  group.set_count(devices);
  return ClusterReport("zoo:x", cluster);
}

TEST(ClusterReportTest, SaysWhatThereIs) {
  EXPECT_EQ(Report(2, "uniform { bandwidth_bytes_per_second: 20e9 latency_ms: 0.005 }"),
            "zoo:x: 2 devices\n"
            "\n"
            "  class  devices     memory         peak  memory bandwidth\n"
            "  v100         2  32.00 GiB  125 TFLOP/s          900 GB/s\n"
            "\n"
            "  joined      pairs  bandwidth  latency\n"
            "  every pair      1    20 GB/s     5 us\n");
}

TEST(ClusterReportTest, CountsTheLinksOfMachines) {
  const std::string report = Report(8,
                                    "nodes { devices_per_node: 4 bandwidth_bytes_per_second: 10e9 "
                                    "links { place_a: 0 place_b: 1 bandwidth_bytes_per_second: 50e9 } "
                                    "links { place_a: 2 place_b: 3 bandwidth_bytes_per_second: 50e9 } "
                                    "links { place_a: 1 place_b: 2 bandwidth_bytes_per_second: 25e9 } "
                                    "levels { fan_out: 2 bandwidth_bytes_per_second: 3e9 } }");
  EXPECT_THAT(report, HasSubstr("  linked devices of a node of 4      4    50 GB/s     0 us\n"
                                "  linked devices of a node of 4      2    25 GB/s     0 us\n"
                                "  other devices of a node            6    10 GB/s     0 us\n"
                                "  nodes of a group of 2             16     3 GB/s     0 us\n"));
}

TEST(ClusterReportTest, CountsThePairsOfEveryLevel) {
  const std::string report =
      Report(12,
             "hierarchy { levels { fan_out: 3 bandwidth_bytes_per_second: 9e9 } levels { fan_out: 2 "
             "bandwidth_bytes_per_second: 5e9 } levels { fan_out: 2 bandwidth_bytes_per_second: 1e9 latency_ms: 1 } }");
  EXPECT_THAT(report, HasSubstr("  devices of a group of 3         12     9 GB/s     0 us\n"
                                "  groups of 3 of a group of 2     18     5 GB/s     0 us\n"
                                "  groups of 6 of a group of 2     36     1 GB/s  1000 us\n"));
}

TEST(ClusterReportTest, CountsTheNeighboursOfAGrid) {
  const std::string torus =
      "grid { dimensions: 4 dimensions: 2 wrap_around: true link_bandwidth_bytes_per_second: 25e9 ";
  // Rows are rings of 4, columns pairs.
  EXPECT_THAT(Report(8, torus + "non_adjacent: NON_ADJACENT_DIVIDED_BY_HOPS }"),
              HasSubstr("  neighbours in the torus 4 x 2     12         25 GB/s     0 us\n"
                        "  others                            16  25 GB/s / hops     0 us\n"));
  EXPECT_THAT(Report(8, torus + "}"), HasSubstr("  others                            16    25 GB/s     0 us\n"));
}

TEST(ClusterReportTest, ShowsTheRangeOfAMatrix) {
  EXPECT_THAT(Report(2,
                     "matrix { bandwidth_bytes_per_second: 0 bandwidth_bytes_per_second: 2e9 "
                     "bandwidth_bytes_per_second: 2e9 bandwidth_bytes_per_second: 0 }"),
              HasSubstr("every pair by itself      1  2 GB/s to 2 GB/s"));
}

}  // namespace
}  // namespace planwright::client
