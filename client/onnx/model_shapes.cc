#include "client/onnx/model_shapes.h"

#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace planwright::onnx_reader {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 62;

using Initializers = std::map<std::string, const onnx::TensorProto*>;

Initializers InitializersOf(const onnx::GraphProto& graph) {
  Initializers initializers;
  for (const onnx::TensorProto& tensor : graph.initializer()) initializers.emplace(tensor.name(), &tensor);
  return initializers;
}

// What symbols stand for; those that nobody said stand for 1.
void BindSymbols(const std::map<std::string, int64_t>& dimensions, onnx::GraphProto& graph,
                 std::vector<std::string>& warnings) {
  std::set<std::string> unbound;
  for (onnx::ValueInfoProto& input : *graph.mutable_input()) {
    if (!input.type().has_tensor_type() || !input.type().tensor_type().has_shape()) continue;
    for (onnx::TensorShapeProto::Dimension& dimension :
         *input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
      if (dimension.has_dim_value() && dimension.dim_value() > 0) continue;
      const std::string name =
          dimension.has_dim_param() && !dimension.dim_param().empty() ? dimension.dim_param() : "?";
      const auto bound = dimensions.find(name);
      if (bound == dimensions.end()) unbound.insert(name);
      dimension.set_dim_value(bound == dimensions.end() ? 1 : bound->second);
    }
  }
  if (!unbound.empty()) {
    warnings.push_back(absl::StrCat("dimensions that no --dim binds are taken for 1: ", absl::StrJoin(unbound, ", ")));
  }
  // Shapes that the exporter wrote with symbols would contradict those that are inferred.
  const auto has_symbol = [](const onnx::ValueInfoProto& value) {
    const auto& dims = value.type().tensor_type().shape().dim();
    return std::any_of(dims.begin(), dims.end(), [](const auto& dim) { return !dim.has_dim_value(); });
  };
  auto* values = graph.mutable_value_info();
  values->erase(std::remove_if(values->begin(), values->end(), has_symbol), values->end());
  for (onnx::ValueInfoProto& output : *graph.mutable_output()) {
    if (has_symbol(output)) output.mutable_type()->mutable_tensor_type()->clear_shape();
  }
}

// The whole numbers of a small tensor.
std::optional<std::vector<int64_t>> IntegersOf(const onnx::TensorProto& tensor) {
  constexpr std::size_t kMost = 64;
  if (tensor.data_type() != onnx::TensorProto::INT64) return std::nullopt;
  std::vector<int64_t> numbers(tensor.int64_data().begin(), tensor.int64_data().end());
  if (numbers.empty() && tensor.has_raw_data() && tensor.raw_data().size() <= kMost * sizeof(int64_t)) {
    numbers.resize(tensor.raw_data().size() / sizeof(int64_t));
    std::copy_n(tensor.raw_data().data(), numbers.size() * sizeof(int64_t), reinterpret_cast<char*>(numbers.data()));
  }
  return numbers;
}

// From version 18 on reductions take their axes as an input, and Split says how many parts it makes. Where the input is
// a constant, both mean what an attribute, and nothing, said before.
void TakeBack(const Initializers& initializers, onnx::NodeProto& node) {
  const std::string_view type = node.op_type();
  if (type.starts_with("Reduce") && type != "ReduceSum" && node.input_size() == 2) {
    const auto axes = initializers.find(node.input(1));
    const auto numbers = axes == initializers.end() ? std::nullopt : IntegersOf(*axes->second);
    if (!numbers.has_value()) return;
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name("axes");
    attribute.set_type(onnx::AttributeProto::INTS);
    attribute.mutable_ints()->Add(numbers->begin(), numbers->end());
    node.mutable_input()->RemoveLast();
  }
  if (type == "Split") {
    auto* attributes = node.mutable_attribute();
    attributes->erase(std::remove_if(attributes->begin(), attributes->end(),
                                     [](const auto& attribute) { return attribute.name() == "num_outputs"; }),
                      attributes->end());
  }
}

void TakeBackOpset(onnx::ModelProto& model, std::vector<std::string>& warnings) {
  for (onnx::OperatorSetIdProto& opset : *model.mutable_opset_import()) {
    const bool is_standard = opset.domain().empty() || opset.domain() == "ai.onnx";
    if (!is_standard || opset.version() <= kKnownOpset) continue;
    warnings.push_back(absl::StrCat("operators of version ", opset.version(), " are taken for those of version ",
                                    kKnownOpset, ", the newest that is known here"));
    opset.set_version(kKnownOpset);
    const Initializers initializers = InitializersOf(model.graph());
    for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) TakeBack(initializers, node);
  }
}

// nullopt: not a tensor, or a dimension is not known.
std::optional<ValueShape> ShapeOf(const onnx::ValueInfoProto& value) {
  if (!value.type().has_tensor_type() || !value.type().tensor_type().has_shape()) return std::nullopt;
  ValueShape shape{value.type().tensor_type().elem_type(), {}};
  for (const auto& dimension : value.type().tensor_type().shape().dim()) {
    if (!dimension.has_dim_value() || dimension.dim_value() < 0) return std::nullopt;
    shape.dimensions.push_back(dimension.dim_value());
  }
  return shape;
}

}  // namespace

int64_t ElementBytes(int32_t element_type) {
  switch (element_type) {
    case onnx::TensorProto::FLOAT:
    case onnx::TensorProto::INT32:
    case onnx::TensorProto::UINT32:
      return 4;
    case onnx::TensorProto::DOUBLE:
    case onnx::TensorProto::INT64:
    case onnx::TensorProto::UINT64:
    case onnx::TensorProto::COMPLEX64:
      return 8;
    case onnx::TensorProto::FLOAT16:
    case onnx::TensorProto::BFLOAT16:
    case onnx::TensorProto::INT16:
    case onnx::TensorProto::UINT16:
      return 2;
    case onnx::TensorProto::INT8:
    case onnx::TensorProto::UINT8:
    case onnx::TensorProto::BOOL:
      return 1;
    case onnx::TensorProto::COMPLEX128:
      return 16;
    default:
      return 0;
  }
}

int64_t ElementsOf(const ValueShape& shape) {
  int64_t elements = 1;
  for (const int64_t dimension : shape.dimensions) {
    if (dimension <= 0) return 0;
    elements = elements > kMostElements / dimension ? kMostElements : elements * dimension;
  }
  return elements;
}

std::map<std::string, ValueShape> InferValueShapes(const std::map<std::string, int64_t>& dimensions,
                                                   onnx::ModelProto& model, std::vector<std::string>& warnings) {
  BindSymbols(dimensions, *model.mutable_graph(), warnings);
  TakeBackOpset(model, warnings);
  onnx::ShapeInferenceOptions options;
  options.enable_data_propagation = true;
  try {
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), options);
  } catch (const std::exception& error) {
    warnings.push_back(absl::StrCat("not all shapes could be inferred: ", error.what()));
  }
  std::map<std::string, ValueShape> shapes;
  for (const auto* values : {&model.graph().value_info(), &model.graph().input(), &model.graph().output()}) {
    for (const onnx::ValueInfoProto& value : *values) {
      if (auto shape = ShapeOf(value)) shapes.emplace(value.name(), *std::move(shape));
    }
  }
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    shapes[tensor.name()] = {tensor.data_type(), {tensor.dims().begin(), tensor.dims().end()}};
  }
  return shapes;
}

}  // namespace planwright::onnx_reader
