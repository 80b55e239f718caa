#include "server/codec/graph.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "tests/support/wire.h"

namespace planwright::server {
namespace {

using google::protobuf::util::MessageDifferencer;
using testing::ElementsAre;
using testing::IsEmpty;

// Every field set to something other than its default.
constexpr char kCompleteGraph[] = R"pb(
  display_name: "tiny"
  operators {
    name: "a"
    type: "MatMul"
    layer: "1"
    pass: PASS_FORWARD
    costs { device_class: "gpu" forward_ms: 1.5 backward_ms: 3 backward_weight_ms: 1 }
    costs { device_class: "cpu" forward_ms: 10 }
    forward_flops: 1e9
    backward_flops: 2e9
    forward_bytes_accessed: 4096
    backward_bytes_accessed: 8192
    unsupported_device_classes: "tpu"
    memory_bytes: 100
    parameter_bytes: 50
    activation_bytes: 25
    workspace_bytes: 12
    colocation_group: "embedding"
    variants {
      tensor_degree: 2
      device_class: "gpu"
      samples: 4
      forward_ms: 1
      backward_ms: 2
      parameter_bytes: 3
      activation_bytes: 4
      workspace_bytes: 5
      output_bytes: 0
      recomputation { extra_ms: 1 activation_bytes: 2 workspace_bytes: 7 }
    }
    variants {
      tensor_degree: 1
      forward_ms: 1
      context_degree: 2
      expert_degree: 4
      input_layout: "rows"
      output_layout: "columns"
      boundary_exchanges { tensor: "x" bytes: 9 }
    }
    variants { tensor_degree: 1 forward_ms: 1 }
  }
  operators { name: "a_grad" pass: PASS_BACKWARD forward_operator: "a" }
  operators { name: "b" pass: PASS_FORWARD memory_bytes: 0 }
  tensors { name: "x" producer: "a" consumers: "b" consumers: "a_grad" size_bytes: 1024 transfer_ms: 0.25 }
  tensors { name: "y" producer: "b" size_bytes: 8 }
  samples_per_micro_batch: 32
  layout_changes { from: "rows" to: "columns" share: 0.5 }
)pb";

std::vector<std::string> ViolationsInGraph(const std::string& graph) {
  Violations violations;
  DecodeGraph(Wire<v1::Graph>(graph), violations);
  return Lines(violations);
}

TEST(GraphCodecTest, EveryFieldMakesTheRoundTrip) {
  const auto wire = Wire<v1::Graph>(kCompleteGraph);
  Violations violations;
  const OperatorGraph graph = DecodeGraph(wire, violations);
  EXPECT_THAT(Lines(violations), IsEmpty());
  std::string difference;
  MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differencer.Compare(wire, EncodeGraph(graph))) << difference;
}

TEST(GraphCodecTest, NamesBecomeIdsAndTimesPicoseconds) {
  Violations violations;
  const OperatorGraph graph = DecodeGraph(Wire<v1::Graph>(kCompleteGraph), violations);
  EXPECT_EQ(graph.operators[0].costs[0].forward, Picoseconds(1'500'000'000));
  EXPECT_EQ(graph.operators[1].pass, Pass::kBackward);
  EXPECT_EQ(graph.operators[1].forward_operator, OperatorId(0));
  EXPECT_THAT(graph.tensors[0].consumers, ElementsAre(OperatorId(2), OperatorId(1)));
  EXPECT_EQ(graph.tensors[0].transfer, Picoseconds(250'000'000));
  EXPECT_EQ(graph.tensors[1].transfer, std::nullopt);
}

TEST(GraphCodecTest, UnsetMeansTheDefault) {
  Violations violations;
  const OperatorGraph graph = DecodeGraph(Wire<v1::Graph>("operators { name: 'a' }"), violations);
  EXPECT_EQ(graph.samples_per_micro_batch, 1);
  EXPECT_EQ(graph.operators[0].pass, Pass::kForward);
  EXPECT_EQ(graph.operators[0].memory_bytes, std::nullopt);
  EXPECT_EQ(graph.operators[0].forward_operator, std::nullopt);
  const OperatorGraph shaped = DecodeGraph(Wire<v1::Graph>("transformer {}"), violations);
  ASSERT_TRUE(shaped.transformer.has_value());
  EXPECT_EQ(shaped.transformer->expert_load, 1);
}

TEST(GraphCodecTest, ReportsEveryTimeThatIsNone) {
  EXPECT_THAT(ViolationsInGraph(R"pb(
                operators {
                  name: "a"
                  costs { forward_ms: nan backward_ms: inf backward_weight_ms: -inf }
                  costs { forward_ms: 1e300 }
                }
                tensors { name: "t" producer: "a" transfer_ms: nan }
              )pb"),
              ElementsAre("graph.operators[0].costs[0].forward_ms: must be finite and >= 0, is nan",
                          "graph.operators[0].costs[0].backward_ms: must be finite and >= 0, is inf",
                          "graph.operators[0].costs[0].backward_weight_ms: must be finite and >= 0, is -inf",
                          "graph.operators[0].costs[1].forward_ms: must be at most 4611686018, is 1e+300",
                          "graph.tensors[0].transfer_ms: must be finite and >= 0, is nan"));
}

TEST(GraphCodecTest, ReportsEveryNameThatResolvesToNothing) {
  EXPECT_THAT(ViolationsInGraph(R"pb(
                operators { name: "a" forward_operator: "nobody" }
                tensors { name: "t" consumers: "a" consumers: "b" }
              )pb"),
              ElementsAre("graph.operators[0].forward_operator: must name an operator of the graph, is \"nobody\"",
                          "graph.tensors[0].producer: must name an operator of the graph, is \"\"",
                          "graph.tensors[0].consumers[1]: must name an operator of the graph, is \"b\""));
}

TEST(GraphCodecTest, ReportsUnknownEnumNumbers) {
  auto wire = Wire<v1::Graph>("operators { name: 'a' }");
  wire.mutable_operators(0)->set_pass(static_cast<v1::Pass>(9));
  Violations violations;
  DecodeGraph(wire, violations);
  EXPECT_THAT(Lines(violations), ElementsAre("graph.operators[0].pass: must be a value of Pass, is 9"));
}

TEST(GraphCodecTest, TensorsWithUnknownNamesKeepTheirPlaceWithoutConsumers) {
  Violations violations;
  const OperatorGraph graph = DecodeGraph(Wire<v1::Graph>(R"pb(
                                            operators { name: "a" }
                                            operators { name: "b" }
                                            tensors { name: "t" producer: "nobody" consumers: "a" consumers: "b" }
                                            tensors { name: "u" producer: "a" consumers: "b" }
                                          )pb"),
                                          violations);
  ASSERT_EQ(graph.tensors.size(), 2);
  EXPECT_THAT(graph.tensors[0].consumers, IsEmpty());
  EXPECT_THAT(graph.tensors[1].consumers, ElementsAre(OperatorId(1)));
}

}  // namespace
}  // namespace planwright::server
