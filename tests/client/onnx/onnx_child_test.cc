#include "client/importer/graphs/onnx_child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/importer/importer.h"
#include "tests/client/onnx/onnx_models.h"
#include "tests/support/shared_dir.h"

namespace planwright::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string ErrorIn(const std::string& text) {
  const auto imported = ImportGraph(text, "m.onnx", {.format = GraphFormat::kOnnx});
  EXPECT_EQ(imported.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(imported.status().message());
}

TEST(OnnxChildTest, ReadsAModelByItsContent) {
  onnx::ModelProto model = onnx_reader::SmallModel();
  model.set_producer_name("pytorch");
  const auto imported = ImportGraph(model.SerializeAsString(), "m.onnx", {.dimensions = {{"batch", 4}}});
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(imported->request.graph().operators(), SizeIs(2));
  EXPECT_EQ(imported->request.graph().display_name(), "m");
  EXPECT_EQ(imported->request.graph().operators(0).forward_flops(), 2 * 4 * 16 * 32);
  EXPECT_EQ(imported->request.problem().workload(), v1::WORKLOAD_INFERENCE);
}

TEST(OnnxChildTest, WarningsNameTheFile) {
  const auto imported =
      ImportGraph(onnx_reader::SmallModel().SerializeAsString(), "m.onnx", {.format = GraphFormat::kOnnx});
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(imported->warnings, ElementsAre("m.onnx: dimensions that no --dim binds are taken for 1: batch"));
}

TEST(OnnxChildTest, RefusesWhatIsDamaged) {
  const std::string text = onnx_reader::SmallModel().SerializeAsString();
  EXPECT_EQ(ErrorIn(text.substr(0, text.size() / 2)), "m.onnx: is no ONNX model, or is cut off");
  EXPECT_EQ(ErrorIn("\xff\xff\xff"), "m.onnx: is no ONNX model, or is cut off");
  EXPECT_EQ(ErrorIn(""), "m.onnx: the model has no node");
}

// What makes libonnx recurse without end costs the reader its life, and nobody else's.
TEST(OnnxChildTest, AHostileModelEndsTheReaderOnly) {
  onnx::ModelProto model = onnx_reader::EmptyModel();
  onnx_reader::AddInput("x", {1}, model);
  onnx::GraphProto* graph = model.mutable_graph();
  // Protobuf itself takes 100 levels of messages.
  for (int depth = 0; depth < 20'000; ++depth) {
    onnx::AttributeProto& body = *graph->add_node()->add_attribute();
    body.set_name("body");
    body.set_type(onnx::AttributeProto::GRAPH);
    graph = body.mutable_g();
  }
  const std::string error = ErrorIn(model.SerializeAsString());
  EXPECT_THAT(error, ::testing::StartsWith("m.onnx: "));
}

struct Published {
  const char* file;
  int operators;
  // 1e9 of those of convolutions and products.
  double multiply_adds;
};

TEST(OnnxChildTest, PublishedModelsHaveTheirOperatorsAndWork) {
  for (const auto& [file, operators, multiply_adds] :
       {Published{"light_resnet50.onnx", 176, 4.089}, Published{"light_densenet121.onnx", 668, 2.834},
        Published{"light_inception_v2.onnx", 371, 2.019}}) {
    const auto path = SharedFile(absl::StrCat("workloads/onnx/", file));
    if (!path.has_value()) GTEST_SKIP() << "the published models are not there";
    std::ifstream stream(*path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const auto imported = ImportGraph(text, file, {});
    ASSERT_TRUE(imported.ok()) << imported.status();
    EXPECT_THAT(imported->request.graph().operators(), SizeIs(operators)) << file;
    double flops = 0;
    for (const v1::Operator& op : imported->request.graph().operators()) {
      if (op.type() == "Conv" || op.type() == "Gemm") flops += op.forward_flops();
    }
    EXPECT_NEAR(flops / 2e9, multiply_adds, 0.0005) << file;
  }
}

// As many nodes as an exported BERT-Large has.
TEST(OnnxChildTest, ReadsAThousandNodes) {
  onnx::ModelProto model = onnx_reader::EmptyModel();
  onnx_reader::AddInput("v0", {-1, 64}, model);
  for (int i = 0; i < 1000; ++i) {
    const std::string in = absl::StrCat("v", i);
    const std::string out = absl::StrCat("v", i + 1);
    const std::string name = absl::StrCat("encoder.layer.", i / 42, ".op", i);
    if (i % 3 == 0) {
      onnx_reader::AddWeights(absl::StrCat("w", i), {64, 64}, model);
      onnx_reader::AddNode("MatMul", name, {in, absl::StrCat("w", i)}, {out}, model);
    } else {
      onnx_reader::AddNode(i % 3 == 1 ? "Relu" : "Softmax", name, {in}, {out}, model);
    }
  }
  const auto imported =
      ImportGraph(model.SerializeAsString(), "bert.onnx", {.format = GraphFormat::kOnnx, .dimensions = {{"batch", 8}}});
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(imported->request.graph().operators(), SizeIs(1000));
  EXPECT_EQ(imported->request.graph().operators(999).layer(), "encoder.layer.23");
  EXPECT_EQ(imported->request.graph().tensors(500).size_bytes(), 4 * 8 * 64);
}

}  // namespace
}  // namespace planwright::client
