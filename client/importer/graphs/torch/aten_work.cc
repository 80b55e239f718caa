#include "client/importer/graphs/torch/aten_work.h"

#include <algorithm>
#include <set>

#include "core/text/einsum.h"

namespace planwright::client {
namespace {

using Names = std::set<std::string_view>;

// Operations for one element of a function such as exp.
constexpr double kFunctionFlops = 8;

const ExportedTensor* At(const std::vector<const ExportedTensor*>& tensors, std::size_t index) {
  return index < tensors.size() ? tensors[index] : nullptr;
}

double Elements(const ExportedTensor* tensor) { return tensor == nullptr ? 0 : tensor->elements(); }

double Out(const AtenCall& call) { return Elements(At(call.outputs, 0)); }

// Sums over the last size of `left`.
double ProductFlops(const AtenCall& call, std::size_t left) {
  const ExportedTensor* const matrix = At(call.inputs, left);
  return matrix == nullptr ? 0 : 2 * Out(call) * matrix->last();
}

// The products of a batch are added up.
double SummedProductFlops(const AtenCall& call) {
  const ExportedTensor* const right = At(call.inputs, 2);
  return right == nullptr ? 0 : 2 * Elements(At(call.inputs, 1)) * right->last();
}

// Every output element is a sum over the weights of one output channel, [M, C / group, kernel].
double ConvolutionFlops(const AtenCall& call, bool is_transposed) {
  const ExportedTensor* const weights = At(call.inputs, 1);
  if (weights == nullptr || weights->sizes.empty() || weights->sizes.front() == 0) return 0;
  const double of_channel = weights->elements() / static_cast<double>(weights->sizes.front());
  return 2 * (is_transposed ? Elements(At(call.inputs, 0)) : Out(call)) * of_channel;
}

// Queries [..., L, E], keys [..., S, E], values [..., S, V].
double AttentionFlops(const AtenCall& call) {
  const ExportedTensor* const queries = At(call.inputs, 0);
  const ExportedTensor* const keys = At(call.inputs, 1);
  const ExportedTensor* const values = At(call.inputs, 2);
  if (queries == nullptr || keys == nullptr || values == nullptr || keys->sizes.size() < 2) return 0;
  if (queries->last() == 0) return 0;
  const auto positions = static_cast<double>(keys->sizes[keys->sizes.size() - 2]);
  return 2 * positions * (queries->elements() + queries->elements() / queries->last() * values->last());
}

// Every element of the sequence meets every weight: the tensors behind the sequence and the state.
double RecurrentFlops(const AtenCall& call) {
  const ExportedTensor* const sequence = At(call.inputs, 0);
  if (sequence == nullptr || sequence->last() == 0) return 0;
  double weights = 0;
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    if (call.inputs[i] != nullptr && call.inputs[i]->sizes.size() == 2) weights += call.inputs[i]->elements();
  }
  return 2 * sequence->elements() / sequence->last() * weights;
}

double EinsumFlops(const AtenCall& call) {
  std::vector<std::vector<int64_t>> operands;
  for (const ExportedTensor* operand : call.inputs) {
    if (operand == nullptr) return 0;
    operands.push_back(operand->sizes);
  }
  return 2 * EinsumProducts(call.equation, operands).value_or(0);
}

const Names& Movements() {
  static const Names names = {"alias",
                              "arange",
                              "as_strided",
                              "broadcast_to",
                              "cat",
                              "chunk",
                              "clone",
                              "concat",
                              "constant_pad_nd",
                              "contiguous",
                              "copy",
                              "detach",
                              "detach_",
                              "dropout",
                              "embedding",
                              "empty",
                              "expand",
                              "expand_as",
                              "fill",
                              "flatten",
                              "flip",
                              "full",
                              "full_like",
                              "gather",
                              "index",
                              "index_select",
                              "item",
                              "lift_fresh_copy",
                              "movedim",
                              "narrow",
                              "native_dropout",
                              "new_empty",
                              "new_full",
                              "new_ones",
                              "new_zeros",
                              "numpy_T",
                              "ones",
                              "ones_like",
                              "pad",
                              "permute",
                              "pixel_shuffle",
                              "repeat",
                              "repeat_interleave",
                              "reshape",
                              "roll",
                              "scalar_tensor",
                              "scatter",
                              "select",
                              "slice",
                              "split",
                              "split_with_sizes",
                              "squeeze",
                              "stack",
                              "t",
                              "tensor_split",
                              "tile",
                              "to",
                              "transpose",
                              "type_as",
                              "unbind",
                              "unflatten",
                              "unsqueeze",
                              "view",
                              "view_as",
                              "zeros",
                              "zeros_like",
                              "_assert_tensor_metadata",
                              "_reshape_alias",
                              "_to_copy",
                              "_unsafe_view"};
  return names;
}

const Names& Functions() {
  static const Names names = {"cos",
                              "elu",
                              "erf",
                              "exp",
                              "gelu",
                              "group_norm",
                              "log",
                              "hardswish",
                              "instance_norm",
                              "layer_norm",
                              "log_softmax",
                              "logit",
                              "mish",
                              "native_group_norm",
                              "native_layer_norm",
                              "pow",
                              "rms_norm",
                              "rsqrt",
                              "selu",
                              "sigmoid",
                              "silu",
                              "sin",
                              "softmax",
                              "softplus",
                              "sqrt",
                              "tan",
                              "tanh",
                              "_log_softmax",
                              "_softmax"};
  return names;
}

bool IsAttention(std::string_view name) { return name.find("scaled_dot_product") != std::string_view::npos; }

bool IsPooling(std::string_view name) {
  return name.find("max_pool") != std::string_view::npos || name.find("avg_pool") != std::string_view::npos;
}

double SimpleFlops(std::string_view name, const AtenCall& call) {
  if (Movements().contains(name)) return 0;
  double out = 0;
  for (const ExportedTensor* output : call.outputs) out = std::max(out, Elements(output));
  if (IsPooling(name) && call.window > 1) return out * call.window;
  if (Functions().contains(name)) return kFunctionFlops * out;
  if (name.find("batch_norm") != std::string_view::npos) return 2 * out;
  double most = out;
  for (const ExportedTensor* input : call.inputs) most = std::max(most, Elements(input));
  return most;
}

}  // namespace

std::string_view AtenName(std::string_view target) {
  constexpr std::string_view kPrefix = "torch.ops.aten.";
  if (!target.starts_with(kPrefix)) return target;
  target.remove_prefix(kPrefix.size());
  return target.substr(0, target.find('.'));
}

AtenWork WorkOf(const AtenCall& call) {
  const std::string_view name = AtenName(call.target);
  if (name == "linear" || name == "mm" || name == "bmm" || name == "matmul" || name == "mv") {
    return {ProductFlops(call, 0), true};
  }
  // The first operand is added.
  if (name == "addmm" || name == "baddbmm" || name == "addmv") return {ProductFlops(call, 1), true};
  if (name == "addbmm") return {SummedProductFlops(call), true};
  if (name.starts_with("conv_transpose")) return {ConvolutionFlops(call, true), true};
  if (name.starts_with("conv") || name == "_convolution") return {ConvolutionFlops(call, call.is_transposed), true};
  if (IsAttention(name)) return {AttentionFlops(call), true};
  if (name == "lstm" || name == "gru" || name.starts_with("rnn_")) return {RecurrentFlops(call), true};
  if (name == "einsum") return {EinsumFlops(call), true};
  return {SimpleFlops(name, call), false};
}

}  // namespace planwright::client
