#include "server/codec/digest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "absl/strings/str_cat.h"
#include "planwright/v1/cluster.pb.h"
#include "planwright/v1/graph.pb.h"
#include "server/codec/cluster.h"
#include "server/codec/graph.h"
#include "tests/support/wire.h"

namespace planwright::server {
namespace {

std::string DigestOf(const v1::Graph& wire) {
  Violations violations;
  return GraphDigest(DecodeGraph(wire, violations));
}

std::string DigestOf(const v1::Cluster& wire) {
  Violations violations;
  return ClusterDigest(DecodeCluster(wire, 100, violations));
}

v1::Graph SmallGraph() {
  return Wire<v1::Graph>(R"pb(
    display_name: "one"
    operators {
      name: "a"
      costs { device_class: "gpu" forward_ms: 1 }
      costs { device_class: "cpu" forward_ms: 2 }
      unsupported_device_classes: "x"
      unsupported_device_classes: "y"
    }
    operators { name: "b" }
    operators { name: "c" }
    tensors { name: "t" producer: "a" consumers: "b" consumers: "c" size_bytes: 4 }
    tensors { name: "u" producer: "b" consumers: "c" size_bytes: 8 }
  )pb");
}

v1::Cluster SmallCluster(const std::string& interconnect) {
  auto cluster = Wire<v1::Cluster>(R"pb(
    display_name: "one"
    device_classes { name: "gpu" memory_bytes: 5 }
    device_classes { name: "cpu" kind: DEVICE_KIND_CPU }
    devices { name: "g0" device_class: "gpu" }
    devices { name: "c0" device_class: "cpu" host: "h" }
  )pb");
  cluster.MergeFrom(Wire<v1::Cluster>(interconnect));
  return cluster;
}

v1::OperatorVariant::Recomputation& AgainOf(v1::Graph& graph) {
  return *graph.mutable_operators(0)->add_variants()->mutable_recomputation();
}

v1::OperatorVariant::BoundaryExchange& ExchangeOf(v1::Graph& graph) {
  return *graph.mutable_operators(0)->add_variants()->add_boundary_exchanges();
}

TEST(GraphDigestTest, IsA256BitHexNumber) {
  EXPECT_THAT(DigestOf(SmallGraph()), testing::MatchesRegex("[0-9a-f]{64}"));
}

TEST(GraphDigestTest, DoesNotDependOnTheOrderOfLists) {
  v1::Graph shuffled = SmallGraph();
  shuffled.mutable_operators()->SwapElements(0, 2);
  shuffled.mutable_tensors()->SwapElements(0, 1);
  shuffled.mutable_tensors(1)->mutable_consumers()->SwapElements(0, 1);
  shuffled.mutable_operators(2)->mutable_costs()->SwapElements(0, 1);
  shuffled.mutable_operators(2)->mutable_unsupported_device_classes()->SwapElements(0, 1);
  shuffled.set_display_name("another");
  EXPECT_EQ(DigestOf(shuffled), DigestOf(SmallGraph()));
  for (const int32_t degree : {1, 2}) shuffled.mutable_operators(2)->add_variants()->set_tensor_degree(degree);
  v1::Graph other = shuffled;
  other.mutable_operators(2)->mutable_variants()->SwapElements(0, 1);
  EXPECT_EQ(DigestOf(shuffled), DigestOf(other));
}

TEST(GraphDigestTest, DependsOnEverythingElse) {
  const std::vector<std::function<void(v1::Graph&)>> changes = {
      [](v1::Graph&) {}, [](v1::Graph& graph) { graph.mutable_operators(0)->set_type("MatMul"); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->set_layer("1"); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->set_pass(v1::PASS_BACKWARD); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->set_forward_operator("b"); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->mutable_costs(0)->set_forward_ms(1.000000001); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->mutable_costs(0)->set_backward_ms(1); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->mutable_costs(0)->set_backward_weight_ms(1); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->mutable_costs(0)->set_device_class("tpu"); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->set_forward_flops(1); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->set_backward_flops(1); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->set_forward_bytes_accessed(1); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->set_backward_bytes_accessed(1); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->add_unsupported_device_classes()->push_back('z'); },
      // Declared as nothing is not the same as not declared.
      [](v1::Graph& graph) { graph.mutable_operators(0)->set_memory_bytes(0); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->set_parameter_bytes(1); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->set_activation_bytes(1); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->set_workspace_bytes(1); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->set_colocation_group("g"); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->add_variants(); },
      [](v1::Graph& graph) { graph.mutable_operators(1)->add_variants(); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->add_variants()->set_tensor_degree(2); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->add_variants()->set_device_class("gpu"); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->add_variants()->set_samples(1); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->add_variants()->set_forward_ms(1); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->add_variants()->set_backward_ms(1); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->add_variants()->set_parameter_bytes(1); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->add_variants()->set_activation_bytes(1); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->add_variants()->set_workspace_bytes(1); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->add_variants()->set_output_bytes(0); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->add_variants()->mutable_recomputation(); },
      [](v1::Graph& graph) { AgainOf(graph).set_extra_ms(1); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->add_variants()->set_context_degree(2); },
      [](v1::Graph& graph) { graph.mutable_operators(1)->add_variants()->set_context_degree(2); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->add_variants()->set_expert_degree(1); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->add_variants()->set_input_layout("rows"); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->add_variants()->set_output_layout("rows"); },
      [](v1::Graph& graph) { graph.mutable_operators(0)->add_variants()->add_boundary_exchanges(); },
      [](v1::Graph& graph) { ExchangeOf(graph).set_tensor("x"); },
      [](v1::Graph& graph) { ExchangeOf(graph).set_bytes(1); }, [](v1::Graph& graph) { graph.add_layout_changes(); },
      [](v1::Graph& graph) { graph.add_layout_changes()->set_from("rows"); },
      [](v1::Graph& graph) { graph.add_layout_changes()->set_to("rows"); },
      [](v1::Graph& graph) { graph.add_layout_changes()->set_share(1); },
      [](v1::Graph& graph) { AgainOf(graph).set_activation_bytes(1); },
      [](v1::Graph& graph) { AgainOf(graph).set_workspace_bytes(1); },
      [](v1::Graph& graph) { graph.mutable_tensors(0)->set_name("tt"); },
      [](v1::Graph& graph) { graph.mutable_tensors(0)->set_size_bytes(5); },
      [](v1::Graph& graph) { graph.mutable_tensors(0)->set_transfer_ms(0); },
      [](v1::Graph& graph) { graph.mutable_tensors(0)->mutable_consumers()->RemoveLast(); },
      [](v1::Graph& graph) { graph.mutable_tensors(1)->set_producer("a"); },
      [](v1::Graph& graph) { graph.set_samples_per_micro_batch(2); }};
  std::set<std::string> digests;
  for (const auto& change : changes) {
    v1::Graph graph = SmallGraph();
    change(graph);
    digests.insert(DigestOf(graph));
  }
  EXPECT_EQ(digests.size(), changes.size());
}

TEST(ClusterDigestTest, DoesNotDependOnTheOrderOfDevicesWhereItMeansNothing) {
  v1::Cluster cluster = SmallCluster("interconnect { uniform {} }");
  const std::string digest = DigestOf(cluster);
  cluster.mutable_devices()->SwapElements(0, 1);
  cluster.mutable_device_classes()->SwapElements(0, 1);
  cluster.set_display_name("another");
  EXPECT_EQ(DigestOf(cluster), digest);
}

TEST(ClusterDigestTest, DependsOnTheOrderOfDevicesWhereItPlacesThem) {
  v1::Cluster cluster = SmallCluster("interconnect { grid { dimensions: 2 } }");
  const std::string digest = DigestOf(cluster);
  cluster.mutable_devices()->SwapElements(0, 1);
  EXPECT_NE(DigestOf(cluster), digest);
}

TEST(ClusterDigestTest, LinksHaveNoDirectionAndNoOrder) {
  const auto digest = [](const std::string& links) {
    return DigestOf(SmallCluster(absl::StrCat("interconnect { links {", links, "} }")));
  };
  const std::string one = "links { device_a: 'g0' device_b: 'c0' bandwidth_bytes_per_second: 1 }";
  EXPECT_EQ(digest(one), digest("links { device_a: 'c0' device_b: 'g0' bandwidth_bytes_per_second: 1 }"));
  EXPECT_NE(digest(one), digest("links { device_a: 'c0' device_b: 'g0' bandwidth_bytes_per_second: 2 }"));
}

TEST(ClusterDigestTest, LinksOfMachinesHaveNoDirectionAndNoOrder) {
  const auto digest = [](const std::string& links) {
    return DigestOf(SmallCluster(absl::StrCat("interconnect { nodes {", links, "} }")));
  };
  EXPECT_EQ(digest("links { place_a: 0 place_b: 1 } links { place_a: 2 place_b: 1 }"),
            digest("links { place_a: 1 place_b: 2 } links { place_a: 1 place_b: 0 }"));
}

TEST(ClusterDigestTest, DependsOnTrainingAndPortsWhereTheyAreSaid) {
  const std::string levels = "interconnect { hierarchy { levels { fan_out: 2 bandwidth_bytes_per_second: 1 ";
  std::set<std::string> digests;
  for (const char* training : {"", "training {}", "training { network: 0.5 }", "training { launch_ms: 1 }"}) {
    digests.insert(
        DigestOf(Wire<v1::Cluster>(absl::StrCat("device_classes { name: 'g' ", training, "}", levels, "} } }"))));
  }
  for (const char* ports : {"1", "2"}) {
    digests.insert(DigestOf(Wire<v1::Cluster>(
        absl::StrCat("device_classes { name: 'g' }", levels, "port_bandwidth_bytes_per_second: ", ports, "} } }"))));
  }
  EXPECT_EQ(digests.size(), 6);
}

TEST(ClusterDigestTest, DependsOnTheInterconnectAndTheGroupsExpansion) {
  std::set<std::string> digests;
  for (const char* interconnect :
       {"host_staged {}", "uniform {}", "uniform { latency_ms: 1 }", "uniform { bandwidth_bytes_per_second: 1 }",
        "hierarchy { levels { fan_out: 2 } }", "matrix { bandwidth_bytes_per_second: 1 }",
        "nodes { devices_per_node: 2 }", "nodes { devices_per_node: 2 levels { fan_out: 1 } }",
        "nodes { devices_per_node: 2 links { place_b: 1 } }"}) {
    digests.insert(DigestOf(SmallCluster(absl::StrCat("interconnect {", interconnect, "}"))));
  }
  EXPECT_EQ(digests.size(), 9);
  // A group is another way to write its devices.
  EXPECT_EQ(
      DigestOf(Wire<v1::Cluster>("device_classes { name: 'g' } interconnect { uniform {} } "
                                 "device_groups { name_prefix: 'g' device_class: 'g' count: 2 }")),
      DigestOf(Wire<v1::Cluster>("device_classes { name: 'g' } interconnect { uniform {} } "
                                 "devices { name: 'g0' device_class: 'g' } devices { name: 'g1' device_class: 'g' }")));
}

}  // namespace
}  // namespace planwright::server
