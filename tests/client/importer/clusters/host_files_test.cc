// Files that group hosts: topologies of Slurm and topograph, nodes of Kubernetes, measurements of nccl-tests. Samples
// are written from the documentation of the tools.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/client/importer/clusters/cluster_files.h"

namespace planwright::client {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ClusterOptions EightH100() {
  ClusterOptions options;
  options.device_class = "h100";
  options.devices_per_host = 8;
  options.levels = {{"1", 50e9}, {"2", 25e9}};
  return options;
}

constexpr char kSlurm[] =
    "# topology/tree\n"
    "SwitchName=leaf0 Nodes=n[00-03] LinkSpeed=100\n"
    "switchname=leaf1 nodes=n[04-06],n07\n"
    "SwitchName=spine \\\n"
    "  Switches=leaf[0-1]\n";

TEST(SlurmTopologyTest, SwitchesBecomeLevels) {
  const auto [cluster, warnings] = ReadClusterFile(kSlurm, EightH100());
  ASSERT_THAT(cluster.devices(), SizeIs(64));
  EXPECT_EQ(cluster.devices(63).name(), "n07/gpu7");
  EXPECT_EQ(HierarchyText(cluster), "8 x 370, 4 x 50, 2 x 25");
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("every pair is taken to reach 370 GB/s; --link=inside=BANDWIDTH")));
}

TEST(SlurmTopologyTest, LevelsWithoutBandwidthAreSaidToBeLeftOut) {
  ClusterOptions options = EightH100();
  options.levels = {{"2", 25e9}};
  const auto [cluster, warnings] = ReadClusterFile(kSlurm, options);
  EXPECT_EQ(HierarchyText(cluster), "8 x 370, 8 x 25");
  EXPECT_THAT(warnings, Contains(HasSubstr("says how fast they are: 1")));
}

TEST(SlurmTopologyTest, UnequalSwitchesBecomeAMatrix) {
  const auto [cluster, warnings] = ReadClusterFile(absl::StrReplaceAll(kSlurm, {{",n07", ""}}), EightH100());
  EXPECT_THAT(cluster.devices(), SizeIs(56));
  EXPECT_EQ(MatrixGb(cluster, 0, 8), 50);
  EXPECT_EQ(MatrixGb(cluster, 0, 55), 25);
  EXPECT_EQ(MatrixGb(cluster, 0, 7), 370);
  EXPECT_THAT(warnings, Contains(HasSubstr("on level 1 the group of n00 has 4 hosts and that of n04 3")));
}

TEST(SlurmTopologyTest, LargeIrregularTreesNameTheHost) {
  const std::string text = absl::StrReplaceAll(kSlurm, {{"n[00-03]", "n[1000-1999]"}});
  EXPECT_THAT(
      ClusterFileErrors(text, EightH100()),
      ElementsAre(HasSubstr("too large for a matrix (8032 devices, at most 2048): on level 1 the group of n1000 "
                            "has 1000 hosts and that of n04 4")));
}

TEST(SlurmTopologyTest, BlocksAreOneLevel) {
  ClusterOptions options = EightH100();
  options.levels = {{"1", 50e9}};
  options.between = 10e9;
  EXPECT_EQ(
      HierarchyText(
          ReadClusterFile("BlockName=b1 Nodes=a[1-2]\nBlockName=b2 Nodes=b[1-2]\nBlockSizes=2\n", options).cluster),
      "8 x 370, 2 x 50, 2 x 10");
}

TEST(SlurmTopologyTest, ReadsTheNewerFile) {
  const std::string text =
      "- topology: first\n  cluster_default: false\n  flat: true\n"
      "- topology: second\n  cluster_default: true\n  tree:\n    switches:\n"
      "      - {switch: root, children: 'sw[1-2]'}\n"
      "      - {switch: sw1, nodes: 'node[01-02]'}\n"
      "      - {switch: sw2, nodes: 'node[03-04]'}\n";
  EXPECT_EQ(HierarchyText(ReadClusterFile(text, EightH100()).cluster), "8 x 370, 2 x 50, 2 x 25");
}

TEST(SlurmTopologyTest, NamesEveryMistakeAndItsLine) {
  const ClusterOptions options = EightH100();
  EXPECT_THAT(ClusterFileErrors("SwitchName=a Nodes=n[0\nSwitchName=a Switches=b\nSpeed=1\nSwitchName=c\n", options),
              ElementsAre("Nodes: has a \"[\" without its \"]\", is \"n[0\" (line 1)",
                          "a: must have a name of its own, is that of line 1 (line 2)",
                          "speed: is not a key of topology.conf (line 3)", "c: must have Nodes or Switches (line 4)"));
  EXPECT_THAT(ClusterFileErrors("SwitchName=a Switches=b\n", options), ElementsAre("a: there is no switch b (line 1)"));
  EXPECT_THAT(ClusterFileErrors("SwitchName=a Switches=b Nodes=n1\nSwitchName=b Switches=a Nodes=n2\n", options),
              Contains(HasSubstr("or is below itself")));
  ClusterOptions without = options;
  without.levels = {};
  EXPECT_THAT(ClusterFileErrors(kSlurm, without), ElementsAre(HasSubstr("nothing joins n00 and n01: say how fast")));
  without.levels = {{"3", 1e9}};
  EXPECT_THAT(ClusterFileErrors(kSlurm, without), ElementsAre(HasSubstr("has no level 3")));
  without = options;
  without.devices_per_host.reset();
  EXPECT_THAT(ClusterFileErrors(kSlurm, without), ElementsAre(HasSubstr("how many accelerators n00 has: give")));
}

TEST(TopographTest, LayersBecomeLevels) {
  const std::string text = R"({"instances": [
    {"id": "a", "network_layers": ["l1", "s1"]}, {"id": "c", "network_layers": ["l2", "s1"], "labels": {"k": "v"}},
    {"id": "b", "network_layers": ["l1", "s1"]}, {"id": "d", "network_layers": ["l2", "s1"]}]})";
  const v1::Cluster cluster = ReadClusterFile(text, EightH100()).cluster;
  EXPECT_EQ(HierarchyText(cluster), "8 x 370, 2 x 50, 2 x 25");
  EXPECT_EQ(cluster.devices(8).host(), "b") << "hosts of a group stand together";
  EXPECT_EQ(cluster.devices(16).labels().at("k"), "v");
}

TEST(TopographTest, NamesEveryMistakeAndItsPath) {
  EXPECT_THAT(ClusterFileErrors(R"({"instances": [{"network_layers": [5]}, {"id": 7}, []]})", EightH100()),
              ElementsAre("instances[0].id: is missing", "instances[0].network_layers[0]: must be a string, is 5",
                          "instances[1].id: must be a string, is 7", "instances[2]: must be an object, is a list"));
  EXPECT_THAT(ClusterFileErrors(R"({"instances": [{"id": "a"}, {"id": "a"}]})", EightH100()),
              ElementsAre("c: names host a twice"));
}

std::string Node(const std::string& name, const std::string& rack, const std::string& gpus = "8",
                 const std::string& spec = "") {
  return absl::StrCat(
      R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": ")", name,
      R"(", "labels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.memory": "81559",)",
      R"("example.com/rack": ")", rack, R"(", "topology.kubernetes.io/zone": "z"}}, "spec": {)", spec,
      R"(}, "status": {"allocatable": {"nvidia.com/gpu": ")", gpus, R"("}}})");
}

std::string List(const std::string& nodes) {
  return absl::StrCat(R"({"apiVersion": "v1", "kind": "List", "items": [)", nodes, "]}\n");
}

TEST(KubernetesNodesTest, LabelsBecomeLevelsInTheOrderThatIsSaid) {
  ClusterOptions options;
  options.levels = {{"example.com/rack", 50e9}, {"topology.kubernetes.io/zone", 12.5e9}};
  const std::string text =
      List(Node("a1", "r1") + "," + Node("b1", "r2") + "," + Node("cpu", "r1", "0")) +
      List(Node("a2", "r1") + "," + Node("b2", "r2") + "," + Node("b3", "r2", "8", R"("unschedulable": true)"));
  const auto [cluster, warnings] = ReadClusterFile(text, options);
  EXPECT_EQ(HierarchyText(cluster), "8 x 370, 2 x 50, 2 x 12.5");
  EXPECT_EQ(cluster.device_classes(0).memory_bytes(), int64_t{81559} << 20);
  EXPECT_EQ(cluster.devices(8).host(), "a2");
  EXPECT_EQ(cluster.devices(0).labels().at("example.com/rack"), "r1");
  EXPECT_THAT(warnings, Contains("c: left out: 1 without accelerators, 1 that take no pods"));
}

TEST(KubernetesNodesTest, NodesThatSayNothingOfAcceleratorsHaveNone) {
  ClusterOptions options;
  options.between = 25e9;
  const std::string others =
      R"({"kind": "Node", "metadata": {"name": "cpu"}, "status": {"allocatable": {"cpu": "64"}}})"
      R"(,{"kind": "Node", "metadata": {"name": "new"}})";
  const auto [cluster, warnings] = ReadClusterFile(List(Node("a", "r1") + "," + others), options);
  EXPECT_THAT(cluster.devices(), SizeIs(8));
  EXPECT_THAT(warnings, Contains("c: left out: 2 without accelerators"));
}

TEST(KubernetesNodesTest, NodesOfSeveralKindsAreSeveralClasses) {
  ClusterOptions options;
  options.between = 25e9;
  const std::string other = absl::StrReplaceAll(Node("b", "r1"), {{"H100-80GB-HBM3", "A100-SXM4-80GB"}});
  const v1::Cluster cluster = ReadClusterFile(List(Node("a", "r1") + "," + other), options).cluster;
  ASSERT_THAT(cluster.device_classes(), SizeIs(2));
  EXPECT_EQ(cluster.devices(15).device_class(), "a100");
  EXPECT_EQ(HierarchyText(cluster), "8 x 240, 2 x 25");
}

TEST(KubernetesNodesTest, NamesEveryMistakeAndItsPath) {
  EXPECT_THAT(
      ClusterFileErrors(
          List(Node("a", "r", "many") + R"(,{"kind": "Node"},{"kind": "Pod", "metadata": {"name": "p"}})")),
      ElementsAre("items[0].status.allocatable[\"nvidia.com/gpu\"]: must be a whole number up to 1024, is \"many\"",
                  "items[1].metadata.name: is missing", "items[2].kind: must be Node, is \"Pod\""));
  EXPECT_THAT(ClusterFileErrors(List("")), ElementsAre("c: names no host"));
  EXPECT_THAT(ClusterFileErrors(List(Node("a", "r")) + "{\"apiVersion\""), ElementsAre(HasSubstr("c: line 2, column")));
}

constexpr char kNcclTests[] =
    "# nThread 1 nGpus 2 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20\n"
    "#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid  71 on  node1 device  0 [0x07] NVIDIA A100-SXM4-80GB\n"
    "#  Rank  1 Group  0 Pid  71 on  node1 device  1 [0x0f] NVIDIA A100-SXM4-80GB\n"
    "#  Rank  2 Group  0 Pid  72 on  node2 device  0 [0x07] NVIDIA A100-SXM4-80GB\n"
    "#  Rank  3 Group  0 Pid  72 on  node2 device  1 [0x0f] NVIDIA A100-SXM4-80GB\n"
    "#\n"
    "#                                                     out-of-place                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
    "           8             2     float     sum      -1    35.10    0.00    0.00      0    34.95    0.00    0.00     "
    " 0\n"
    "   134217728      33554432     float     sum      -1   1071.2  125.30  187.95      0   1070.0  125.44  188.16     "
    " 0\n"
    "# Out of bounds values : 0 OK\n";

TEST(NcclTestsTest, MeasurementsJoinHosts) {
  const auto [cluster, warnings] = ReadClusterFile(kNcclTests);
  EXPECT_EQ(cluster.device_classes(0).name(), "a100");
  EXPECT_EQ(HierarchyText(cluster), "2 x 240, 2 x 187.95");
  EXPECT_THAT(warnings,
              Contains("c: devices of different hosts are taken to reach the measured bus bandwidth, 187.9 GB/s"));
}

TEST(NcclTestsTest, MeasurementsOfOneHostAreThoseOfAllPairs) {
  const v1::Cluster cluster = ReadClusterFile(absl::StrReplaceAll(kNcclTests, {{"node2", "node1"}})).cluster;
  EXPECT_THAT(cluster.devices(), SizeIs(4));
  EXPECT_DOUBLE_EQ(cluster.interconnect().uniform().bandwidth_bytes_per_second(), 187.95e9);
}

TEST(NcclTestsTest, RefusesWhatMeasuresNothing) {
  const std::string text = kNcclTests;
  EXPECT_THAT(ClusterFileErrors(text.substr(0, text.find("   134217728"))),
              ElementsAre("c: has no measured bus bandwidth"));
}

TEST(ClusterFilesTest, WhatIsSaidBesideAWholeClusterIsRefused) {
  EXPECT_THAT(ClusterFileErrors("nodes: [{hosts: a, devices: 1, class: l4}]\n", EightH100()),
              ElementsAre(HasSubstr("describes the whole cluster: leave out --class")));
  const std::vector<std::function<void(ClusterOptions&)>> options = {
      [](ClusterOptions& each) { each.device_class = "h100"; },
      [](ClusterOptions& each) { each.devices_per_host = 8; },
      [](ClusterOptions& each) { each.gpu_query = "index,name"; },
      [](ClusterOptions& each) { each.repeat = 2; },
      [](ClusterOptions& each) { each.links["inside"] = 1e9; },
      [](ClusterOptions& each) {
        each.levels = {{"1", 1e9}};
      },
      [](ClusterOptions& each) { each.between = 1e9; }};
  for (const auto& say : options) {
    ClusterOptions alone;
    say(alone);
    EXPECT_THAT(ClusterFileErrors("nodes: [{hosts: a, devices: 1, class: l4}]\n", alone),
                ElementsAre(HasSubstr("describes the whole cluster: leave out --class")));
  }
  ClusterOptions repeated = EightH100();
  repeated.repeat = 2;
  EXPECT_THAT(ClusterFileErrors(kSlurm, repeated), ElementsAre(HasSubstr("--repeat is for files that describe one")));
}

TEST(ClusterFilesTest, FormatsOverruleWhatATextLooksLike) {
  const auto imported = ImportCluster(kSlurm, "c", ClusterFormat::kTopograph, EightH100());
  EXPECT_THAT(std::string(imported.status().message()), HasSubstr("c: line 1, column 1"));
}

TEST(KubernetesNodesTest, ProductsOfOneMemoryAreClassesOfTheirOwn) {
  ClusterOptions options;
  options.between = 25e9;
  const std::string pcie = absl::StrReplaceAll(Node("a", "r1"), {{"H100-80GB-HBM3", "H100-PCIe"}});
  const v1::Cluster cluster =
      ReadClusterFile(List(pcie + "," + Node("b", "r1") + "," + Node("c", "r1")), options).cluster;
  ASSERT_THAT(cluster.device_classes(), SizeIs(2));
  EXPECT_EQ(cluster.devices(0).device_class(), "h100-pcie");
  EXPECT_EQ(cluster.devices(8).device_class(), "h100");
  EXPECT_EQ(cluster.devices(16).device_class(), "h100");
}

TEST(KubernetesNodesTest, EqualLabelsOfDifferentZonesAreDifferentRacks) {
  ClusterOptions options;
  options.levels = {{"example.com/rack", 50e9}, {"topology.kubernetes.io/zone", 12.5e9}};
  options.between = 1e9;
  const auto in_zone = [](const std::string& node, const char* zone) {
    return absl::StrReplaceAll(node, {{R"(zone": "z")", absl::StrCat(R"(zone": ")", zone, R"(")")}});
  };
  const v1::Cluster cluster =
      ReadClusterFile(List(in_zone(Node("a1", "r1"), "a") + "," + in_zone(Node("a2", "r1"), "a") + "," +
                           in_zone(Node("b1", "r1"), "b") + "," + in_zone(Node("b2", "r1"), "b") + "," +
                           in_zone(Node("b3", "r2"), "b")),
                      options)
          .cluster;
  EXPECT_EQ(MatrixGb(cluster, 0, 8), 50);
  EXPECT_EQ(MatrixGb(cluster, 0, 16), 1);
  EXPECT_EQ(MatrixGb(cluster, 16, 24), 50);
  EXPECT_EQ(MatrixGb(cluster, 16, 32), 12.5);
}

TEST(KubernetesNodesTest, NodesWithoutAZoneStayInTheirRack) {
  ClusterOptions options;
  options.levels = {{"example.com/rack", 50e9}, {"topology.kubernetes.io/zone", 12.5e9}};
  options.between = 1e9;
  const auto without_zone = [](const std::string& node) {
    return absl::StrReplaceAll(node, {{R"(, "topology.kubernetes.io/zone": "z")", ""}});
  };
  const std::string text = List(without_zone(Node("a1", "r1")) + "," + Node("b1", "r2") + "," + Node("b2", "r2") + "," +
                                without_zone(Node("a2", "r1")) + "," + without_zone(Node("c1", "r3")));
  const v1::Cluster cluster = ReadClusterFile(text, options).cluster;
  EXPECT_EQ(cluster.devices(8).host(), "a2");
  EXPECT_EQ(MatrixGb(cluster, 0, 8), 50);
  // No zone joins the racks.
  EXPECT_EQ(cluster.devices(16).host(), "c1");
  EXPECT_EQ(MatrixGb(cluster, 0, 16), 1);
  EXPECT_EQ(cluster.devices(24).host(), "b1");
  EXPECT_EQ(MatrixGb(cluster, 16, 24), 1);
  EXPECT_EQ(MatrixGb(cluster, 24, 32), 50);
  // Racks of as many hosts are a tree.
  const std::string even = List(without_zone(Node("a1", "r1")) + "," + Node("b1", "r2") + "," + Node("b2", "r2") + "," +
                                without_zone(Node("a2", "r1")));
  EXPECT_EQ(HierarchyText(ReadClusterFile(even, options).cluster), "8 x 370, 2 x 50, 2 x 1");
}

}  // namespace
}  // namespace planwright::client
