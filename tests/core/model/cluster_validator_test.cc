#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "core/model/validation_rules.h"
#include "core/model/validator.h"
#include "tests/core/model/violation_matchers.h"
#include "tests/support/small_models.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Violation> InCluster(const Cluster& cluster, const ModelLimits& limits = {}) {
  Violations violations;
  ValidateCluster(cluster, limits, violations);
  return violations.listed();
}

// Four devices after one mutation, and the only violation that the mutation must bring.
struct ClusterCase {
  std::string name;
  std::function<void(Cluster&)> mutate;
  std::string path;
  std::string rule;
};

std::string ClusterCaseName(const ::testing::TestParamInfo<ClusterCase>& info) { return info.param.name; }

class ClusterRuleTest : public ::testing::TestWithParam<ClusterCase> {};

TEST_P(ClusterRuleTest, IsTheOnlyViolation) {
  Cluster cluster = SmallCluster(3, 1);
  GetParam().mutate(cluster);
  EXPECT_THAT(InCluster(cluster), ElementsAre(Breaks(GetParam().path, GetParam().rule)));
}

const double kInfinity = std::numeric_limits<double>::infinity();

INSTANTIATE_TEST_SUITE_P(
    Classes, ClusterRuleTest,
    ::testing::Values(
        ClusterCase{"DisplayName", [](Cluster& c) { c.display_name.assign(257, 'x'); }, "cluster.display_name",
                    "must have at most 256 bytes, has 257"},
        ClusterCase{"EmptyName", [](Cluster& c) { c.device_classes[0].name.clear(); }, "cluster.device_classes[0].name",
                    "must not be empty"},
        ClusterCase{"SameName", [](Cluster& c) { c.device_classes[1].name = kAcceleratorClass; },
                    "cluster.device_classes[1].name",
                    "must be unique, \"accelerator\" is also the name of cluster.device_classes[0]"},
        ClusterCase{"Memory", [](Cluster& c) { c.device_classes[0].memory_bytes = -1; },
                    "cluster.device_classes[0].memory_bytes", "must be >= 0, is -1"},
        ClusterCase{"PeakFlops", [](Cluster& c) { c.device_classes[0].peak_flops = kInfinity; },
                    "cluster.device_classes[0].peak_flops", "must be finite and >= 0, is inf"},
        ClusterCase{"NoEfficiency", [](Cluster& c) { c.device_classes[0].compute_efficiency = 0; },
                    "cluster.device_classes[0].compute_efficiency", "must be in (0, 1], is 0"},
        ClusterCase{"TooMuchEfficiency", [](Cluster& c) { c.device_classes[0].compute_efficiency = 1.5; },
                    "cluster.device_classes[0].compute_efficiency", "must be in (0, 1], is 1.5"},
        ClusterCase{"MemoryBandwidth", [](Cluster& c) { c.device_classes[0].memory_bandwidth_bytes_per_second = -2; },
                    "cluster.device_classes[0].memory_bandwidth_bytes_per_second", "must be finite and >= 0, is -2"},
        ClusterCase{"Overhead", [](Cluster& c) { c.device_classes[0].kernel_overhead = -Milliseconds(1); },
                    "cluster.device_classes[0].kernel_overhead_ms", "must be >= 0, is -1"},
        ClusterCase{"Products", [](Cluster& c) { c.device_classes[0].training = TrainingEfficiency{.products = 0}; },
                    "cluster.device_classes[0].training.products", "must be in (0, 1], is 0"},
        ClusterCase{"HalfExtent",
                    [](Cluster& c) { c.device_classes[0].training = TrainingEfficiency{.half_extent = -1}; },
                    "cluster.device_classes[0].training.half_extent", "must be finite and >= 0, is -1"},
        ClusterCase{"EightBitGain",
                    [](Cluster& c) { c.device_classes[0].training = TrainingEfficiency{.eight_bit_gain = 0}; },
                    "cluster.device_classes[0].training.eight_bit_gain", "must be finite and > 0, is 0"},
        ClusterCase{"Hidden",
                    [](Cluster& c) { c.device_classes[0].training = TrainingEfficiency{.hidden_in_layers = 1.5}; },
                    "cluster.device_classes[0].training.hidden_in_layers", "must be in [0, 1], is 1.5"},
        ClusterCase{"NotANumber",
                    [](Cluster& c) { c.device_classes[0].training = TrainingEfficiency{.network = std::nan("")}; },
                    "cluster.device_classes[0].training.network", "must be in (0, 1], is nan"},
        ClusterCase{"Launch",
                    [](Cluster& c) { c.device_classes[0].training = TrainingEfficiency{.launch = -Milliseconds(1)}; },
                    "cluster.device_classes[0].training.launch_ms", "must be >= 0, is -1"}),
    ClusterCaseName);

INSTANTIATE_TEST_SUITE_P(
    Devices, ClusterRuleTest,
    ::testing::Values(
        ClusterCase{"NoDevice", [](Cluster& c) { c.devices.clear(); }, "cluster.devices", "must not be empty"},
        ClusterCase{"EmptyName", [](Cluster& c) { c.devices[3].name.clear(); }, "cluster.devices[3].name",
                    "must not be empty"},
        ClusterCase{"LongName", [](Cluster& c) { c.devices[3].name.assign(257, 'x'); }, "cluster.devices[3].name",
                    "must have at most 256 bytes, has 257"},
        ClusterCase{"SameName", [](Cluster& c) { c.devices[2].name = "acc0"; }, "cluster.devices[2].name",
                    "must be unique, \"acc0\" is also the name of cluster.devices[0]"},
        ClusterCase{"UnknownClass", [](Cluster& c) { c.devices[1].device_class = DeviceClassId(2); },
                    "cluster.devices[1].device_class", "must be a device class of the cluster, is number 2"},
        ClusterCase{"Reserved", [](Cluster& c) { c.devices[1].reserved_memory_bytes = -5; },
                    "cluster.devices[1].reserved_memory_bytes", "must be >= 0, is -5"}),
    ClusterCaseName);

INSTANTIATE_TEST_SUITE_P(
    SimpleInterconnects, ClusterRuleTest,
    ::testing::Values(
        ClusterCase{"HostStagedBandwidth",
                    [](Cluster& c) { c.interconnect = HostStagedInterconnect{.bandwidth_bytes_per_second = 0}; },
                    "cluster.interconnect.host_staged.bandwidth_bytes_per_second", "must be finite and > 0, is 0"},
        ClusterCase{"HostStagedLatency",
                    [](Cluster& c) {
                      c.interconnect =
                          HostStagedInterconnect{.bandwidth_bytes_per_second = 1, .latency = -Milliseconds(1)};
                    },
                    "cluster.interconnect.host_staged.latency_ms", "must be >= 0, is -1"},
        ClusterCase{"UniformBandwidth",
                    [](Cluster& c) { c.interconnect = UniformInterconnect{.bandwidth_bytes_per_second = -1}; },
                    "cluster.interconnect.uniform.bandwidth_bytes_per_second", "must be finite and > 0, is -1"},
        ClusterCase{"UniformLatency",
                    [](Cluster& c) {
                      c.interconnect =
                          UniformInterconnect{.bandwidth_bytes_per_second = 1, .latency = -Milliseconds(1)};
                    },
                    "cluster.interconnect.uniform.latency_ms", "must be >= 0, is -1"}),
    ClusterCaseName);

using Level = HierarchyInterconnect::Level;

INSTANTIATE_TEST_SUITE_P(
    Hierarchies, ClusterRuleTest,
    ::testing::Values(
        ClusterCase{"NoLevel", [](Cluster& c) { c.interconnect = HierarchyInterconnect{}; },
                    "cluster.interconnect.hierarchy.levels", "must not be empty"},
        ClusterCase{"Product",
                    [](Cluster& c) {
                      c.interconnect = HierarchyInterconnect{{Level{.fan_out = 3, .bandwidth_bytes_per_second = 1},
                                                              Level{.fan_out = 2, .bandwidth_bytes_per_second = 1}}};
                    },
                    "cluster.interconnect.hierarchy.levels",
                    "the product of the fan-outs must be the number of devices (4), is 6"},
        ClusterCase{"Bandwidth", [](Cluster& c) { c.interconnect = HierarchyInterconnect{{Level{.fan_out = 4}}}; },
                    "cluster.interconnect.hierarchy.levels[0].bandwidth_bytes_per_second",
                    "must be finite and > 0, is 0"},
        ClusterCase{"Latency",
                    [](Cluster& c) {
                      c.interconnect = HierarchyInterconnect{
                          {Level{.fan_out = 4, .bandwidth_bytes_per_second = 1, .latency = -Milliseconds(2)}}};
                    },
                    "cluster.interconnect.hierarchy.levels[0].latency_ms", "must be >= 0, is -2"},
        ClusterCase{"Ports",
                    [](Cluster& c) {
                      c.interconnect = HierarchyInterconnect{
                          {Level{.fan_out = 4, .bandwidth_bytes_per_second = 1, .port_bandwidth_bytes_per_second = 0}}};
                    },
                    "cluster.interconnect.hierarchy.levels[0].port_bandwidth_bytes_per_second",
                    "must be finite and > 0, is 0"}),
    ClusterCaseName);

GridInterconnect Grid(std::vector<int32_t> dimensions, double bandwidth = 1) {
  return {.dimensions = std::move(dimensions), .link_bandwidth_bytes_per_second = bandwidth};
}

INSTANTIATE_TEST_SUITE_P(
    Grids, ClusterRuleTest,
    ::testing::Values(ClusterCase{"NoDimension", [](Cluster& c) { c.interconnect = Grid({}); },
                                  "cluster.interconnect.grid.dimensions", "must have 1 to 3 elements, has 0"},
                      ClusterCase{"FourDimensions",
                                  [](Cluster& c) {
                                    c.interconnect = Grid({4, 1, 1, 1});
                                  },
                                  "cluster.interconnect.grid.dimensions", "must have 1 to 3 elements, has 4"},
                      ClusterCase{"Product",
                                  [](Cluster& c) {
                                    c.interconnect = Grid({2, 3});
                                  },
                                  "cluster.interconnect.grid.dimensions",
                                  "their product must be the number of devices (4), is 6"},
                      ClusterCase{"Bandwidth",
                                  [](Cluster& c) {
                                    c.interconnect = Grid({2, 2}, 0);
                                  },
                                  "cluster.interconnect.grid.link_bandwidth_bytes_per_second",
                                  "must be finite and > 0, is 0"}),
    ClusterCaseName);

LinksInterconnect::Link Link(std::size_t a, std::size_t b, double bandwidth = 1) {
  return {DeviceId(a), DeviceId(b), bandwidth, Picoseconds(0)};
}

INSTANTIATE_TEST_SUITE_P(
    Links, ClusterRuleTest,
    ::testing::Values(
        ClusterCase{"UnknownDevice", [](Cluster& c) { c.interconnect = LinksInterconnect{.links = {Link(0, 4)}}; },
                    "cluster.interconnect.links.links[0].device_b", "must be a device of the cluster, is number 4"},
        ClusterCase{"Loop",
                    [](Cluster& c) {
                      c.interconnect = LinksInterconnect{.links = {Link(0, 1), Link(1, 2), Link(2, 3), Link(3, 3)}};
                    },
                    "cluster.interconnect.links.links[3].device_b", "must not be device_a"},
        ClusterCase{"Bandwidth",
                    [](Cluster& c) {
                      c.interconnect = LinksInterconnect{.links = {Link(0, 1), Link(1, 2), Link(2, 3, 0)}};
                    },
                    "cluster.interconnect.links.links[2].bandwidth_bytes_per_second", "must be finite and > 0, is 0"},
        ClusterCase{"NotConnected",
                    [](Cluster& c) {
                      c.interconnect = LinksInterconnect{.links = {Link(0, 1), Link(2, 3)}};
                    },
                    "cluster.interconnect.links.links",
                    "must connect all devices, there is no way from \"acc0\" to \"acc2\""}),
    ClusterCaseName);

INSTANTIATE_TEST_SUITE_P(
    Matrices, ClusterRuleTest,
    ::testing::Values(
        ClusterCase{"Size",
                    [](Cluster& c) {
                      c.interconnect = MatrixInterconnect{.bandwidth_bytes_per_second = std::vector<double>(9, 1)};
                    },
                    "cluster.interconnect.matrix.bandwidth_bytes_per_second",
                    "must have 16 elements (4 x 4 devices), has 9"},
        ClusterCase{"Entry",
                    [](Cluster& c) {
                      MatrixInterconnect matrix{.bandwidth_bytes_per_second = std::vector<double>(16, 1)};
                      matrix.bandwidth_bytes_per_second[0] = 0;  // on the diagonal: ignored
                      matrix.bandwidth_bytes_per_second[7] = 0;
                      c.interconnect = matrix;
                    },
                    "cluster.interconnect.matrix.bandwidth_bytes_per_second[7]", "must be finite and > 0, is 0"},
        ClusterCase{"EntryOfTheOtherDirection",
                    [](Cluster& c) {
                      MatrixInterconnect matrix{.bandwidth_bytes_per_second = std::vector<double>(16, 1)};
                      matrix.bandwidth_bytes_per_second[13] = 0;
                      c.interconnect = matrix;
                    },
                    "cluster.interconnect.matrix.bandwidth_bytes_per_second[13]", "must be finite and > 0, is 0"},
        ClusterCase{"Asymmetric",
                    [](Cluster& c) {
                      MatrixInterconnect matrix{.bandwidth_bytes_per_second = std::vector<double>(16, 1)};
                      matrix.bandwidth_bytes_per_second[4] = 3;
                      c.interconnect = matrix;
                    },
                    "cluster.interconnect.matrix.bandwidth_bytes_per_second[4]",
                    "must be that of the other direction, 1, is 3: \"acc1\" to "
                    "\"acc0\""}),
    ClusterCaseName);

// Two machines of two, whose devices are linked.
NodesInterconnect TwoPairs() {
  return {.devices_per_node = 2,
          .links = {{.place_a = 0, .place_b = 1, .bandwidth_bytes_per_second = 3}},
          .bandwidth_bytes_per_second = 2,
          .levels = {{.fan_out = 2, .bandwidth_bytes_per_second = 1}}};
}

ClusterCase NodesCase(const char* name, void (*break_rule)(NodesInterconnect&), const char* field, const char* rule) {
  const auto break_cluster = [break_rule](Cluster& c) {
    NodesInterconnect nodes = TwoPairs();
    break_rule(nodes);
    c.interconnect = nodes;
  };
  return {name, break_cluster, std::string("cluster.interconnect.nodes") + field, rule};
}

INSTANTIATE_TEST_SUITE_P(
    Nodes, ClusterRuleTest,
    ::testing::Values(
        NodesCase(
            "Bandwidth", [](NodesInterconnect& n) { n.bandwidth_bytes_per_second = 0; }, ".bandwidth_bytes_per_second",
            "must be finite and > 0, is 0"),
        NodesCase(
            "Latency", [](NodesInterconnect& n) { n.latency = -Milliseconds(1); }, ".latency_ms",
            "must be >= 0, is -1"),
        NodesCase(
            "NoDevice", [](NodesInterconnect& n) { n.devices_per_node = 0; }, ".devices_per_node",
            "must be from 1 to 2048, is 0"),
        NodesCase(
            "Place", [](NodesInterconnect& n) { n.links[0].place_b = 2; }, ".links[0].place_b",
            "must be from 0 to 1, is 2"),
        NodesCase(
            "Loop", [](NodesInterconnect& n) { n.links[0].place_b = 0; }, ".links[0].place_b", "must not be place_a"),
        NodesCase(
            "LinkBandwidth", [](NodesInterconnect& n) { n.links[0].bandwidth_bytes_per_second = -1; },
            ".links[0].bandwidth_bytes_per_second", "must be finite and > 0, is -1"),
        NodesCase(
            "Twice",
            [](NodesInterconnect& n) {
              n.links.push_back({1, 0, 4, {}});
            },
            ".links[1]",
            "must join two places that no other link joins, 1 and 0 are joined by cluster.interconnect.nodes.links[0]"),
        NodesCase(
            "LevelBandwidth", [](NodesInterconnect& n) { n.levels[0].bandwidth_bytes_per_second = 0; },
            ".levels[0].bandwidth_bytes_per_second", "must be finite and > 0, is 0"),
        NodesCase(
            "Product", [](NodesInterconnect& n) { n.levels[0].fan_out = 3; }, ".levels",
            "the product of the fan-outs and devices_per_node must be the number of devices (4), is 6")),
    ClusterCaseName);

TEST(ClusterValidatorTest, AcceptsValidClustersOfEveryKind) {
  const MatrixInterconnect matrix{.bandwidth_bytes_per_second = std::vector<double>(16, 1)};
  const std::vector<Interconnect> interconnects = {
      HostStagedInterconnect{},
      UniformInterconnect{.bandwidth_bytes_per_second = 1e9},
      HierarchyInterconnect{
          {Level{.fan_out = 2, .bandwidth_bytes_per_second = 2}, Level{.fan_out = 2, .bandwidth_bytes_per_second = 1}}},
      Grid({2, 2}),
      LinksInterconnect{.links = {Link(0, 1), Link(1, 2), Link(2, 3)}},
      matrix,
      TwoPairs()};
  for (const Interconnect& interconnect : interconnects) {
    EXPECT_THAT(InCluster(SmallCluster(3, 1, interconnect)), IsEmpty()) << InterconnectName(interconnect);
  }
}

TEST(ClusterValidatorTest, RefusesAnEmptyCluster) {
  EXPECT_THAT(InCluster({}), ElementsAre(Breaks("cluster.device_classes", "must not be empty"),
                                         Breaks("cluster.devices", "must not be empty")));
}

TEST(ClusterValidatorTest, RefusesMoreDevicesThanTheLimitWithoutLookingFurther) {
  Cluster cluster = SmallCluster(3);
  cluster.devices[0].name.clear();
  EXPECT_THAT(InCluster(cluster, {.max_devices = 2}),
              ElementsAre(Breaks("cluster.devices", "must have at most 2 elements, has 3")));
}

TEST(ClusterValidatorTest, RefusesMatricesOfMoreThan2048Devices) {
  EXPECT_THAT(InCluster(SmallCluster(2049, 0, MatrixInterconnect{})),
              ElementsAre(Breaks("cluster.interconnect.matrix.bandwidth_bytes_per_second",
                                 "must be for at most 2048 devices, there are 2049")));
}

TEST(ClusterValidatorTest, RefusesLinksOfMoreThan2048Devices) {
  LinksInterconnect line;
  for (std::size_t i = 1; i < 2049; ++i) line.links.push_back(Link(i - 1, i));
  EXPECT_THAT(
      InCluster(SmallCluster(2049, 0, line)),
      ElementsAre(Breaks("cluster.interconnect.links.links", "must be for at most 2048 devices, there are 2049")));
}

TEST(ClusterValidatorTest, RefusesLevelsWithoutChildren) {
  EXPECT_THAT(
      InCluster(SmallCluster(4, 0, HierarchyInterconnect{{Level{.fan_out = -4, .bandwidth_bytes_per_second = 1}}})),
      ElementsAre(Breaks("cluster.interconnect.hierarchy.levels[0].fan_out", "must be >= 1, is -4"),
                  Breaks("cluster.interconnect.hierarchy.levels",
                         "the product of the fan-outs must be the number of devices (4), is 0")));
}

TEST(ClusterValidatorTest, RefusesGridsWithoutExtent) {
  const std::string path = "cluster.interconnect.grid.dimensions";
  EXPECT_THAT(InCluster(SmallCluster(4, 0, Grid({0, -4}))),
              ElementsAre(Breaks(path + "[0]", "must be >= 1, is 0"), Breaks(path + "[1]", "must be >= 1, is -4"),
                          Breaks(path, "their product must be the number of devices (4), is 0")));
}

std::vector<std::string> LeastBandwidthRules(const Interconnect& interconnect) {
  Cluster cluster = SmallCluster(16);
  cluster.interconnect = interconnect;
  Violations violations;
  CheckLeastBandwidth(cluster, violations);
  std::vector<std::string> rules;
  rules.reserve(violations.count());
  for (const Violation& violation : violations.listed()) rules.push_back(violation.rule);
  return rules;
}

TEST(LeastBandwidthTest, IsThatOfOneDevicesShareOfAPort) {
  HierarchyInterconnect tree;
  tree.levels = {{.fan_out = 4, .bandwidth_bytes_per_second = 1e9}, {.fan_out = 4, .bandwidth_bytes_per_second = 1e9}};
  // Of four devices together.
  tree.levels.back().port_bandwidth_bytes_per_second = 4;
  EXPECT_THAT(LeastBandwidthRules(tree), IsEmpty());
  tree.levels.back().port_bandwidth_bytes_per_second = 2;
  EXPECT_THAT(LeastBandwidthRules(tree), ElementsAre(::testing::HasSubstr("gives 0.5")));
}

TEST(LeastBandwidthTest, IsThatOfTheLongestWayThroughAGrid) {
  GridInterconnect grid{.dimensions = {16},
                        .wrap_around = false,
                        .link_bandwidth_bytes_per_second = 15,
                        .non_adjacent = GridInterconnect::NonAdjacent::kDividedByHops};
  EXPECT_THAT(LeastBandwidthRules(grid), IsEmpty());
  grid.link_bandwidth_bytes_per_second = 7.5;
  EXPECT_THAT(LeastBandwidthRules(grid), ElementsAre(::testing::HasSubstr("gives 0.5")));
}

}  // namespace
}  // namespace planwright
