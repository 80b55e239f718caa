// Golden messages: what a person reads who made a mistake in a cluster in YAML.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/importer/clusters/yaml/cluster_yaml.h"
#include "client/library/error_details.h"

namespace planwright::client {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Right as it stands; each case changes one thing.
constexpr char kRight[] =
    "name: c\n"
    "classes:\n"
    "  chip: {memory: 8 GB}\n"
    "nodes:\n"
    "  - hosts: a[0-1]\n"
    "    devices: 2\n"
    "    class: chip\n"
    "  - hosts: b\n"
    "    devices: 2\n"
    "    class: h100\n"
    "    labels: {rack: r1}\n"
    "    reserved_memory: 1 GB\n"
    "inside: 50 GB/s\n"
    "between:\n"
    "  bandwidth: 400 Gb/s\n"
    "  latency: 5 us\n";

struct Mistake {
  const char* name;
  std::string right;
  std::string wrong;
  std::vector<std::string> errors;
};

std::vector<std::string> ErrorsInCluster(const std::string& text) {
  const auto cluster = ReadClusterYaml(text, "c.yaml");
  EXPECT_EQ(cluster.status().code(), absl::StatusCode::kInvalidArgument);
  std::vector<std::string> errors;
  for (const FieldViolation& violation : ErrorDetailsOf(cluster.status()).violations) {
    errors.push_back(absl::StrCat(violation.field, ": ", violation.description));
  }
  return errors;
}

class ClusterYamlErrorsTest : public ::testing::TestWithParam<Mistake> {};

TEST_P(ClusterYamlErrorsTest, NamesPathRuleAndLine) {
  const Mistake& mistake = GetParam();
  const std::string text = absl::StrReplaceAll(kRight, {{mistake.right, mistake.wrong}});
  ASSERT_NE(text, kRight) << "the case changes nothing";
  EXPECT_EQ(ErrorsInCluster(text), mistake.errors);
}

std::string Name(std::size_t bytes) { return std::string(bytes, 'x'); }

INSTANTIATE_TEST_SUITE_P(
    Keys, ClusterYamlErrorsTest,
    ::testing::Values(
        Mistake{"Unknown", "between:", "betwen:", {"betwen: is not a key here; did you mean between? (line 14)"}},
        Mistake{"UnknownAndFar",
                "name: c",
                "colour: c",
                {"colour: is not a key here; there are name, nodes, classes, inside, between, exclude, through_host "
                 "(line 1)"}},
        Mistake{"UnknownBelow",
                "    devices: 2\n    class: h100",
                "    device: 2\n    class: h100",
                {"nodes[1].device: is not a key here; did you mean devices? (line 9)",
                 "nodes[1].devices: is missing (line 8)"}},
        Mistake{"Twice",
                "inside: 50 GB/s",
                "inside: 50 GB/s\nname: d",
                {"name: is given twice, first in line 1 (line 14)"}},
        Mistake{"TwiceBelow",
                "{rack: r1}",
                "{rack: r1, rack: r2}",
                {"nodes[1].labels.rack: is given twice, first in line 11 (line 11)"}},
        Mistake{"NoWord",
                "name: c",
                "\"a b\\\"\": c",
                {"\"a b\\\"\": is not a key here; there are name, nodes, classes, inside, between, exclude, "
                 "through_host (line 1)"}},
        Mistake{"NoMap",
                "  - hosts: b\n    devices: 2\n    class: h100\n    labels: {rack: r1}\n    reserved_memory: 1 GB\n",
                "  - h100\n",
                {"nodes[1]: must be a map of keys and values, is \"h100\" (line 8)"}},
        Mistake{"EmptyName", "name: c", "name:", {"name: must be text, is empty (line 1)"}},
        Mistake{"LongName", "name: c", "name: " + Name(257), {"name: must have at most 256 bytes, has 257 (line 1)"}}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Nodes, ClusterYamlErrorsTest,
    ::testing::Values(
        Mistake{"CountInWords",
                "    devices: 2\n    class: h100",
                "    devices: eight\n    class: h100",
                {"nodes[1].devices: must be a whole number >= 1, is \"eight\" (line 9)"}},
        Mistake{"NoDevices",
                "    devices: 2\n    class: h100",
                "    devices: 0\n    class: h100",
                {"nodes[1].devices: must be a whole number >= 1, is \"0\" (line 9)"}},
        Mistake{"HalfADevice",
                "    devices: 2\n    class: h100",
                "    devices: 1.5\n    class: h100",
                {"nodes[1].devices: must be a whole number >= 1, is \"1.5\" (line 9)"}},
        Mistake{"ListOfDevices",
                "    devices: 2\n    class: h100",
                "    devices: [2]\n    class: h100",
                {"nodes[1].devices: must be a whole number >= 1, is a list (line 9)"}},
        Mistake{"EmptyCount",
                "    devices: 2\n    class: h100",
                "    devices:\n    class: h100",
                {"nodes[1].devices: must be a whole number >= 1, is empty (line 9)"}},
        Mistake{"TooManyInOne",
                "    devices: 2\n    class: h100",
                "    devices: 16385\n    class: h100",
                {"nodes[1].devices: must be a whole number <= 16384, is \"16385\" (line 9)"}},
        Mistake{"TooManyInAll",
                "    devices: 2\n    class: chip",
                "    devices: 8192\n    class: chip",
                {"nodes[1].devices: makes more than 16384 devices in all (line 9)"}},
        Mistake{"NoHosts", "  - hosts: b\n    devices: 2", "  - devices: 2", {"nodes[1].hosts: is missing (line 8)"}},
        Mistake{
            "NumberOfHosts",
            "hosts: b",
            "hosts: 4",
            {"nodes[1].hosts: has a name of digits alone; four hosts are called node[0-3], say, is \"4\" (line 8)"}},
        Mistake{"BadRange",
                "a[0-1]",
                "a[1-0]",
                {"nodes[0].hosts: has brackets that are no list of ranges, such as [0-3,12], is \"a[1-0]\" (line 5)"}},
        Mistake{"TooManyHosts",
                "a[0-1]",
                "a[0-99999]",
                {"nodes[0].hosts: names more than 16384 hosts, is \"a[0-99999]\" (line 5)"}},
        Mistake{"ListOfHosts", "hosts: b", "hosts: [b]", {"nodes[1].hosts: must be text, is a list (line 8)"}},
        Mistake{"NoClass", "    class: h100\n", "", {"nodes[1].class: is missing (line 8)"}},
        Mistake{"UnknownClass",
                "class: h100",
                "class: h10O",
                {"nodes[1].class: must be a known class or one of classes, is \"h10O\"; did you mean h100? (line 10)"}},
        Mistake{"UnknownClassAndFar",
                "class: h100",
                "class: abacus-9",
                {"nodes[1].class: must be a known class or one of classes, is \"abacus-9\"; there are a10, a100, "
                 "a100-40gb, b200, b300, chip, cpu, gb200, gb300, h100, h100-pcie, h200, l4, l40s, mi300x, v100, "
                 "v100-pcie (line 10)"}},
        Mistake{"LabelOfNothing", "{rack: r1}", "{rack: }", {"nodes[1].labels.rack: must be text, is empty (line 11)"}},
        Mistake{"LabelTooLong",
                "{rack: r1}",
                "{rack: " + Name(257) + "}",
                {"nodes[1].labels.rack: must have a name and a value of 1 to 256 bytes (line 11)"}},
        Mistake{"LabelsInAList",
                "{rack: r1}",
                "[rack]",
                {"nodes[1].labels: must be a map of keys and values, is a list (line 11)"}},
        Mistake{"TooManyLabels",
                "{rack: r1}",
                "{a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1, j: 1, k: 1, "
                "l: 1, m: 1, n: 1, o: 1, p: 1, q: 1}",
                {"nodes[1].labels: must have at most 16 entries, has 17 (line 11)"}},
        Mistake{"ReservedWithoutUnit",
                "reserved_memory: 1 GB",
                "reserved_memory: 1",
                {"nodes[1].reserved_memory: must be an amount of memory such as \"2 GB\" or \"512 MiB\", is \"1\" "
                 "(line 12)"}},
        Mistake{"ReservedBeyondMemory",
                "reserved_memory: 1 GB",
                "reserved_memory: 100 GB",
                {"nodes[1].reserved_memory: must be at most the memory of class h100, 85899345920 bytes, is \"100 GB\" "
                 "(line 12)"}}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Classes, ClusterYamlErrorsTest,
    ::testing::Values(
        Mistake{"NoMemory",
                "{memory: 8 GB}",
                "{kind: accelerator}",
                {"classes.chip.memory: is missing; write unlimited where it does not matter (line 3)"}},
        Mistake{"BadMemory",
                "{memory: 8 GB}",
                "{memory: 8 gb}",
                {"classes.chip.memory: must be an amount of memory such as \"80 GB\" or \"80 GiB\", is \"8 gb\" "
                 "(line 3)"}},
        Mistake{"BadKind",
                "{memory: 8 GB}",
                "{memory: 8 GB, kind: gpu}",
                {"classes.chip.kind: must be accelerator or cpu, is \"gpu\" (line 3)"}},
        Mistake{"BadSpeed",
                "{memory: 8 GB}",
                "{memory: 8 GB, peak_flops: 8 TB/s}",
                {"classes.chip.peak_flops: must be a speed such as \"989 TFLOPS\" or \"1.2 PFLOPS\", is \"8 TB/s\" "
                 "(line 3)"}},
        Mistake{"BadEfficiency",
                "{memory: 8 GB}",
                "{memory: 8 GB, compute_efficiency: 50 %}",
                {"classes.chip.compute_efficiency: must be a number in (0, 1], is \"50 %\" (line 3)"}},
        Mistake{"BadBandwidth",
                "{memory: 8 GB}",
                "{memory: 8 GB, memory_bandwidth: 8}",
                {"classes.chip.memory_bandwidth: must be a bandwidth such as \"400 Gb/s\" or \"50 GB/s\", is \"8\" "
                 "(line 3)"}},
        Mistake{"BadOverhead",
                "{memory: 8 GB}",
                "{memory: 8 GB, kernel_overhead: -1 us}",
                {"classes.chip.kernel_overhead: must be a time such as \"5 us\" or \"0.1 ms\", is \"-1 us\" (line 3)"}},
        Mistake{"Training",
                "{memory: 8 GB}",
                "{memory: 8 GB, training: {products: most, atention: 1, launch: 5}}",
                {"classes.chip.training.atention: is not a key here; did you mean attention? (line 3)",
                 "classes.chip.training.products: must be a number >= 0, is \"most\" (line 3)",
                 "classes.chip.training.launch: must be a time such as \"5 us\" or \"0.1 ms\", is \"5\" (line 3)"}},
        Mistake{"UnknownKey",
                "{memory: 8 GB}",
                "{memory: 8 GB, nvlinks: 8 GB/s}",
                {"classes.chip.nvlinks: is not a key here; did you mean nvlink? (line 3)"}},
        Mistake{"NoMap",
                "{memory: 8 GB}",
                "8 GB",
                {"classes.chip: must be a map of keys and values, is \"8 GB\" (line 3)"}},
        Mistake{"LongName",
                "name: c\nclasses:",
                "classes:\n  " + Name(257) + ": {memory: 1 GB}",
                {"classes.\"" + Name(40) + "...\": must have a name of 1 to 256 bytes (line 2)"}},
        Mistake{
            "List",
            "classes:\n  chip: {memory: 8 GB}",
            "classes: [chip]",
            {"classes: must be a map of keys and values, is a list (line 2)",
             "nodes[0].class: must be a known class or one of classes, is \"chip\"; there are a10, a100, a100-40gb, "
             "b200, b300, cpu, gb200, gb300, h100, h100-pcie, h200, l4, l40s, mi300x, v100, v100-pcie (line 6)"}}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Links, ClusterYamlErrorsTest,
    ::testing::Values(
        Mistake{"LowerCase",
                "400 Gb/s",
                "400 gb/s",
                {"between.bandwidth: must be a bandwidth such as \"400 Gb/s\", or nvlink, pcie3, pcie4 or pcie5, is "
                 "\"400 gb/s\" (line 15)"}},
        Mistake{"UnknownName",
                "inside: 50 GB/s",
                "inside: fast",
                {"inside: must be a bandwidth such as \"400 Gb/s\", or nvlink, pcie3, pcie4 or pcie5, is \"fast\" "
                 "(line 13)"}},
        Mistake{"NoBandwidth", "  bandwidth: 400 Gb/s\n", "", {"between.bandwidth: is missing (line 15)"}},
        Mistake{"BadLatency",
                "5 us",
                "5",
                {"between.latency: must be a time such as \"5 us\" or \"0.1 ms\", is \"5\" (line 16)"}},
        Mistake{"List",
                "inside: 50 GB/s",
                "inside: []",
                {"inside: must be a bandwidth such as \"400 Gb/s\", or nvlink, pcie3, pcie4 or pcie5, is a list "
                 "(line 13)"}},
        Mistake{"NoNvlink",
                "inside: 50 GB/s",
                "inside: nvlink",
                {"inside: class chip has no NVLink; give a bandwidth such as \"50 GB/s\" (line 13)"}},
        Mistake{"NoInside", "inside: 50 GB/s\n", "", {"inside: is missing (line 1)"}},
        Mistake{"NoInsideOfOneHost",
                "inside: 50 GB/s\n",
                "exclude: a[0-1]\n",
                {"inside: is missing; or give through_host, where devices exchange through the memory of their host "
                 "(line 1)"}},
        Mistake{
            "NoBetween", "between:\n  bandwidth: 400 Gb/s\n  latency: 5 us\n", "", {"between: is missing (line 1)"}},
        Mistake{"BothWays",
                "inside: 50 GB/s",
                "through_host: pcie3",
                {"through_host: must stand alone, without inside and between (line 13)"}},
        Mistake{"ThroughManyHosts",
                "inside: 50 GB/s\nbetween:",
                "through_host:",
                {"through_host: is for the devices of one host, there are 3 hosts (line 14)"}},
        Mistake{"NoLevels",
                "between:\n  bandwidth: 400 Gb/s\n  latency: 5 us\n",
                "between: []\n",
                {"between: must have 1 to 8 levels, has 0 (line 14)"}},
        Mistake{"LevelsForFewerHosts",
                "between:\n  bandwidth: 400 Gb/s\n  latency: 5 us\n",
                "between:\n  - {hosts: 2, bandwidth: 400 Gb/s}\n",
                {"between: must end with a level for all 3 hosts, ends with one for 2 (line 15)"}},
        Mistake{"LevelsThatCross",
                "between:\n  bandwidth: 400 Gb/s\n  latency: 5 us\n",
                "between:\n  - {hosts: 2, bandwidth: 400 Gb/s}\n  - {hosts: 3, bandwidth: 100 Gb/s}\n",
                {"between[1].hosts: must be a multiple of the 2 hosts of the level before, is 3 (line 16)"}},
        Mistake{"LevelsWithoutHosts",
                "between:\n  bandwidth: 400 Gb/s\n  latency: 5 us\n",
                "between:\n  - {bandwidth: 400 Gb/s}\n  - {bandwidth: 100 Gb/s}\n",
                {"between[0].hosts: is missing (line 15)"}},
        Mistake{"UnequalHostsBeyondAMatrix",
                "    devices: 2\n    class: h100",
                "    devices: 3000\n    class: h100",
                {"nodes: must give hosts as many devices and levels as many hosts, where there are more than 2048 "
                 "devices; gives a0 2 and b 3000 (line 5)"}}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Exclude, ClusterYamlErrorsTest,
    ::testing::Values(Mistake{"Unknown",
                              "inside:",
                              "exclude: a[1-2]\ninside:",
                              {"exclude: names a2, which is no host of nodes (line 13)"}},
                      Mistake{
                          "Everything", "inside:", "exclude: a[0-1],b\ninside:", {"exclude: leaves no host (line 13)"}},
                      Mistake{"Broken",
                              "inside:",
                              "exclude: a[0\ninside:",
                              {"exclude: has a \"[\" without its \"]\", is \"a[0\" (line 13)"}}),
    [](const auto& each) { return each.param.name; });

TEST(ClusterYamlWholeTest, TheUnchangedTextIsRight) { EXPECT_TRUE(ReadClusterYaml(kRight, "c.yaml").ok()); }

TEST(ClusterYamlWholeTest, EveryMistakeIsNamedAtOnce) {
  EXPECT_THAT(ErrorsInCluster("nodes:\n"
                              "  - hosts: a[0-1\n"
                              "    devices: two\n"
                              "    class: h1000\n"
                              "inside: fast\n"
                              "between: 400\n"
                              "exclude: ''\n"),
              SizeIs(6));
}

TEST(ClusterYamlWholeTest, WrongFromTheStart) {
  EXPECT_THAT(ErrorsInCluster("- a\n"), ElementsAre(": must be a map of keys and values, is a list (line 1)"));
  EXPECT_THAT(ErrorsInCluster("name: c\n"), ElementsAre("nodes: is missing (line 1)"));
  EXPECT_THAT(ErrorsInCluster("nodes: []\n"),
              ElementsAre("nodes: must be a list of hosts with their devices, is empty (line 1)"));
  EXPECT_THAT(ErrorsInCluster("nodes:\n"),
              ElementsAre("nodes: must be a list of hosts with their devices, is empty (line 1)"));
  EXPECT_THAT(ErrorsInCluster("nodes: {hosts: a}\n"),
              ElementsAre("nodes: must be a list of hosts with their devices, is a map (line 1)"));
  EXPECT_EQ(ReadClusterYaml("--- # nothing\n", "c.yaml").status().message(), "c.yaml: is empty");
}

TEST(ClusterYamlWholeTest, ListsAreLimited) {
  std::string nodes = "nodes:\n";
  for (std::size_t i = 0; i <= kMaxYamlNodeEntries; ++i) nodes += "  - {}\n";
  EXPECT_THAT(ErrorsInCluster(nodes), ElementsAre("nodes: must have at most 1024 entries, has 1025 (line 2)"));
  std::string classes = "classes:\n";
  for (std::size_t i = 0; i <= kMaxYamlClasses; ++i) absl::StrAppend(&classes, "  c", i, ": {kind: cpu}\n");
  EXPECT_THAT(ErrorsInCluster(classes + "nodes: [{hosts: a, devices: 1, class: l4}]\n"),
              ElementsAre("classes: must have at most 64 entries, has 65 (line 2)"));
}

}  // namespace
}  // namespace planwright::client
