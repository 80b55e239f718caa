#include "core/zoo/models/graph_builder.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <numeric>
#include <utility>

#include "core/base/interruption.h"
#include "core/base/units.h"

namespace planwright {
namespace {

// Extent of a dimension after a window of `kernel` slides over it. REQUIRES: the window fits.
int64_t Slide(int64_t extent, int64_t kernel, int64_t stride, bool padded) {
  const int64_t padding = padded ? (kernel - 1) / 2 : 0;
  assert(extent + 2 * padding >= kernel);
  return (extent + 2 * padding - kernel) / stride + 1;
}

Shape Pooled(const Shape& shape, const Pooling& pooling) {
  const auto& [kernel, stride, padded] = pooling;
  return {shape[0], shape[1], Slide(shape[2], kernel, stride, padded), Slide(shape[3], kernel, stride, padded)};
}

Shape WithLast(Shape shape, int64_t extent) {
  shape.back() = extent;
  return shape;
}

}  // namespace

int64_t NumElements(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

Value Value::Reshaped(Shape other) const {
  assert(NumElements(other) == NumElements(shape));
  return {tensor, std::move(other)};
}

GraphBuilder::GraphBuilder(std::string display_name, int64_t samples_per_micro_batch, int64_t bytes_per_element)
    : bytes_per_element_(bytes_per_element) {
  graph_.display_name = std::move(display_name);
  graph_.samples_per_micro_batch = samples_per_micro_batch;
}

Value GraphBuilder::Input(std::string_view name, Shape shape, int64_t bytes_per_element) {
  Operator& op = AddOperator(name, kInputOperatorType, {}, NumElements(shape) * bytes_per_element, 0);
  op.forward_bytes_accessed = 0;
  op.workspace_bytes = 0;
  return Output(std::move(shape));
}

Value GraphBuilder::Embedding(std::string_view name, const Value& ids, int64_t rows, int64_t columns) {
  Shape output = ids.shape;
  output.push_back(columns);
  const int64_t output_bytes = NumElements(output) * bytes_per_element_;
  Operator& op = AddOperator(name, "Embedding", {ids}, output_bytes, rows * columns);
  // Only the rows that are looked up are read, but the gradient has all of them.
  op.forward_bytes_accessed = tensor(ids).size_bytes + 2 * output_bytes;
  op.backward_bytes_accessed = op.forward_bytes_accessed + op.parameter_bytes;
  op.backward_flops = static_cast<double>(NumElements(output));
  KeepInputs(op, {ids}, true);
  return Output(std::move(output));
}

Value GraphBuilder::Linear(std::string_view name, const Value& x, int64_t columns, Bias bias) {
  const int64_t rows = x.shape.back() + (bias == Bias::kWith ? 1 : 0);
  const double multiply_adds = static_cast<double>(NumElements(x.shape)) * static_cast<double>(columns);
  return AddContraction(name, "Linear", {x}, WithLast(x.shape, columns), rows * columns, multiply_adds);
}

Value GraphBuilder::MatMul(std::string_view name, const Value& a, const Value& b) {
  assert(a.shape.size() >= 2 && a.shape.back() == b.shape[b.shape.size() - 2]);
  const int64_t columns = b.shape.back();
  const double multiply_adds = static_cast<double>(NumElements(a.shape)) * static_cast<double>(columns);
  return AddContraction(name, "MatMul", {a, b}, WithLast(a.shape, columns), 0, multiply_adds);
}

Value GraphBuilder::GroupedLinear(std::string_view name, const Value& x, int64_t columns, int64_t groups) {
  const double multiply_adds = static_cast<double>(NumElements(x.shape)) * static_cast<double>(columns);
  return AddContraction(name, "GroupedLinear", {x}, WithLast(x.shape, columns), groups * x.shape.back() * columns,
                        multiply_adds);
}

Value GraphBuilder::Conv2d(std::string_view name, const Value& x, const Convolution& convolution) {
  const auto& [channels, kernel, kernel_width, stride, padded, bias] = convolution;
  const int64_t width = kernel_width.value_or(kernel);
  const int64_t window = x.shape[1] * kernel * width;
  Shape output = {x.shape[0], channels, Slide(x.shape[2], kernel, stride, padded),
                  Slide(x.shape[3], width, stride, padded)};
  const double multiply_adds = static_cast<double>(NumElements(output)) * static_cast<double>(window);
  const int64_t parameters = (window + (bias ? 1 : 0)) * channels;
  return AddContraction(name, "Conv2d", {x}, std::move(output), parameters, multiply_adds);
}

Value GraphBuilder::Attention(std::string_view name, const Value& query, const Value& key, const Value& value,
                              int64_t heads) {
  constexpr int64_t kBytesPerNormaliser = 4;
  assert(query.shape.back() % heads == 0);
  Shape shape = WithLast(query.shape, query.shape.back() / key.shape.back() * value.shape.back());
  // The multiply-adds of the scores and of the weighted sums.
  const double multiply_adds =
      static_cast<double>(NumElements(query.shape) + NumElements(shape)) * static_cast<double>(key.shape[1]);
  Value output = AddContraction(name, "Attention", {query, key, value}, std::move(shape), 0, multiply_adds);
  Operator& op = graph_.operators.back();
  op.backward_flops = 2.5 * op.forward_flops;
  op.backward_bytes_accessed = 2 * op.forward_bytes_accessed;
  op.activation_bytes += kBytesPerNormaliser * heads * (NumElements(query.shape) / query.shape.back());
  tensor_states_.back().needed_by_producer = true;
  return output;
}

Value GraphBuilder::Lstm(std::string_view name, const Value& x, int64_t hidden, int64_t directions) {
  constexpr int64_t kGates = 4;
  const int64_t rows = x.shape.back() + hidden;
  const int64_t columns = kGates * hidden * directions;
  Shape output = WithLast(x.shape, hidden * directions);
  const int64_t output_elements = NumElements(output);
  const auto gate_elements = static_cast<double>(kGates * output_elements);
  Value y = AddContraction(name, "Lstm", {x}, std::move(output), (rows + 2) * columns,
                           gate_elements * static_cast<double>(rows));
  // The gates and the cell state.
  graph_.operators.back().activation_bytes += (kGates + 1) * output_elements * bytes_per_element_;
  tensor_states_.back().needed_by_producer = true;
  return y;
}

Value GraphBuilder::LayerNorm(std::string_view name, const Value& x) {
  return AddKernel(name, {x}, x.shape,
                   {.type = "LayerNorm",
                    .forward_flops = 8,
                    .backward_flops = 14,
                    .keeps = Keeps::kInputs,
                    .parameters = 2 * x.shape.back()});
}

Value GraphBuilder::BatchNorm(std::string_view name, const Value& x) {
  return AddKernel(name, {x}, x.shape,
                   {.type = "BatchNorm",
                    .forward_flops = 8,
                    .backward_flops = 14,
                    .keeps = Keeps::kInputs,
                    .parameters = 2 * x.shape[1]});
}

Value GraphBuilder::RmsNorm(std::string_view name, const Value& x) {
  return AddKernel(name, {x}, x.shape,
                   {.type = "RmsNorm",
                    .forward_flops = 5,
                    .backward_flops = 9,
                    .keeps = Keeps::kInputs,
                    .parameters = x.shape.back()});
}

Value GraphBuilder::AdditiveScores(std::string_view name, const Value& query, const Value& key) {
  const int64_t hidden = query.shape.back();
  const auto flops = 11 * static_cast<double>(hidden);
  return AddKernel(name, {query, key}, {query.shape[0], query.shape[1], key.shape[1]},
                   {.type = "AdditiveScores",
                    .forward_flops = flops,
                    .backward_flops = 2 * flops,
                    .keeps = Keeps::kInputs,
                    .parameters = 2 * hidden + 1});
}

Value GraphBuilder::Softmax(std::string_view name, const Value& x) {
  return AddKernel(name, {x}, x.shape,
                   {.type = "Softmax", .forward_flops = 5, .backward_flops = 4, .keeps = Keeps::kOutput});
}

Value GraphBuilder::Scale(std::string_view name, const Value& x) {
  return AddKernel(name, {x}, x.shape, {.type = "Scale", .forward_flops = 2, .backward_flops = 1});
}

Value GraphBuilder::Relu(std::string_view name, const Value& x) {
  return AddKernel(name, {x}, x.shape,
                   {.type = "Relu", .forward_flops = 1, .backward_flops = 1, .keeps = Keeps::kOutput});
}

Value GraphBuilder::Gelu(std::string_view name, const Value& x) {
  return AddKernel(name, {x}, x.shape,
                   {.type = "Gelu", .forward_flops = 10, .backward_flops = 15, .keeps = Keeps::kInputs});
}

Value GraphBuilder::Silu(std::string_view name, const Value& x) {
  return AddKernel(name, {x}, x.shape,
                   {.type = "Silu", .forward_flops = 6, .backward_flops = 9, .keeps = Keeps::kInputs});
}

Value GraphBuilder::Rotary(std::string_view name, const Value& x) {
  return AddKernel(name, {x}, x.shape, {.type = "Rotary", .forward_flops = 3, .backward_flops = 3});
}

Value GraphBuilder::Tanh(std::string_view name, const Value& x) {
  return AddKernel(name, {x}, x.shape,
                   {.type = "Tanh", .forward_flops = 8, .backward_flops = 3, .keeps = Keeps::kOutput});
}

Value GraphBuilder::Dropout(std::string_view name, const Value& x) {
  return AddKernel(name, {x}, x.shape,
                   {.type = "Dropout", .forward_flops = 2, .backward_flops = 2, .mask_bytes = NumElements(x.shape)});
}

Value GraphBuilder::Add(std::string_view name, const std::vector<Value>& inputs) {
  const auto additions = static_cast<double>(inputs.size() - 1);
  return AddKernel(name, inputs, inputs.front().shape,
                   {.type = "Add", .forward_flops = additions, .backward_flops = additions});
}

Value GraphBuilder::AddTable(std::string_view name, const Value& x, int64_t parameters) {
  return AddKernel(name, {x}, x.shape,
                   {.type = "AddTable", .forward_flops = 1, .backward_flops = 1, .parameters = parameters});
}

Value GraphBuilder::Permute(std::string_view name, const Value& x, Shape shape) {
  assert(NumElements(shape) == NumElements(x.shape));
  return AddKernel(name, {x}, std::move(shape), {.type = "Permute"});
}

Value GraphBuilder::Multiply(std::string_view name, const Value& a, const Value& b) {
  assert(a.shape == b.shape);
  return AddKernel(name, {a, b}, a.shape,
                   {.type = "Multiply", .forward_flops = 1, .backward_flops = 2, .keeps = Keeps::kInputs});
}

Value GraphBuilder::Dispatch(std::string_view name, const Value& x, const Value& choice, int64_t copies) {
  Shape output = x.shape;
  output.insert(output.begin(), copies);
  return AddKernel(name, {x, choice}, std::move(output), {.type = "Dispatch", .backward_flops = 1});
}

Value GraphBuilder::Combine(std::string_view name, const Value& x, const Value& choice, Shape shape) {
  const auto copies = static_cast<double>(NumElements(x.shape)) / static_cast<double>(NumElements(shape));
  return AddKernel(
      name, {x, choice}, std::move(shape),
      {.type = "Combine", .forward_flops = 2 * copies, .backward_flops = 3 * copies, .keeps = Keeps::kInputs});
}

Value GraphBuilder::AppendToHeads(std::string_view name, const Value& heads, const Value& shared, int64_t num_heads) {
  const int64_t width = heads.shape.back() + num_heads * shared.shape.back();
  return AddKernel(name, {heads, shared}, WithLast(heads.shape, width), {.type = "Concat"});
}

Value GraphBuilder::Concat(std::string_view name, const std::vector<Value>& inputs, std::size_t axis) {
  Shape output = inputs.front().shape;
  output[axis] = 0;
  for (const Value& input : inputs) output[axis] += input.shape[axis];
  return AddKernel(name, inputs, std::move(output), {.type = "Concat"});
}

Value GraphBuilder::MaxPool(std::string_view name, const Value& x, const Pooling& pooling) {
  const auto comparisons = static_cast<double>(pooling.kernel * pooling.kernel);
  return AddKernel(
      name, {x}, Pooled(x.shape, pooling),
      {.type = "MaxPool", .forward_flops = comparisons, .backward_flops = comparisons, .keeps = Keeps::kInputs});
}

Value GraphBuilder::AveragePool(std::string_view name, const Value& x, const Pooling& pooling) {
  const auto additions = static_cast<double>(pooling.kernel * pooling.kernel);
  return AddKernel(name, {x}, Pooled(x.shape, pooling),
                   {.type = "AveragePool", .forward_flops = additions, .backward_flops = additions});
}

Value GraphBuilder::Upsample(std::string_view name, const Value& x, int64_t factor) {
  // Four products and three sums for each element.
  return AddKernel(name, {x}, {x.shape[0], x.shape[1], factor * x.shape[2], factor * x.shape[3]},
                   {.type = "Upsample", .forward_flops = 7, .backward_flops = 7});
}

Value GraphBuilder::AdaptiveAveragePool(std::string_view name, const Value& x, int64_t extent) {
  Shape output = {x.shape[0], x.shape[1], extent, extent};
  // Windows overlap where the extent does not divide the input's.
  const auto additions = static_cast<double>(CeilDivide(x.shape[2], extent) * CeilDivide(x.shape[3], extent));
  return AddKernel(name, {x}, std::move(output),
                   {.type = "AdaptiveAveragePool", .forward_flops = additions, .backward_flops = additions});
}

Value GraphBuilder::GlobalAveragePool(std::string_view name, const Value& x) {
  const auto area = static_cast<double>(x.shape[2] * x.shape[3]);
  return AddKernel(name, {x}, {x.shape[0], x.shape[1]},
                   {.type = "GlobalAveragePool", .forward_flops = area, .backward_flops = area});
}

Value GraphBuilder::First(std::string_view name, const Value& x) {
  Value first = AddKernel(name, {x}, {x.shape[0], x.shape[2]}, {.type = "First"});
  // Reads one position only, but the gradient has all of them.
  graph_.operators.back().forward_bytes_accessed = 2 * tensor(first).size_bytes;
  return first;
}

Value GraphBuilder::CrossEntropyLoss(std::string_view name, const Value& logits) {
  const auto flops = 6 * static_cast<double>(NumElements(logits.shape));
  return AddKernel(
      name, {logits}, {1},
      {.type = "CrossEntropyLoss", .forward_flops = flops, .backward_flops = flops / 2, .keeps = Keeps::kInputs});
}

void GraphBuilder::ShareParameters() {
  Operator& op = graph_.operators.back();
  op.workspace_bytes += 2 * op.parameter_bytes;
  op.parameter_bytes = 0;
}

void GraphBuilder::Reserve(std::size_t operators) {
  graph_.operators.reserve(graph_.operators.size() + operators);
  graph_.tensors.reserve(graph_.tensors.size() + operators);
  tensor_states_.reserve(tensor_states_.size() + operators);
}

OperatorGraph GraphBuilder::Build() {
  tensor_states_.clear();
  return std::exchange(graph_, {});
}

Value GraphBuilder::AddKernel(std::string_view name, const std::vector<Value>& inputs, Shape output,
                              const Kernel& kernel) {
  const auto output_elements = static_cast<double>(NumElements(output));
  const int64_t output_bytes = NumElements(output) * bytes_per_element_;
  Operator& op = AddOperator(name, kernel.type, inputs, output_bytes, kernel.parameters);
  op.forward_flops = kernel.forward_flops * output_elements;
  op.forward_bytes_accessed += kernel.mask_bytes;
  if (!tensor_states_.back().needs_gradient) return Output(std::move(output));

  op.backward_flops = kernel.backward_flops * output_elements;
  op.backward_bytes_accessed = op.forward_bytes_accessed + op.parameter_bytes;
  if (kernel.keeps == Keeps::kOutput) op.backward_bytes_accessed += output_bytes;
  if (kernel.keeps == Keeps::kInputs) op.backward_bytes_accessed += SizeBytes(inputs);
  op.activation_bytes = kernel.mask_bytes;
  KeepInputs(op, inputs, kernel.keeps == Keeps::kInputs);
  tensor_states_.back().needed_by_producer = kernel.keeps == Keeps::kOutput;
  return Output(std::move(output));
}

Value GraphBuilder::AddContraction(std::string_view name, std::string_view type, const std::vector<Value>& inputs,
                                   Shape output, int64_t parameters, double multiply_adds) {
  Operator& op = AddOperator(name, type, inputs, NumElements(output) * bytes_per_element_, parameters);
  const int gradients = NumNeedingGradients(inputs) + (parameters > 0 ? 1 : 0);
  op.forward_flops = 2 * multiply_adds;
  op.backward_flops = gradients * op.forward_flops;
  op.backward_bytes_accessed = gradients * op.forward_bytes_accessed;
  KeepInputs(op, inputs, true);
  return Output(std::move(output));
}

Operator& GraphBuilder::AddOperator(std::string_view name, std::string_view type, const std::vector<Value>& inputs,
                                    int64_t output_bytes, int64_t parameters) {
  InterruptionPoint(/*units=*/128);
  const OperatorId id(graph_.operators.size());
  Operator& op = graph_.operators.emplace_back();
  op.name = layer_ + "/" + std::string(name);
  op.type = type;
  op.layer = layer_;
  op.parameter_bytes = parameters * bytes_per_element_;
  op.workspace_bytes = SizeBytes(inputs) + output_bytes;
  op.forward_bytes_accessed = op.workspace_bytes + op.parameter_bytes;
  for (const Value& input : inputs) graph_.tensors[input.tensor.index()].consumers.push_back(id);
  tensor_states_.push_back({.needs_gradient = parameters > 0 || NumNeedingGradients(inputs) > 0});
  Tensor& output = graph_.tensors.emplace_back();
  output.name = op.name;
  output.producer = id;
  output.size_bytes = output_bytes;
  return op;
}

int64_t GraphBuilder::SizeBytes(const std::vector<Value>& values) const {
  int64_t size_bytes = 0;
  for (const Value& value : values) size_bytes += tensor(value).size_bytes;
  return size_bytes;
}

int GraphBuilder::NumNeedingGradients(const std::vector<Value>& values) const {
  return static_cast<int>(std::count_if(values.begin(), values.end(), [this](const Value& value) {
    return tensor_states_[value.tensor.index()].needs_gradient;
  }));
}

void GraphBuilder::KeepInputs(Operator& op, const std::vector<Value>& inputs, bool reads_inputs_again) {
  for (const Value& input : inputs) {
    TensorState& input_state = tensor_states_[input.tensor.index()];
    if (input_state.kept || !(reads_inputs_again || input_state.needed_by_producer)) continue;
    op.activation_bytes += tensor(input).size_bytes;
    input_state.kept = true;
  }
}

}  // namespace planwright
