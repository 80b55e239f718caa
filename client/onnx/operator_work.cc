#include "client/onnx/operator_work.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "core/text/einsum.h"

namespace planwright::onnx_reader {
namespace {

using Shapes = std::map<std::string, ValueShape>;

// Operations for one element of a function such as exp.
constexpr double kFunctionFlops = 8;

// nullptr: absent or not known.
const ValueShape* ShapeAt(const google::protobuf::RepeatedPtrField<std::string>& names, int index,
                          const Shapes& shapes) {
  if (index >= names.size()) return nullptr;
  const auto found = shapes.find(names.Get(index));
  return found == shapes.end() ? nullptr : &found->second;
}

double Elements(const ValueShape* shape) { return shape == nullptr ? 0 : static_cast<double>(ElementsOf(*shape)); }

int64_t IntAttribute(const onnx::NodeProto& node, std::string_view name, int64_t otherwise) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name && attribute.type() == onnx::AttributeProto::INT) return attribute.i();
  }
  return otherwise;
}

// The product of the dimensions from `first` on.
double ProductFrom(const ValueShape& shape, std::size_t first) {
  double product = 1;
  for (std::size_t i = first; i < shape.dimensions.size(); ++i) product *= static_cast<double>(shape.dimensions[i]);
  return product;
}

// Every output element is a sum over the weights of one output channel: C / group x kernel of [M, C / group, kernel].
double ConvFlops(const onnx::NodeProto& node, const Shapes& shapes, bool is_transposed) {
  const ValueShape* weights = ShapeAt(node.input(), 1, shapes);
  const ValueShape* over = is_transposed ? ShapeAt(node.input(), 0, shapes) : ShapeAt(node.output(), 0, shapes);
  return weights == nullptr ? 0 : 2 * Elements(over) * ProductFrom(*weights, 1);
}

// Multiplies [..., M, K] by [..., K, N].
double MatMulFlops(const onnx::NodeProto& node, const Shapes& shapes) {
  const ValueShape* left = ShapeAt(node.input(), 0, shapes);
  if (left == nullptr || left->dimensions.empty()) return 0;
  return 2 * Elements(ShapeAt(node.output(), 0, shapes)) * static_cast<double>(left->dimensions.back());
}

double GemmFlops(const onnx::NodeProto& node, const Shapes& shapes) {
  const ValueShape* left = ShapeAt(node.input(), 0, shapes);
  if (left == nullptr || left->dimensions.size() != 2) return 0;
  const std::size_t inner = IntAttribute(node, "transA", 0) == 0 ? 1 : 0;
  return 2 * Elements(ShapeAt(node.output(), 0, shapes)) * static_cast<double>(left->dimensions[inner]);
}

// Weights [directions, gates x hidden, inputs] and recurrences [directions, gates x hidden, hidden] for every step.
double RecurrentFlops(const onnx::NodeProto& node, const Shapes& shapes) {
  const ValueShape* sequence = ShapeAt(node.input(), 0, shapes);
  if (sequence == nullptr || sequence->dimensions.size() != 3) return 0;
  const double rows = static_cast<double>(sequence->dimensions[0]) * static_cast<double>(sequence->dimensions[1]);
  return 2 * rows * (Elements(ShapeAt(node.input(), 1, shapes)) + Elements(ShapeAt(node.input(), 2, shapes)));
}

double EinsumFlops(const onnx::NodeProto& node, const Shapes& shapes) {
  std::vector<std::vector<int64_t>> operands;
  for (int i = 0; i < node.input_size(); ++i) {
    const ValueShape* operand = ShapeAt(node.input(), i, shapes);
    if (operand == nullptr) return 0;
    operands.push_back(operand->dimensions);
  }
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == "equation") return 2 * EinsumProducts(attribute.s(), operands).value_or(0);
  }
  return 0;
}

// Weights are the fourth of the inputs, behind the scale and the zero point of the first.
double QuantizedConvFlops(const onnx::NodeProto& node, const Shapes& shapes) {
  const ValueShape* weights = ShapeAt(node.input(), 3, shapes);
  return weights == nullptr ? 0 : 2 * Elements(ShapeAt(node.output(), 0, shapes)) * ProductFrom(*weights, 1);
}

const std::set<std::string_view>& Movements() {
  static const std::set<std::string_view> types = {
      "Reshape", "Transpose",      "Squeeze",         "Unsqueeze",       "Flatten",      "Identity",
      "Concat",  "Split",          "Slice",           "Gather",          "GatherND",     "Expand",
      "Tile",    "Shape",          "ConstantOfShape", "Constant",        "Cast",         "Pad",
      "Size",    "GatherElements", "ScatterND",       "ScatterElements", "DepthToSpace", "SpaceToDepth"};
  return types;
}

const std::set<std::string_view>& Functions() {
  static const std::set<std::string_view> types = {"Softmax",
                                                   "LogSoftmax",
                                                   "Exp",
                                                   "Log",
                                                   "Sigmoid",
                                                   "Tanh",
                                                   "Erf",
                                                   "Gelu",
                                                   "Sqrt",
                                                   "Pow",
                                                   "Mish",
                                                   "HardSwish",
                                                   "Elu",
                                                   "Softplus",
                                                   "Sin",
                                                   "Cos",
                                                   "LayerNormalization",
                                                   "InstanceNormalization"};
  return types;
}

// Elements of a window for each element that comes out.
double PoolFlops(const onnx::NodeProto& node, const Shapes& shapes) {
  double window = 1;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() != "kernel_shape") continue;
    for (const int64_t size : attribute.ints()) window *= static_cast<double>(size);
  }
  return Elements(ShapeAt(node.output(), 0, shapes)) * window;
}

double SimpleFlops(const onnx::NodeProto& node, const Shapes& shapes) {
  const std::string_view type = node.op_type();
  if (Movements().contains(type)) return 0;
  if (type == "MaxPool" || type == "AveragePool") return PoolFlops(node, shapes);
  const double out = Elements(ShapeAt(node.output(), 0, shapes));
  if (Functions().contains(type)) return kFunctionFlops * out;
  if (type == "BatchNormalization") return 2 * out;
  double most = out;
  for (int i = 0; i < node.input_size(); ++i) most = std::max(most, Elements(ShapeAt(node.input(), i, shapes)));
  return most;
}

}  // namespace

OperatorWork WorkOf(const onnx::NodeProto& node, const Shapes& shapes) {
  const std::string_view type = node.op_type();
  if (type == "Conv" || type == "ConvInteger") return {ConvFlops(node, shapes, false), true};
  if (type == "ConvTranspose") return {ConvFlops(node, shapes, true), true};
  if (type == "QLinearConv") return {QuantizedConvFlops(node, shapes), true};
  if (type == "MatMul" || type == "MatMulInteger" || type == "QLinearMatMul") return {MatMulFlops(node, shapes), true};
  if (type == "Gemm") return {GemmFlops(node, shapes), true};
  if (type == "LSTM" || type == "GRU" || type == "RNN") return {RecurrentFlops(node, shapes), true};
  if (type == "Einsum") return {EinsumFlops(node, shapes), true};
  return {SimpleFlops(node, shapes), false};
}

}  // namespace planwright::onnx_reader
