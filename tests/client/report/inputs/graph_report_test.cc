#include "client/report/inputs/graph_report.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

namespace planwright::client {
namespace {

using ::testing::HasSubstr;

v1::Graph Parse(const std::string& text) {
  v1::Graph graph;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &graph));
  return graph;
}

TEST(GraphReportTest, SaysHowMuchThereIs) {
  EXPECT_EQ(
      GraphReport("g.json", Parse(R"pb(
                    operators { name: "in" type: "Input" }
                    operators {
                      name: "a"
                      type: "MatMul"
                      layer: "layer.0"
                      forward_flops: 4e9
                      backward_flops: 8e9
                      parameter_bytes: 2048
                    }
                    operators { name: "b" type: "Relu" layer: "layer.1" forward_flops: 1e6 activation_bytes: 1024 }
                    tensors { name: "t" producer: "a" consumers: "b" size_bytes: 1024 }
                    samples_per_micro_batch: 8)pb")),
      "g.json: 3 operators, per micro-batch\n"
      "  operators    3\n"
      "  tensors      1, together 1.00 KiB\n"
      "  layers       2: layer.0, layer.1\n"
      "  parameters   2.00 KiB\n"
      "  activations  1.00 KiB kept for the backward pass\n"
      "  work         4.00 GFLOP forward, 8.00 GFLOP backward\n"
      "  times        estimated from operations and bytes by each device's roofline\n"
      "  micro-batch  8 samples\n"
      "\n"
      "Types of operators\n"
      "  type    operators     forward  parameters\n"
      "  MatMul          1  4.00 GFLOP    2.00 KiB\n"
      "  Relu            1  1.00 MFLOP         0 B\n"
      "  Input           1  0.00 MFLOP         0 B\n");
}

TEST(GraphReportTest, SaysWhereTimesComeFrom) {
  const std::string report = GraphReport("", Parse(R"pb(
                                           operators {
                                             name: "a"
                                             costs { device_class: "gpu" forward_ms: 1 }
                                           }
                                           operators { name: "b" pass: PASS_BACKWARD })pb"));
  EXPECT_THAT(report, HasSubstr("  operators    2, of which 1 of the backward pass\n"));
  EXPECT_THAT(report, HasSubstr("  times        given for gpu; 1 operator has neither\n"));
  EXPECT_THAT(report, HasSubstr("  layers       none named\n"));
}

}  // namespace
}  // namespace planwright::client
