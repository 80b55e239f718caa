// Builds the graph of a model operator by operator.
//
// The caller says what each operator computes on shaped values; the builder derives FLOPs, memory traffic and memory
// for the forward and the backward pass. The rules, which hold for every model of the zoo:
//
// - A multiply-add is two FLOPs. FLOPs of the other operators are rough counts per element: memory traffic decides
//   their roofline time.
// - Traffic of the forward pass: every input, every parameter and the output once.
// - A contraction (Linear, MatMul, Conv2d) goes backward as one contraction of its own size, in FLOPs and in traffic,
//   for each operand that needs a gradient: two, unless it reads an Input.
// - Any other operator reads the gradient of its output, its parameters and what it kept, and writes the gradients of
//   its inputs and parameters.
// - A value made of Inputs alone needs no gradient; an operator that makes one has no backward pass.
// - `activation_bytes`: what the backward pass reads again. A value is kept once, by its first consumer, even where
//   several operators read it again, so the sum over a stage is right unless the stage holds a later consumer only.
//   A value that its own producer reads again (Softmax, ReLU) counts at that consumer as well.
// - `workspace_bytes`: inputs and output, alive while the forward pass runs, as their gradients are in the backward.
#ifndef PLANWRIGHT_CORE_ZOO_GRAPH_BUILDER_H_
#define PLANWRIGHT_CORE_ZOO_GRAPH_BUILDER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/model/graph.h"

namespace planwright {

// Extents, outermost first; the micro-batch is part of the first one.
using Shape = std::vector<int64_t>;

int64_t NumElements(const Shape& shape);

// A value of the graph under construction: a tensor, seen in some shape.
struct Value {
  TensorId tensor;
  Shape shape;

  // The same elements in another shape; costs nothing. REQUIRES: as many elements.
  Value Reshaped(Shape other) const;
};

struct Convolution {
  int64_t output_channels = 0;
  int64_t kernel = 1;
  int64_t stride = 1;
};

// Not thread-safe. Every operator has one output tensor, which has the operator's name.
class GraphBuilder {
 public:
  // `bytes_per_element`: of parameters, and of every value but Inputs.
  GraphBuilder(std::string display_name, int64_t samples_per_micro_batch, int64_t bytes_per_element);

  // Operators added from now on carry this label and are named "{layer}/{name}".
  void EnterLayer(std::string layer) { layer_ = std::move(layer); }

  Value Input(std::string_view name, Shape shape, int64_t bytes_per_element);

  // Rows of a table with `rows` x `columns` parameters. `ids` of shape [..] gives [.., columns]. The gradient of the
  // table is dense.
  Value Embedding(std::string_view name, const Value& ids, int64_t rows, int64_t columns);

  // x W + bias: [.., k] gives [.., columns].
  Value Linear(std::string_view name, const Value& x, int64_t columns);
  // Batched product of two values: [.., m, k] x [.., k, n] gives [.., m, n].
  Value MatMul(std::string_view name, const Value& a, const Value& b);
  // Square kernel without bias, padded by (kernel - 1) / 2 on each side: [n, c, h, w] gives [n, output channels, h',
  // w'].
  Value Conv2d(std::string_view name, const Value& x, const Convolution& convolution);

  // Normalises over the last extent, with a scale and a shift for each of its elements.
  Value LayerNorm(std::string_view name, const Value& x);
  // Normalises each channel of [n, c, h, w], with a scale and a shift for each.
  Value BatchNorm(std::string_view name, const Value& x);
  Value Softmax(std::string_view name, const Value& x);

  // x times a constant plus a constant.
  Value Scale(std::string_view name, const Value& x);
  Value Relu(std::string_view name, const Value& x);
  Value Gelu(std::string_view name, const Value& x);
  Value Tanh(std::string_view name, const Value& x);
  // Keeps a mask of one byte per element.
  Value Dropout(std::string_view name, const Value& x);
  // Sum of values of the first one's shape; smaller ones are broadcast.
  Value Add(std::string_view name, const std::vector<Value>& inputs);

  // Windows of kernel x kernel, padded as in Conv2d.
  Value MaxPool(std::string_view name, const Value& x, int64_t kernel, int64_t stride);
  // [n, c, h, w] gives [n, c].
  Value GlobalAveragePool(std::string_view name, const Value& x);
  // The first position of [n, s, c] gives [n, c].
  Value First(std::string_view name, const Value& x);
  // Softmax and cross-entropy of [n, classes]: one number.
  Value CrossEntropyLoss(std::string_view name, const Value& logits);

  // The graph; the builder is empty afterwards.
  OperatorGraph Build();

 private:
  // What the backward pass reads again.
  enum class Keeps { kNothing, kInputs, kOutput };

  // What an operator other than a contraction does, in terms of elements of its output.
  struct Kernel {
    std::string_view type;
    double forward_flops = 0;
    double backward_flops = 0;
    Keeps keeps = Keeps::kNothing;
    int64_t parameters = 0;
    int64_t mask_bytes = 0;
  };

  struct TensorState {
    bool needs_gradient = true;
    bool kept = false;
    bool needed_by_producer = false;
  };

  Value AddKernel(std::string_view name, const std::vector<Value>& inputs, Shape output, const Kernel& kernel);
  Value AddContraction(std::string_view name, std::string_view type, const std::vector<Value>& inputs, Shape output,
                       int64_t parameters, double multiply_adds);
  // Adds an operator that reads `inputs`, with its forward traffic and its memory.
  Operator& AddOperator(std::string_view name, std::string_view type, const std::vector<Value>& inputs,
                        int64_t output_bytes, int64_t parameters);
  int64_t SizeBytes(const std::vector<Value>& values) const;
  int NumNeedingGradients(const std::vector<Value>& values) const;
  // Charges `op` for those of its inputs that must be kept and are not yet.
  void KeepInputs(Operator& op, const std::vector<Value>& inputs, bool reads_inputs_again);

  const Tensor& tensor(const Value& value) const { return graph_.tensors[value.tensor.index()]; }
  // The value that the operator added last makes.
  Value Output(Shape shape) const { return {TensorId(graph_.tensors.size() - 1), std::move(shape)}; }

  OperatorGraph graph_;
  std::vector<TensorState> tensor_states_;
  int64_t bytes_per_element_;
  std::string layer_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_GRAPH_BUILDER_H_
