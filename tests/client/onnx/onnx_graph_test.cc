#include "client/onnx/onnx_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/client/onnx/onnx_models.h"

namespace planwright::onnx_reader {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Read {
  v1::Graph graph;
  std::vector<std::string> warnings;
};

Read ReadModel(onnx::ModelProto model, const std::map<std::string, int64_t>& dimensions = {}) {
  Read read;
  auto graph = GraphOfModel(model, dimensions, read.warnings);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (graph.ok()) read.graph = *std::move(graph);
  return read;
}

std::string ErrorIn(onnx::ModelProto model) {
  std::vector<std::string> warnings;
  const auto graph = GraphOfModel(model, {}, warnings);
  return std::string(graph.status().message());
}

TEST(OnnxGraphTest, ProductsHaveTheirWorkAndParameters) {
  const auto [graph, warnings] = ReadModel(SmallModel(), {{"batch", 8}});
  EXPECT_THAT(warnings, IsEmpty());
  ASSERT_THAT(graph.operators(), SizeIs(2));
  const v1::Operator& product = graph.operators(0);
  EXPECT_EQ(product.name(), "/model/layers.3/attn/MatMul");
  EXPECT_EQ(product.layer(), "layers.3");
  EXPECT_EQ(product.forward_flops(), 2 * 8 * 16 * 32);
  EXPECT_EQ(product.backward_flops(), 2 * product.forward_flops());
  EXPECT_EQ(product.parameter_bytes(), 4 * 16 * 32);
  EXPECT_EQ(product.activation_bytes(), 4 * 8 * 16);
  EXPECT_EQ(product.forward_bytes_accessed(), 4 * (8 * 16 + 16 * 32 + 8 * 32));
  EXPECT_EQ(graph.operators(1).name(), "Relu_1");
  ASSERT_THAT(graph.tensors(), SizeIs(1));
  EXPECT_EQ(graph.tensors(0).size_bytes(), 4 * 8 * 32);
  EXPECT_THAT(graph.tensors(0).consumers(), ElementsAre("Relu_1"));
  EXPECT_EQ(graph.samples_per_micro_batch(), 8);
}

// As ONNX 1.16 writes it: field 9 of a node, which libonnx 1.12 does not know.
void AddMetadata(const std::string& key, const std::string& value, onnx::NodeProto& node) {
  onnx::StringStringEntryProto entry;
  entry.set_key(key);
  entry.set_value(value);
  onnx::NodeProto::GetReflection()->MutableUnknownFields(&node)->AddLengthDelimited(9, entry.SerializeAsString());
}

TEST(OnnxGraphTest, LayersAreTheScopesThatTheExporterNoted) {
  onnx::ModelProto model = EmptyModel();
  AddInput("x", {4, 16}, model);
  AddMetadata("pkg.torch.onnx.name_scopes", "['', 'model', 'model.layers.3', 'model.layers.3.mlp.experts.7', 'add']",
              AddNode("Relu", "node_relu", {"x"}, {"a"}, model));
  AddMetadata("namespace", ": Llama/model.layers.12: Layer/relu: aten.relu.default",
              AddNode("Relu", "/wrong.1/Relu", {"a"}, {"b"}, model));
  AddMetadata("pkg.torch.onnx.name_scopes", "['", AddNode("Relu", "block.2/Relu", {"b"}, {"c"}, model));
  onnx::NodeProto& broken = AddNode("Relu", "last", {"c"}, {"d"}, model);
  onnx::NodeProto::GetReflection()->MutableUnknownFields(&broken)->AddLengthDelimited(9, "\xff\xff");
  const auto [graph, warnings] = ReadModel(model);
  ASSERT_THAT(graph.operators(), SizeIs(4));
  EXPECT_EQ(graph.operators(0).layer(), "model.layers.3");
  EXPECT_EQ(graph.operators(1).layer(), "model.layers.12");
  EXPECT_EQ(graph.operators(2).layer(), "block.2");
  EXPECT_EQ(graph.operators(3).layer(), "");
}

TEST(OnnxGraphTest, SymbolsThatNobodyBindsAreOne) {
  const auto [graph, warnings] = ReadModel(SmallModel());
  EXPECT_EQ(graph.operators(0).forward_flops(), 2 * 16 * 32);
  EXPECT_THAT(warnings, ElementsAre("dimensions that no --dim binds are taken for 1: batch"));
}

TEST(OnnxGraphTest, WhatDependsOnConstantsIsFoldedIntoParameters) {
  onnx::ModelProto model = EmptyModel();
  AddInput("x", {4, 16}, model);
  AddWeights("w", {32, 16}, model);
  onnx::AttributeProto& order = *AddNode("Transpose", "t", {"w"}, {"wt"}, model).add_attribute();
  order.set_name("perm");
  order.set_type(onnx::AttributeProto::INTS);
  order.add_ints(1);
  order.add_ints(0);
  AddNode("MatMul", "m", {"x", "wt"}, {"y"}, model);
  const auto [graph, warnings] = ReadModel(model);
  ASSERT_THAT(graph.operators(), SizeIs(1));
  EXPECT_EQ(graph.operators(0).parameter_bytes(), 4 * 16 * 32);
  EXPECT_THAT(warnings, ElementsAre("1 nodes depend on constants only and are folded into parameters"));
}

TEST(OnnxGraphTest, LaterVersionsAreTakenBack) {
  onnx::ModelProto model = EmptyModel(21);
  AddInput("x", {4, 6}, model);
  onnx::TensorProto& axes = *model.mutable_graph()->add_initializer();
  axes.set_name("axes");
  axes.set_data_type(onnx::TensorProto::INT64);
  axes.add_dims(1);
  axes.add_int64_data(1);
  onnx::AttributeProto& parts = *AddNode("Split", "s", {"x"}, {"a", "b"}, model).add_attribute();
  parts.set_name("num_outputs");
  parts.set_type(onnx::AttributeProto::INT);
  parts.set_i(2);
  AddNode("ReduceMean", "r", {"b", "axes"}, {"c"}, model);
  AddNode("Relu", "e", {"c"}, {"d"}, model);
  const auto [graph, warnings] = ReadModel(model);
  ASSERT_THAT(graph.tensors(), SizeIs(2));
  // Split has a default axis of 0.
  EXPECT_EQ(graph.tensors(0).size_bytes(), 4 * 2 * 6);
  EXPECT_EQ(graph.tensors(1).size_bytes(), 4 * 2);
  EXPECT_THAT(warnings, Contains(HasSubstr("operators of version 21 are taken for those of version 17")));
}

TEST(OnnxGraphTest, WhatIsNotKnownIsOneOperatorWithAWarning) {
  onnx::ModelProto model = EmptyModel();
  AddInput("x", {4, 16}, model);
  AddNode("Marvel", "unknown", {"x"}, {"y"}, model);
  onnx::AttributeProto& body = *AddNode("If", "branch", {"y"}, {"z"}, model).add_attribute();
  body.set_name("then_branch");
  body.set_type(onnx::AttributeProto::GRAPH);
  body.mutable_g()->set_name("inner");
  const auto [graph, warnings] = ReadModel(model);
  ASSERT_THAT(graph.operators(), SizeIs(2));
  EXPECT_EQ(graph.tensors(0).size_bytes(), 0);
  EXPECT_THAT(warnings, Contains(HasSubstr("1 nodes are control flow")));
  EXPECT_THAT(warnings, Contains(HasSubstr("2 values have no shape")));
}

// y = LeakyRelu(Relu(x)) with the slope of the use.
onnx::FunctionProto& AddLeaky(const std::string& name, const std::string& inner, onnx::ModelProto& model) {
  onnx::FunctionProto& function = *model.add_functions();
  function.set_domain("own");
  function.set_name(name);
  function.add_input("in");
  function.add_output("out");
  function.add_attribute("slope");
  onnx::NodeProto& first = *function.add_node();
  first.set_op_type(inner);
  first.set_domain(inner == "Relu" ? "" : "own");
  first.set_name("first");
  first.add_input("in");
  first.add_output("middle");
  onnx::NodeProto& second = *function.add_node();
  second.set_op_type("LeakyRelu");
  second.add_input("middle");
  second.add_output("out");
  onnx::AttributeProto& slope = *second.add_attribute();
  slope.set_name("alpha");
  slope.set_type(onnx::AttributeProto::FLOAT);
  slope.set_ref_attr_name("slope");
  return function;
}

TEST(OnnxGraphTest, LocalFunctionsAreInlined) {
  onnx::ModelProto model = EmptyModel();
  AddInput("x", {4, 16}, model);
  AddLeaky("Leaky", "Relu", model);
  AddLeaky("Twice", "Leaky", model);
  AddNode("Twice", "a", {"x"}, {"y"}, model).set_domain("own");
  AddNode("Leaky", "b", {"y"}, {"z"}, model).set_domain("own");
  const auto [graph, warnings] = ReadModel(model);
  EXPECT_THAT(warnings, IsEmpty());
  std::vector<std::string> types;
  for (const v1::Operator& op : graph.operators()) types.push_back(op.type());
  EXPECT_THAT(types, ElementsAre("Relu", "LeakyRelu", "LeakyRelu", "Relu", "LeakyRelu"));
  EXPECT_EQ(graph.operators(0).name(), "a/first/first");
  ASSERT_THAT(graph.tensors(), SizeIs(4));
  for (const v1::Tensor& tensor : graph.tensors()) EXPECT_EQ(tensor.size_bytes(), 4 * 4 * 16) << tensor.name();
}

TEST(OnnxGraphTest, AFunctionThatUsesItselfIsRefused) {
  onnx::ModelProto model = EmptyModel();
  AddInput("x", {1}, model);
  AddLeaky("Leaky", "Leaky", model);
  AddNode("Leaky", "", {"x"}, {"y"}, model).set_domain("own");
  EXPECT_EQ(ErrorIn(model), "the local function \"Leaky\" uses itself");
}

TEST(OnnxGraphTest, FunctionsThatMultiplyAreRefused) {
  onnx::ModelProto model = EmptyModel();
  AddInput("x", {1}, model);
  for (int level = 0; level < 25; ++level) {
    onnx::FunctionProto& function = *model.add_functions();
    function.set_domain("own");
    function.set_name("f" + std::to_string(level));
    function.add_input("in");
    function.add_output("out");
    for (int copy = 0; copy < 2; ++copy) {
      onnx::NodeProto& node = *function.add_node();
      node.set_op_type(level == 0 ? "Relu" : "f" + std::to_string(level - 1));
      node.set_domain(level == 0 ? "" : "own");
      node.add_input(copy == 0 ? "in" : "middle");
      node.add_output(copy == 0 ? "middle" : "out");
    }
  }
  AddNode("f24", "", {"x"}, {"y"}, model).set_domain("own");
  EXPECT_EQ(ErrorIn(model), "local functions make more than 1000000 nodes");
}

TEST(OnnxGraphTest, NamesAreUnique) {
  onnx::ModelProto model = EmptyModel();
  AddInput("x", {1}, model);
  AddNode("Relu", "same", {"x"}, {"a"}, model);
  AddNode("Relu", "same", {"a"}, {"b"}, model);
  AddNode("Relu", std::string(500, 'n'), {"b"}, {"c"}, model);
  const v1::Graph graph = ReadModel(model).graph;
  EXPECT_EQ(graph.operators(1).name(), "same_1");
  EXPECT_EQ(graph.operators(2).name().size(), 240U);
}

TEST(OnnxGraphTest, RefusesWhatIsNoModel) {
  EXPECT_EQ(ErrorIn(EmptyModel()), "the model has no node");
  onnx::ModelProto model = EmptyModel();
  AddInput("x", {1}, model);
  AddNode("Relu", "", {"y"}, {"z"}, model);
  EXPECT_EQ(ErrorIn(model), "node \"Relu\" reads \"y\", which nothing before it makes");
  model = EmptyModel();
  AddInput("x", {1}, model);
  AddNode("Relu", "a", {"x"}, {"z"}, model);
  AddNode("Relu", "b", {"x"}, {"z"}, model);
  EXPECT_EQ(ErrorIn(model), "two nodes make \"z\"");
}

TEST(OnnxGraphTest, ShapesThatOverflowAreCut) {
  onnx::ModelProto model = EmptyModel();
  AddInput("x", {int64_t{1} << 40, int64_t{1} << 40}, model);
  AddNode("Relu", "a", {"x"}, {"y"}, model);
  AddNode("Relu", "b", {"y"}, {"z"}, model);
  EXPECT_EQ(ReadModel(model).graph.tensors(0).size_bytes(), int64_t{1} << 62);
}

TEST(OnnxGraphTest, BodiesOfControlFlowReadWhatIsAroundThem) {
  onnx::ModelProto model = EmptyModel();
  AddInput("x", {4, 16}, model);
  AddNode("Relu", "first", {"x"}, {"y"}, model);
  // Whether it runs is a constant, what it reads is not.
  AddNode("Constant", "always", {}, {"condition"}, model);
  onnx::AttributeProto& body = *AddNode("If", "branch", {"condition"}, {"z"}, model).add_attribute();
  body.set_name("then_branch");
  body.set_type(onnx::AttributeProto::GRAPH);
  onnx::NodeProto& inner = *body.mutable_g()->add_node();
  inner.set_op_type("Relu");
  inner.add_input("y");
  inner.add_output("inside");
  onnx::NodeProto& second = *body.mutable_g()->add_node();
  second.set_op_type("Relu");
  second.add_input("inside");
  second.add_output("out");
  body.mutable_g()->add_output()->set_name("out");
  const auto [graph, warnings] = ReadModel(model);
  ASSERT_THAT(graph.operators(), SizeIs(2));
  ASSERT_THAT(graph.tensors(), SizeIs(1));
  EXPECT_EQ(graph.tensors(0).producer(), "first");
  EXPECT_EQ(graph.tensors(0).consumers(0), "branch");
}

TEST(OnnxGraphTest, BodiesInsideFunctionsReadWhatTheFunctionMakes) {
  onnx::ModelProto model = EmptyModel();
  AddInput("inside", {4, 16}, model);
  onnx::FunctionProto& function = *model.add_functions();
  function.set_domain("own");
  function.set_name("Choice");
  function.add_input("in");
  function.add_output("out");
  onnx::NodeProto& made = *function.add_node();
  made.set_op_type("Relu");
  made.add_input("in");
  made.add_output("y");
  onnx::NodeProto& branch = *function.add_node();
  branch.set_op_type("If");
  branch.add_input("in");
  branch.add_output("out");
  onnx::AttributeProto& body = *branch.add_attribute();
  body.set_name("then_branch");
  body.set_type(onnx::AttributeProto::GRAPH);
  body.mutable_g()->add_sparse_initializer()->mutable_values()->set_name("weights");
  onnx::NodeProto& inner = *body.mutable_g()->add_node();
  inner.set_op_type("MatMul");
  inner.add_input("y");
  inner.add_input("weights");
  // As the use calls what it gives.
  inner.add_output("inside");
  onnx::NodeProto& sum = *body.mutable_g()->add_node();
  sum.set_op_type("Add");
  sum.add_input("inside");
  sum.add_input("in");
  // As the function calls a value of its own, but made here.
  sum.add_output("y");
  body.mutable_g()->add_output()->set_name("y");
  AddNode("Relu", "before", {"inside"}, {"given"}, model);
  AddNode("Choice", "f", {"given"}, {"z"}, model).set_domain("own");
  // Called like values of the function, which are other ones.
  AddNode("Relu", "later", {"z"}, {"y"}, model);
  const auto [graph, warnings] = ReadModel(model);
  ASSERT_THAT(graph.operators(), SizeIs(4));
  const std::string made_name = graph.operators(1).name();
  const std::string branch_name = graph.operators(2).name();
  ASSERT_THAT(graph.tensors(), SizeIs(3));
  EXPECT_EQ(graph.tensors(0).producer(), "before");
  EXPECT_THAT(graph.tensors(0).consumers(), ElementsAre(made_name, branch_name));
  EXPECT_EQ(graph.tensors(1).producer(), made_name);
  EXPECT_THAT(graph.tensors(1).consumers(), ElementsAre(branch_name));
  EXPECT_THAT(graph.tensors(2).consumers(), ElementsAre("later"));
}

onnx::TypeProto::Tensor& TypeOfInput(onnx::ModelProto& model) {
  return *model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
}

TEST(OnnxGraphTest, EinsumsAndQuantizedProductsCountTheirMultiplications) {
  onnx::ModelProto model = EmptyModel();
  AddInput("q", {2, 3, 5, 7}, model);
  AddInput("k", {2, 3, 11, 7}, model);
  onnx::AttributeProto& equation = *AddNode("Einsum", "scores", {"q", "k"}, {"s"}, model).add_attribute();
  equation.set_name("equation");
  equation.set_type(onnx::AttributeProto::STRING);
  equation.set_s("bhqd,bhkd->bhqk");
  EXPECT_EQ(ReadModel(model).graph.operators(0).forward_flops(), 2.0 * 2 * 3 * 5 * 7 * 11);

  // The second operand stands behind the scale and zero point of the first.
  model = EmptyModel();
  AddInput("a", {5, 7}, model);
  TypeOfInput(model).set_elem_type(onnx::TensorProto::UINT8);
  AddWeights("b", {7, 11}, model, onnx::TensorProto::UINT8);
  AddNode("QLinearMatMul", "product", {"a", "s", "z", "b", "s", "z", "s", "z"}, {"y"}, model);
  AddWeights("s", {}, model);
  AddWeights("z", {}, model, onnx::TensorProto::UINT8);
  const Read product = ReadModel(model);
  EXPECT_THAT(product.warnings, IsEmpty());
  EXPECT_EQ(product.graph.operators(0).forward_flops(), 2.0 * 5 * 7 * 11);

  model = EmptyModel();
  AddInput("image", {2, 3, 8, 8}, model);
  TypeOfInput(model).set_elem_type(onnx::TensorProto::UINT8);
  AddWeights("filters", {16, 3, 3, 3}, model, onnx::TensorProto::UINT8);
  AddNode("QLinearConv", "convolution", {"image", "s", "z", "filters", "s", "z", "s", "z"}, {"y"}, model);
  AddWeights("s", {}, model);
  AddWeights("z", {}, model, onnx::TensorProto::UINT8);
  EXPECT_EQ(ReadModel(model).graph.operators(0).forward_flops(), 2.0 * 2 * 16 * 6 * 6 * 3 * 3 * 3);
}

}  // namespace
}  // namespace planwright::onnx_reader
