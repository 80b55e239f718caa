// Builds the graph of a model operator by operator.
//
// The caller says what each operator computes on shaped values; the builder derives FLOPs, memory traffic and memory
// for the forward and the backward pass. The rules, which hold for every model of the zoo:
//
// - A multiply-add is two FLOPs. FLOPs of the other operators are rough counts per element: memory traffic decides
//   their roofline time.
// - Traffic of the forward pass: every input, every parameter and the output once.
// - A contraction (Linear, MatMul, Conv2d, Lstm) goes backward as one contraction of its own size, in FLOPs and in
//   traffic, for each operand that needs a gradient: two, unless it reads an Input. Attention, which is two
//   contractions and makes the first one again when it goes backward, takes 2.5 times its FLOPs and twice its traffic.
// - Any other operator reads the gradient of its output, its parameters and what it kept, and writes the gradients of
//   its inputs and parameters.
// - A value made of Inputs alone needs no gradient; an operator that makes one has no backward pass.
// - `activation_bytes`: what the backward pass reads again. A value is kept once, by its first consumer, even where
//   several operators read it again, so the sum over a stage is right unless the stage holds a later consumer only.
//   A value that its own producer reads again (Softmax, ReLU) counts at that consumer as well.
// - `workspace_bytes`: inputs and output, alive while the forward pass runs, as their gradients are in the backward.
#ifndef PLANWRIGHT_CORE_ZOO_MODELS_GRAPH_BUILDER_H_
#define PLANWRIGHT_CORE_ZOO_MODELS_GRAPH_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
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

// Of a token, a label and whatever else is looked up by number.
inline constexpr int64_t kBytesPerId = 4;

// A value of the graph under construction: a tensor, seen in some shape.
struct Value {
  TensorId tensor;
  Shape shape;

  // Returns the same elements in another shape; costs nothing. REQUIRES: as many elements.
  Value Reshaped(Shape other) const;
};

struct Convolution {
  int64_t output_channels = 0;
  // Height of the window, and its width unless `kernel_width` is set.
  int64_t kernel = 1;
  std::optional<int64_t> kernel_width = std::nullopt;
  int64_t stride = 1;
  // By (kernel - 1) / 2 on each side, else not at all.
  bool padded = true;
  bool bias = false;
};

// Square windows.
struct Pooling {
  int64_t kernel = 1;
  int64_t stride = 1;
  // As of Convolution.
  bool padded = true;
};

enum class Bias { kWith, kWithout };

// Not thread-safe. Every operator has one output tensor, which has the operator's name.
class GraphBuilder {
 public:
  // `bytes_per_element`: of parameters, and of every value but Inputs.
  GraphBuilder(std::string display_name, int64_t samples_per_micro_batch, int64_t bytes_per_element);

  // Makes room for `operators` more, so that adding them moves none.
  void Reserve(std::size_t operators);
  std::size_t num_operators() const { return graph_.operators.size(); }

  // Operators added from now on carry this label and are named "{layer}/{name}".
  void EnterLayer(std::string layer) { layer_ = std::move(layer); }

  Value Input(std::string_view name, Shape shape, int64_t bytes_per_element);

  // Rows of a table with `rows` x `columns` parameters. `ids` of shape [..] gives [.., columns]. The gradient of the
  // table is dense.
  Value Embedding(std::string_view name, const Value& ids, int64_t rows, int64_t columns);

  // x W + bias: [.., k] gives [.., columns].
  Value Linear(std::string_view name, const Value& x, int64_t columns, Bias bias = Bias::kWith);
  // Batched product of two values: [.., m, k] x [.., k, n] gives [.., m, n].
  Value MatMul(std::string_view name, const Value& a, const Value& b);
  // [n, c, h, w] gives [n, output channels, h', w'].
  Value Conv2d(std::string_view name, const Value& x, const Convolution& convolution);
  // Products of `groups` matrices, each with its share of the rows of x, which may be unlike: [.., k] gives
  // [.., columns].
  Value GroupedLinear(std::string_view name, const Value& x, int64_t columns, int64_t groups);
  // softmax(query key^T) value in one kernel that never stores the scores (Dao, FlashAttention-2, 2023), for `heads`
  // heads: query [n, s, h]; key [n, s', g] with g <= h where heads share them, value [n, s', v]. Gives [n, s, v h / g].
  // Masked scores
  // count like the others, as in the published formulas. Keeps its output and 4 bytes per position and head.
  Value Attention(std::string_view name, const Value& query, const Value& key, const Value& value, int64_t heads);
  // One LSTM layer over all time steps, in one or two directions, with the two biases per gate of cuDNN: [n, t, c]
  // gives [n, t, directions x hidden]. Keeps gates and cell states. The weights count once in its traffic, as if they
  // stayed on the chip from step to step.
  Value Lstm(std::string_view name, const Value& x, int64_t hidden, int64_t directions);

  // Normalises over the last extent, with a scale and a shift for each of its elements.
  Value LayerNorm(std::string_view name, const Value& x);
  // Normalises each channel of [n, c, h, w], with a scale and a shift for each.
  Value BatchNorm(std::string_view name, const Value& x);
  // Normalises over the last extent, with a scale for each of its elements.
  Value RmsNorm(std::string_view name, const Value& x);
  Value Softmax(std::string_view name, const Value& x);
  // Scores v . tanh(query + key + b) of additive attention, in one kernel: query [n, s, h] and key [n, s', h] give
  // [n, s, s']. Parameters: v, b and the length of v (Bahdanau, Cho, Bengio 2015, normalised).
  Value AdditiveScores(std::string_view name, const Value& query, const Value& key);

  // x times a constant plus a constant.
  Value Scale(std::string_view name, const Value& x);
  Value Relu(std::string_view name, const Value& x);
  Value Gelu(std::string_view name, const Value& x);
  Value Silu(std::string_view name, const Value& x);
  Value Tanh(std::string_view name, const Value& x);
  // Rotates pairs of elements by an angle that depends on the position (Su et al., RoFormer, 2021).
  Value Rotary(std::string_view name, const Value& x);
  // Keeps a mask of one byte per element.
  Value Dropout(std::string_view name, const Value& x);
  // Sum of values of the first one's shape; smaller ones are broadcast.
  Value Add(std::string_view name, const std::vector<Value>& inputs);

  // Adds entries of a learned table of `parameters`, which one follows from the position (Liu et al. 2021,
  // section 3.2).
  Value AddTable(std::string_view name, const Value& x, int64_t parameters);
  // Puts the elements in another order: a copy. REQUIRES: as many elements.
  Value Permute(std::string_view name, const Value& x, Shape shape);

  // Element by element; of one shape.
  Value Multiply(std::string_view name, const Value& a, const Value& b);
  // Rows of x in the order of the experts that they go to, each as often as `copies` says: [.., h] gives
  // [copies, .., h]. `choice` says which.
  Value Dispatch(std::string_view name, const Value& x, const Value& choice, int64_t copies);
  // The inverse: sums of the copies, weighed by `choice`, in `shape`.
  Value Combine(std::string_view name, const Value& x, const Value& choice, Shape shape);
  // Heads of `heads` with `shared` behind each of them: [.., a h] and [.., b] give [.., (a + b) h] for h heads.
  Value AppendToHeads(std::string_view name, const Value& heads, const Value& shared, int64_t num_heads);
  // Along extent `axis`; the other extents are alike.
  Value Concat(std::string_view name, const std::vector<Value>& inputs, std::size_t axis);

  Value MaxPool(std::string_view name, const Value& x, const Pooling& pooling);
  Value AveragePool(std::string_view name, const Value& x, const Pooling& pooling);
  // Bilinear interpolation of [n, c, h, w] to [n, c, factor x h, factor x w].
  Value Upsample(std::string_view name, const Value& x, int64_t factor);
  // [n, c, h, w] gives [n, c, extent, extent], whatever h and w.
  Value AdaptiveAveragePool(std::string_view name, const Value& x, int64_t extent);
  // [n, c, h, w] gives [n, c].
  Value GlobalAveragePool(std::string_view name, const Value& x);
  // The first position of [n, s, c] gives [n, c].
  Value First(std::string_view name, const Value& x);
  // Softmax and cross-entropy over the extent of classes: one number.
  Value CrossEntropyLoss(std::string_view name, const Value& logits);

  // The operator added last uses parameters that another one holds. They count there; here they are a copy, which with
  // its gradient takes room in `workspace_bytes`, as either may be on another device.
  void ShareParameters();

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

#endif  // PLANWRIGHT_CORE_ZOO_MODELS_GRAPH_BUILDER_H_
