// Files that describe one machine: nvidia-smi topo -m, XML of NCCL and of hwloc. Samples are written from the
// documentation of the tools.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/client/importer/clusters/cluster_files.h"

namespace planwright::client {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kTopology[] =
    "\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV12\tSYS\tSYS\tPXB\t0-63\t0\t\tN/A\n"
    "GPU1\tNV12\t X \tSYS\tSYS\tPXB\t0-63\t0\t\tN/A\n"
    "GPU2\tSYS\tSYS\t X \tPIX\tSYS\t64-127\t1\t\tN/A\n"
    "GPU3\tSYS\tSYS\tPIX\t X \tSYS\t64-127\t1\t\tN/A\n"
    "NIC0\tPXB\tPXB\tSYS\tSYS\t X \t\t\t\n"
    "\n"
    "Legend:\n"
    "  X    = Self\n"
    "  NV#  = Connection traversing a bonded set of # NVLinks\n"
    "\n"
    "NIC Legend:\n"
    "  NIC0: mlx5_3\n";

ClusterOptions Class(const std::string& name) {
  ClusterOptions options;
  options.device_class = name;
  return options;
}

TEST(NvidiaTopologyTest, ClassesBecomeBandwidths) {
  const auto [cluster, warnings] = ReadClusterFile(kTopology, Class("a100"));
  ASSERT_THAT(cluster.devices(), SizeIs(4));
  EXPECT_EQ(cluster.devices(3).name(), "host0/gpu3");
  EXPECT_EQ(cluster.device_classes(0).name(), "a100");
  EXPECT_DOUBLE_EQ(MatrixGb(cluster, 0, 1), 240);
  EXPECT_DOUBLE_EQ(MatrixGb(cluster, 2, 3), 24);
  EXPECT_DOUBLE_EQ(MatrixGb(cluster, 0, 3), 10);
  EXPECT_THAT(warnings, ElementsAre("c: pairs are taken to reach NV12 = 240 GB/s, PIX = 24 GB/s, SYS = 10 GB/s; "
                                    "--link=CLASS=BANDWIDTH says otherwise"));
}

TEST(NvidiaTopologyTest, PastedTextHasBlanksForTabs) {
  const std::string pasted = absl::StrReplaceAll(kTopology, {{"\t", "   "}, {"\x1b[4m", ""}, {"\x1b[0m", ""}});
  EXPECT_DOUBLE_EQ(MatrixGb(ReadClusterFile(pasted, Class("a100")).cluster, 0, 1), 240);
}

TEST(NvidiaTopologyTest, LinksAreReplacedAndMachinesRepeated) {
  ClusterOptions options = Class("h100");
  options.links = {{"SYS", 20e9}, {"PIX", 40e9}};
  options.repeat = 4;
  options.between = 50e9;
  const v1::Cluster cluster = ReadClusterFile(kTopology, options).cluster;
  ASSERT_THAT(cluster.devices(), SizeIs(16));
  EXPECT_EQ(cluster.devices(15).host(), "host3");
  const v1::Interconnect::Nodes& nodes = cluster.interconnect().nodes();
  EXPECT_EQ(nodes.devices_per_node(), 4);
  EXPECT_EQ(nodes.bandwidth_bytes_per_second(), 20e9);
  ASSERT_THAT(nodes.links(), SizeIs(2));
  EXPECT_DOUBLE_EQ(nodes.links(0).bandwidth_bytes_per_second(), 12 * 20.6e9);
  EXPECT_EQ(nodes.links(1).bandwidth_bytes_per_second(), 40e9);
  EXPECT_EQ(nodes.levels(0).fan_out(), 4);
  EXPECT_EQ(nodes.levels(0).bandwidth_bytes_per_second(), 50e9);
}

TEST(NvidiaTopologyTest, PairsAlikeBecomeAUniformMachineOrAHierarchy) {
  const std::string text = "GPU0 GPU1\nGPU0 X NV18\nGPU1 NV18 X\n";
  ClusterOptions options = Class("h100");
  EXPECT_DOUBLE_EQ(ReadClusterFile(text, options).cluster.interconnect().uniform().bandwidth_bytes_per_second(),
                   370.8e9);
  options.repeat = 3;
  options.between = 25e9;
  EXPECT_EQ(HierarchyText(ReadClusterFile(text, options).cluster), "2 x 370.8, 3 x 25");
}

TEST(NvidiaTopologyTest, TheQuerySaysWhichGpusThereAre) {
  ClusterOptions options;
  options.gpu_query = "name, memory.total [MiB]\nNVIDIA H100 80GB HBM3, 81559 MiB\nNVIDIA H100 80GB HBM3, 81559 MiB\n";
  const v1::Cluster cluster = ReadClusterFile("GPU0 GPU1\nGPU0 X NV18\nGPU1 NV18 X\n", options).cluster;
  EXPECT_EQ(cluster.device_classes(0).name(), "h100");
  EXPECT_EQ(cluster.device_classes(0).memory_bytes(), int64_t{81559} << 20);
  options.gpu_query = "NVIDIA H100 80GB HBM3, 81559 MiB\nNVIDIA A10, 23028 MiB\n";
  EXPECT_THAT(ClusterFileErrors(kTopology, options), ElementsAre(HasSubstr("names devices of several kinds")));
  options.gpu_query = "no table";
  EXPECT_THAT(ClusterFileErrors(kTopology, options), ElementsAre(HasSubstr("--gpu_query: line 1 must be a name and")));
  options.gpu_query = "Quadro FX 1500, 256 MiB";
  EXPECT_THAT(ClusterFileErrors(kTopology, options), ElementsAre(HasSubstr("of no known class, \"Quadro FX 1500\"")));
}

TEST(NvidiaTopologyTest, NamesEveryMistakeAndItsLine) {
  EXPECT_THAT(ClusterFileErrors(kTopology), ElementsAre(HasSubstr("name their class with --class=h100")));
  EXPECT_THAT(ClusterFileErrors(kTopology, Class("h10")),
              ElementsAre("--class: there is no class h10; did you mean h100?"));
  const ClusterOptions options = Class("a100");
  EXPECT_THAT(ClusterFileErrors("GPU0 GPU1\nGPU0 X NVX\nGPU1 X\nGPU5 X X\nGPU0 X SYS\n", options),
              ElementsAre(HasSubstr("line 2: there is no class of links NVX"),
                          "line 3: must have a cell for each of the 2 GPUs, has 1", "line 4: GPU5 has no column",
                          "line 5: GPU0 has a row before"));
  EXPECT_THAT(ClusterFileErrors("GPU0 GPU1\nGPU0 SYS X\n", options),
              ElementsAre("line 2: GPU0 must meet itself, and nobody else, in X",
                          "line 2: GPU0 must meet itself, and nobody else, in X", ": has no row for GPU1"));
  ClusterOptions repeated = options;
  repeated.repeat = 2;
  EXPECT_THAT(ClusterFileErrors(kTopology, repeated), ElementsAre(HasSubstr("--between=400Gb/s")));
}

constexpr char kSystem[] = R"(<system version="1">
 <cpu numaid="0" arch="x86_64">
  <pci busid="0000:11:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
   <pci busid="0000:12:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
    <gpu dev="0" sm="80" rank="0"><nvlink target="0000:c1:00.0" count="12" tclass="0x068000"/></gpu></pci>
   <pci busid="0000:13:00.0" class="0x030200" link_speed="8.0 GT/s PCIe" link_width="16">
    <gpu dev="1" sm="80" rank="1"><nvlink target="0000:c1:00.0" count="6" tclass="0x068000"/></gpu></pci>
   <pci busid="0000:14:00.0" class="0x020700"><nic><net name="mlx5_0" speed="200000"/></nic></pci>
  </pci></cpu>
 <cpu numaid="1">
  <pci busid="0000:91:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"><gpu dev="2" sm="80"/></pci>
 </cpu></system>)";

TEST(NcclXmlTest, ReadsSwitchesOfNvlinkAndTreesOfPcie) {
  const auto [cluster, warnings] = ReadClusterFile(kSystem, Class("a100"));
  ASSERT_THAT(cluster.devices(), SizeIs(3));
  EXPECT_DOUBLE_EQ(MatrixGb(cluster, 0, 1), 120);
  EXPECT_DOUBLE_EQ(MatrixGb(cluster, 0, 2), 10);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("are taken to reach SYS = 10 GB/s")));
}

TEST(NcclXmlTest, LinksThatLeadStraightToAGpuCountForThatPair) {
  const std::string text = absl::StrReplaceAll(kSystem, {{R"(target="0000:c1:00.0" count="12" tclass="0x068000")",
                                                          R"(target="0000:13:00.0" count="4" tclass="0x030200")"},
                                                         {R"(target="0000:c1:00.0" count="6" tclass="0x068000")",
                                                          R"(target="0000:12:00.0" count="4" tclass="0x030200")"}});
  EXPECT_DOUBLE_EQ(MatrixGb(ReadClusterFile(text, Class("a100")).cluster, 0, 1), 80);
}

TEST(NcclXmlTest, TemplatesHaveDevicesOfPciClass3) {
  const std::string text = absl::StrReplaceAll(kSystem, {{"<gpu", "<nothing"}, {"</gpu", "</nothing"}});
  const v1::Cluster cluster = ReadClusterFile(text, Class("a100")).cluster;
  ASSERT_THAT(cluster.devices(), SizeIs(3));
  EXPECT_DOUBLE_EQ(MatrixGb(cluster, 0, 1), 12) << "the slower of 16 lanes at 16 and at 8 GT/s";
  EXPECT_THAT(ClusterFileErrors(text), ElementsAre(HasSubstr("name their class")));
}

TEST(NcclXmlTest, TheGenerationSaysTheClass) {
  const auto [cluster, warnings] = ReadClusterFile(kSystem);
  EXPECT_EQ(cluster.device_classes(0).name(), "a100-40gb");
  EXPECT_THAT(warnings, Contains(HasSubstr("taken for class a100-40gb with 40 GiB; --class or --gpu_query")));
}

TEST(NcclXmlTest, RefusesWhatIsWrong) {
  EXPECT_THAT(ClusterFileErrors("<system>\n<cpu>", Class("a100")), ElementsAre(HasSubstr("c: line 2: is no XML: ")));
  EXPECT_THAT(ClusterFileErrors("<system version=\"1\"/>", Class("a100")), ElementsAre("c: names no accelerator"));
  EXPECT_THAT(ClusterFileErrors(absl::StrReplaceAll(kSystem, {{"count=\"12\"", "count=\"many\""}}), Class("a100")),
              ElementsAre("gpu of pci 0000:12:00.0: nvlink count: must be 0 to 1000, is many"));
  std::string deep = "<system><cpu>";
  for (int i = 0; i < 300; ++i) deep += "<pci busid=\"x\">";
  for (int i = 0; i < 300; ++i) deep += "</pci>";
  EXPECT_THAT(ClusterFileErrors(deep + "</cpu></system>", Class("a100")), ElementsAre("pci x: is nested too deeply"));
}

TEST(NcclXmlTest, EntitiesAreNotExpanded) {
  const std::string bomb =
      absl::StrCat("<!DOCTYPE system [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">]>\n",
                   absl::StrReplaceAll(kSystem, {{"x86_64", "&b;"}}));
  EXPECT_THAT(ReadClusterFile(bomb, Class("a100")).cluster.devices(), SizeIs(3));
}

constexpr char kHwloc[] = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
 <object type="Machine" os_index="0" gp_index="1">
  <object type="Package" os_index="0" gp_index="2">
   <object type="Bridge" gp_index="10">
    <object type="PCIDev" gp_index="11" pci_type="0302 [10de:1db8]" pci_link_speed="15.75">
     <object type="OSDev" gp_index="12" name="nvml0" osdev_type="1"><info name="GPUModel" value="Tesla V100-SXM2-32GB"/></object>
    </object>
    <object type="PCIDev" gp_index="13" pci_type="0302 [10de:1db8]" pci_link_speed="7.75">
     <object type="OSDev" gp_index="14" name="nvml1" osdev_type="1"/>
    </object>
    <object type="PCIDev" gp_index="25" pci_type="0300 [1a03:2000]"><object type="OSDev" gp_index="26" name="card0"/></object>
   </object>
  </object>
  <object type="Package" os_index="1" gp_index="3">
   <object type="PCIDev" gp_index="21" pci_type="0302 [10de:1db8]" pci_link_speed="15.75">
    <object type="OSDev" gp_index="22" name="cuda2" osdev_type="12"/>
   </object>
  </object>
 </object>
 <distances2hetero nbobjs="4" kind="25" name="NVLinkBandwidth">
  <indexes length="10">OSDev:12 OSDev:14 OSDev:22 PCIDev:99 </indexes>
  <u64values length="10">1000000 50000 0 0 50000 1000000 0 0 0 0</u64values>
  <u64values length="10">1000000 25000 0 0 25000 1000000</u64values>
 </distances2hetero>
</topology>)";

TEST(HwlocXmlTest, ReadsDistancesOfNvlinkAndTreesOfPcie) {
  const auto [cluster, warnings] = ReadClusterFile(kHwloc);
  ASSERT_THAT(cluster.devices(), SizeIs(3));
  EXPECT_EQ(cluster.device_classes(0).name(), "v100");
  EXPECT_DOUBLE_EQ(MatrixGb(cluster, 0, 1), 50);
  EXPECT_DOUBLE_EQ(MatrixGb(cluster, 0, 2), 10);
  EXPECT_THAT(warnings, SizeIs(2));
}

TEST(HwlocXmlTest, WithoutDistancesPcieCounts) {
  const std::string text = absl::StrReplaceAll(kHwloc, {{"kind=\"25\"", "kind=\"17\""}});
  const v1::Cluster cluster = ReadClusterFile(text).cluster;
  EXPECT_DOUBLE_EQ(MatrixGb(cluster, 0, 1), 7.75);
  EXPECT_DOUBLE_EQ(MatrixGb(cluster, 1, 2), 7.75);
}

TEST(HwlocXmlTest, RefusesWhatIsWrong) {
  EXPECT_THAT(ClusterFileErrors("<topology version=\"2.0\"/>"), ElementsAre("c: names no accelerator"));
  EXPECT_THAT(ClusterFileErrors(absl::StrReplaceAll(kHwloc, {{"25000 1000000<", "25000<"}})),
              ElementsAre("distances2hetero NVLinkBandwidth: must have a value for each pair, has 15 of 4 objects"));
  EXPECT_THAT(ClusterFileErrors(absl::StrReplaceAll(kHwloc, {{"\"7.75\"", "\"fast\""}})),
              ElementsAre("object 13: pci_link_speed: must be a number >= 0, is fast"));
}

TEST(DeviceProductsTest, KnowsWhatVendorsSell) {
  const std::vector<std::pair<std::string, std::string>> products = {
      {"NVIDIA A100-SXM4-80GB", "a100"}, {"NVIDIA A100-SXM4-40GB", "a100-40gb"},
      {"NVIDIA-H100-80GB-HBM3", "h100"}, {"NVIDIA H100 PCIe", "h100-pcie"},
      {"Tesla V100-SXM2-32GB", "v100"},  {"NVIDIA A10G", "a10"},
      {"NVIDIA L40S", "l40s"},           {"NVIDIA GB200", "gb200"},
      {"AMD Instinct MI300X", "mi300x"}};
  for (const auto& [product, name] : products) EXPECT_EQ(ClassOfProduct(product), name) << product;
  EXPECT_EQ(ClassOfProduct("NVIDIA A1000"), std::nullopt);
  EXPECT_EQ(ClassOfProduct(""), std::nullopt);
}

TEST(NvidiaSmiTest, LanesAreThoseOfTheClass) {
  for (const char* name : {"b200", "b300", "gb200", "gb300"}) {
    const v1::Cluster cluster = ReadClusterFile(kTopology, Class(name)).cluster;
    EXPECT_EQ(cluster.device_classes(0).name(), name);
    EXPECT_NEAR(MatrixGb(cluster, 0, 1), 12 * 40.1, 0.01) << name;
    EXPECT_NEAR(MatrixGb(cluster, 2, 3), 48, 0.01) << name;
  }
}

TEST(NvidiaSmiTest, ProductsOfOneGenerationAreToldApart) {
  for (const auto& [product, name] : {std::pair("NVIDIA B300 SXM6 AC", "b300"), std::pair("NVIDIA GB300", "gb300"),
                                      std::pair("NVIDIA GB200", "gb200"), std::pair("NVIDIA B200", "b200")}) {
    ClusterOptions options;
    options.gpu_query = absl::StrCat(product, ", 183359 MiB\n");
    EXPECT_EQ(ReadClusterFile(kTopology, options).cluster.device_classes(0).name(), name);
  }
}

TEST(MachineTest, CountsOfMachinesDoNotWrapAround) {
  ClusterOptions options = Class("a100");
  options.repeat = int64_t{1} << 62;
  options.between = 1e9;
  EXPECT_THAT(ClusterFileErrors(kTopology, options), ElementsAre(HasSubstr("has too many devices")));
}

}  // namespace
}  // namespace planwright::client
