#include "client/importer/clusters/yaml/cluster_yaml.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/importer/importer.h"
#include "client/report/json.h"

namespace planwright::client {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr char kFourNodes[] =
    "name: four nodes\n"
    "nodes:\n"
    "  - hosts: node[0-3]\n"
    "    devices: 8\n"
    "    class: h100\n"
    "inside: nvlink\n"
    "between: 400 Gb/s\n";

v1::Cluster ReadCluster(const std::string& text) {
  const auto cluster = ReadClusterYaml(text, "c.yaml");
  EXPECT_TRUE(cluster.ok()) << text << "\n" << cluster.status();
  return cluster.ok() ? *cluster : v1::Cluster();
}

std::vector<std::string> DeviceNames(const v1::Cluster& cluster) {
  std::vector<std::string> names;
  for (const v1::Device& device : cluster.devices()) names.push_back(device.name());
  return names;
}

TEST(ClusterYamlTest, FourNodesOfEightBecomeAHierarchy) {
  const v1::Cluster cluster = ReadCluster(kFourNodes);
  EXPECT_EQ(cluster.display_name(), "four nodes");
  ASSERT_THAT(cluster.device_classes(), SizeIs(1));
  EXPECT_EQ(cluster.device_classes(0).name(), "h100");
  EXPECT_EQ(cluster.device_classes(0).kind(), v1::DEVICE_KIND_ACCELERATOR);
  EXPECT_EQ(cluster.device_classes(0).memory_bytes(), int64_t{80} << 30);
  EXPECT_EQ(cluster.device_classes(0).peak_flops(), 989e12);
  ASSERT_THAT(cluster.devices(), SizeIs(32));
  EXPECT_EQ(cluster.devices(0).name(), "node0/gpu0");
  EXPECT_EQ(cluster.devices(15).name(), "node1/gpu7");
  EXPECT_EQ(cluster.devices(15).host(), "node1");
  EXPECT_EQ(cluster.devices(15).device_class(), "h100");
  const auto& levels = cluster.interconnect().hierarchy().levels();
  ASSERT_THAT(levels, SizeIs(2));
  EXPECT_EQ(levels[0].fan_out(), 8);
  EXPECT_EQ(levels[0].bandwidth_bytes_per_second(), 370e9);
  EXPECT_EQ(levels[0].latency_ms(), 0.005);
  EXPECT_EQ(levels[1].fan_out(), 4);
  EXPECT_EQ(levels[1].bandwidth_bytes_per_second(), 50e9);
  EXPECT_EQ(levels[1].latency_ms(), 0);
}

TEST(ClusterYamlTest, OneHostIsUniform) {
  const v1::Cluster cluster =
      ReadCluster("nodes: [{hosts: box, devices: 4, class: a100}]\ninside: {bandwidth: nvlink, latency: 1 us}\n");
  EXPECT_THAT(DeviceNames(cluster), ElementsAre("box/gpu0", "box/gpu1", "box/gpu2", "box/gpu3"));
  EXPECT_EQ(cluster.interconnect().uniform().bandwidth_bytes_per_second(), 240e9);
  EXPECT_EQ(cluster.interconnect().uniform().latency_ms(), 0.001);
}

TEST(ClusterYamlTest, OneDeviceNeedsNoLink) {
  const v1::Cluster cluster = ReadCluster("nodes: [{hosts: box, devices: 1, class: l4}]\n");
  EXPECT_TRUE(cluster.interconnect().has_uniform());
  EXPECT_FALSE(cluster.interconnect().uniform().has_bandwidth_bytes_per_second());
}

TEST(ClusterYamlTest, HostsWithOneDeviceEachAreUniform) {
  const v1::Cluster cluster = ReadCluster("nodes: [{hosts: 'n[0-2]', devices: 1, class: l4}]\nbetween: 100 Gb/s\n");
  EXPECT_THAT(cluster.devices(), SizeIs(3));
  EXPECT_EQ(cluster.interconnect().uniform().bandwidth_bytes_per_second(), 12.5e9);
}

TEST(ClusterYamlTest, DevicesThatExchangeThroughTheirHost) {
  const v1::Cluster cluster = ReadCluster(
      "nodes:\n"
      "  - {hosts: box, devices: 2, class: v100-pcie}\n"
      "  - {hosts: box, devices: 1, class: cpu}\n"
      "  - {hosts: box, devices: 1, class: a10}\n"
      "through_host: pcie3\n");
  EXPECT_THAT(DeviceNames(cluster), ElementsAre("box/gpu0", "box/gpu1", "box/cpu0", "box/gpu2"));
  EXPECT_EQ(cluster.device_classes(1).kind(), v1::DEVICE_KIND_CPU);
  EXPECT_FALSE(cluster.device_classes(1).has_memory_bytes());
  EXPECT_EQ(cluster.interconnect().host_staged().bandwidth_bytes_per_second(), 12e9);
  EXPECT_EQ(cluster.interconnect().host_staged().latency_ms(), 0.01);
}

TEST(ClusterYamlTest, EntriesOfOneHostAddUpHostByHost) {
  const v1::Cluster cluster = ReadCluster(
      "nodes:\n"
      "  - {hosts: 'n[0-1]', devices: 2, class: h100}\n"
      "  - {hosts: 'n[0-1]', devices: 1, class: cpu}\n"
      "inside: 50 GB/s\n"
      "between: 10 GB/s\n");
  EXPECT_THAT(DeviceNames(cluster), ElementsAre("n0/gpu0", "n0/gpu1", "n0/cpu0", "n1/gpu0", "n1/gpu1", "n1/cpu0"));
  EXPECT_EQ(cluster.interconnect().hierarchy().levels(0).fan_out(), 3);
  EXPECT_EQ(cluster.interconnect().hierarchy().levels(1).fan_out(), 2);
}

TEST(ClusterYamlTest, LabelsAndReservedMemoryGoToEveryDeviceOfTheEntry) {
  const v1::Cluster cluster = ReadCluster(
      "nodes:\n"
      "  - {hosts: a, devices: 2, class: l4, reserved_memory: 2 GiB, labels: {rack: r1, slot: 3}}\n"
      "  - {hosts: b, devices: 2, class: l4}\n"
      "inside: 1 GB/s\nbetween: 1 GB/s\n");
  for (const int device : {0, 1}) {
    EXPECT_EQ(cluster.devices(device).reserved_memory_bytes(), int64_t{2} << 30);
    EXPECT_THAT(cluster.devices(device).labels(), UnorderedElementsAre(Pair("rack", "r1"), Pair("slot", "3")));
  }
  EXPECT_EQ(cluster.devices(2).reserved_memory_bytes(), 0);
  EXPECT_TRUE(cluster.devices(2).labels().empty());
}

TEST(ClusterYamlTest, ExcludedHostsAreGone) {
  const v1::Cluster two = ReadCluster(absl::StrCat(kFourNodes, "exclude: node[1,3]\n"));
  EXPECT_THAT(two.devices(), SizeIs(16));
  EXPECT_EQ(two.devices(8).host(), "node2");
  EXPECT_EQ(two.interconnect().hierarchy().levels(1).fan_out(), 2);
  const v1::Cluster one = ReadCluster(absl::StrCat(kFourNodes, "exclude: node[0-2]\n"));
  EXPECT_EQ(one.devices(0).name(), "node3/gpu0");
  EXPECT_EQ(one.interconnect().uniform().bandwidth_bytes_per_second(), 370e9) << "between is of no use any more";
}

TEST(ClusterYamlTest, ClassesWithoutDevicesAreLeftOut) {
  const v1::Cluster cluster = ReadCluster(
      "classes: {spare: {memory: 1 GB}}\n"
      "nodes: [{hosts: a, devices: 1, class: l4}, {hosts: b, devices: 1, class: a10}]\n"
      "between: 1 GB/s\nexclude: a\n");
  ASSERT_THAT(cluster.device_classes(), SizeIs(1));
  EXPECT_EQ(cluster.device_classes(0).name(), "a10");
}

TEST(ClusterYamlTest, KnownClassesCanBeChangedInPart) {
  const v1::DeviceClass changed = ReadCluster(
                                      "classes: {h100: {memory: 94 GB, nvlink: 1 TB/s}}\nnodes: [{hosts: a, devices: "
                                      "2, class: h100}]\ninside: nvlink\n")
                                      .device_classes(0);
  EXPECT_EQ(changed.memory_bytes(), 94'000'000'000);
  EXPECT_EQ(changed.peak_flops(), 989e12);
  EXPECT_EQ(changed.compute_efficiency(), 0.5);
}

TEST(ClusterYamlTest, ClassesSayWhatTheyReachWhenTheyTrain) {
  const v1::Cluster cluster = ReadCluster(
      "classes: {h100: {training: {products: 0.7, hidden_in_layers: 0, launch: 3 us}}}\n"
      "nodes: [{hosts: a, devices: 2, class: h100}]\ninside: nvlink\n");
  const v1::TrainingEfficiency& training = cluster.device_classes(0).training();
  EXPECT_EQ(training.products(), 0.7);
  EXPECT_TRUE(training.has_hidden_in_layers());
  EXPECT_EQ(training.hidden_in_layers(), 0);
  EXPECT_EQ(training.launch_ms(), 0.003);
  EXPECT_FALSE(training.has_network());
}

TEST(ClusterYamlTest, HostsHavePorts) {
  const v1::Cluster cluster = ReadCluster(
      "nodes: [{hosts: 'a[0-3]', devices: 8, class: a100}]\ninside: nvlink\n"
      "between: {bandwidth: 100 Gb/s, ports: 400 Gb/s}\n");
  const auto& levels = cluster.interconnect().hierarchy().levels();
  EXPECT_EQ(levels[1].bandwidth_bytes_per_second(), 12.5e9);
  EXPECT_EQ(levels[1].port_bandwidth_bytes_per_second(), 50e9);
  EXPECT_FALSE(levels[0].has_port_bandwidth_bytes_per_second());
}

TEST(ClusterYamlTest, NewClassesSayWhatTheyAre) {
  const v1::Cluster cluster = ReadCluster(
      "classes:\n"
      "  chip: {memory: 1 TiB, peak_flops: 2 PFLOPS, compute_efficiency: 0.6, memory_bandwidth: 4 TB/s,\n"
      "         kernel_overhead: 8 us, nvlink: 80 GB/s}\n"
      "  host: {kind: cpu}\n"
      "  toy: {memory: unlimited}\n"
      "nodes: [{hosts: a, devices: 2, class: chip}, {hosts: a, devices: 1, class: host}, "
      "{hosts: a, devices: 1, class: toy}]\n"
      "inside: 1 GB/s\n");
  const v1::DeviceClass& chip = cluster.device_classes(0);
  EXPECT_EQ(chip.memory_bytes(), int64_t{1} << 40);
  EXPECT_EQ(chip.peak_flops(), 2e15);
  EXPECT_EQ(chip.compute_efficiency(), 0.6);
  EXPECT_EQ(chip.memory_bandwidth_bytes_per_second(), 4e12);
  EXPECT_EQ(chip.kernel_overhead_ms(), 0.008);
  EXPECT_EQ(cluster.device_classes(1).kind(), v1::DEVICE_KIND_CPU);
  EXPECT_FALSE(cluster.device_classes(1).has_memory_bytes());
  EXPECT_EQ(cluster.device_classes(2).kind(), v1::DEVICE_KIND_ACCELERATOR);
  EXPECT_FALSE(cluster.device_classes(2).has_memory_bytes());
}

TEST(ClusterYamlTest, NvlinkIsThatOfTheSlowestClass) {
  const v1::Cluster cluster = ReadCluster(
      "nodes: [{hosts: a, devices: 1, class: h100}, {hosts: a, devices: 1, class: a100}]\ninside: nvlink\n");
  EXPECT_EQ(cluster.interconnect().uniform().bandwidth_bytes_per_second(), 240e9);
}

TEST(ClusterYamlTest, SurvivesBeingWrittenAsJson) {
  for (const std::string& text :
       {std::string(kFourNodes), absl::StrCat(kFourNodes, "exclude: node[1,3]\n"),
        std::string("nodes: [{hosts: box, devices: 2, class: l4, labels: {'a b': \"\u00e4\"}}]\n"
                    "through_host: pcie4\n")}) {
    const v1::Cluster cluster = ReadCluster(text);
    const std::string json = JsonText(cluster);
    const auto again = ImportCluster(json, "again");
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(again->cluster, cluster)) << json;
  }
}

TEST(ClusterYamlTest, LevelsOfHostsBecomeLevelsOfAHierarchy) {
  const v1::Cluster cluster = ReadCluster(
      "nodes: [{hosts: 'n[0-15]', devices: 8, class: h100}]\n"
      "inside: 370 GB/s\n"
      "between:\n"
      "  - {hosts: 4, bandwidth: 400 Gb/s, latency: 5 us}\n"
      "  - {hosts: 8, bandwidth: 200 Gb/s}\n"
      "  - {bandwidth: 100 Gb/s, latency: 20 us}\n");
  const auto& levels = cluster.interconnect().hierarchy().levels();
  ASSERT_THAT(levels, SizeIs(4));
  std::vector<std::pair<int, double>> found;
  for (const auto& level : levels) found.emplace_back(level.fan_out(), level.bandwidth_bytes_per_second());
  EXPECT_THAT(found, ElementsAre(Pair(8, 370e9), Pair(4, 50e9), Pair(2, 25e9), Pair(2, 12.5e9)));
  EXPECT_EQ(levels[3].latency_ms(), 0.02);
}

TEST(ClusterYamlTest, LevelsOfHostsWithOneDeviceNeedNoInside) {
  const auto levels = ReadCluster(
                          "nodes: [{hosts: 'n[0-5]', devices: 1, class: l4}]\n"
                          "between: [{hosts: 3, bandwidth: 10 GB/s}, {bandwidth: 1 GB/s}]\n")
                          .interconnect()
                          .hierarchy()
                          .levels();
  ASSERT_THAT(levels, SizeIs(2));
  EXPECT_EQ(levels[0].fan_out(), 3);
  EXPECT_EQ(levels[1].fan_out(), 2);
}

// Bandwidth of a pair in GB/s.
double PairGb(const v1::Cluster& cluster, int a, int b) {
  return cluster.interconnect().matrix().bandwidth_bytes_per_second(a * cluster.devices_size() + b) / 1e9;
}

TEST(ClusterYamlTest, UnequalHostsBecomeAMatrix) {
  const v1::Cluster cluster = ReadCluster(
      "nodes:\n"
      "  - {hosts: a, devices: 2, class: h100}\n"
      "  - {hosts: 'b[0-1]', devices: 3, class: l4}\n"
      "inside: 50 GB/s\n"
      "between: {bandwidth: 10 GB/s, latency: 9 us}\n");
  ASSERT_THAT(cluster.devices(), SizeIs(8));
  ASSERT_THAT(cluster.interconnect().matrix().bandwidth_bytes_per_second(), SizeIs(64));
  EXPECT_EQ(PairGb(cluster, 0, 1), 50);
  EXPECT_EQ(PairGb(cluster, 1, 2), 10);
  EXPECT_EQ(PairGb(cluster, 4, 2), 50);
  EXPECT_EQ(PairGb(cluster, 4, 5), 10);
  EXPECT_DOUBLE_EQ(cluster.interconnect().matrix().latency_ms(), 0.009);
}

TEST(ClusterYamlTest, LevelsThatDoNotDivideTheHostsBecomeAMatrix) {
  const v1::Cluster cluster = ReadCluster(
      "nodes: [{hosts: 'n[0-4]', devices: 1, class: l4}]\n"
      "between: [{hosts: 2, bandwidth: 20 GB/s}, {bandwidth: 5 GB/s}]\n");
  EXPECT_EQ(PairGb(cluster, 0, 1), 20);
  EXPECT_EQ(PairGb(cluster, 2, 3), 20);
  EXPECT_EQ(PairGb(cluster, 1, 2), 5);
  EXPECT_EQ(PairGb(cluster, 4, 3), 5);
}

TEST(ClusterYamlTest, IsToldApartByItsContent) {
  for (const std::string text : {kFourNodes, "# c\n\n  # d\nnodes: x", "---\nnodes: x", "%YAML 1.2\n---\nnodes: x",
                                 "\"nodes\": x", "'nodes': x", "- a", "nods:\n  - x", "through-host: x"}) {
    EXPECT_TRUE(LooksLikeClusterYaml(text)) << text;
  }
  for (const std::string text : {"", "# nothing", "{nodes: []}", "[]", "display_name: \"c\"", "devices { name: \"d\" }",
                                 "devices: [{}]", "cluster { }", "cluster: { }", "graph_reference : \"zoo:x\"",
                                 "\x7f"
                                 "ELF",
                                 "hello world", "interconnect <\n>"}) {
    EXPECT_FALSE(LooksLikeClusterYaml(text)) << text;
  }
}

TEST(ClusterYamlTest, AGraphIsNotACluster) {
  const auto graph = ImportGraph(kFourNodes, "c.yaml", {.format = GraphFormat::kAuto});
  EXPECT_EQ(graph.status().message(), "c.yaml: holds a cluster, not a graph: give it to --cluster");
}

}  // namespace
}  // namespace planwright::client
