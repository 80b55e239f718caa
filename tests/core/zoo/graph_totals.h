// Sums over the operators of a graph, for tests that compare models with published figures.
#ifndef PLANWRIGHT_TESTS_CORE_ZOO_GRAPH_TOTALS_H_
#define PLANWRIGHT_TESTS_CORE_ZOO_GRAPH_TOTALS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/model/graph.h"

namespace planwright {

inline int64_t TotalParameters(const OperatorGraph& graph, int64_t bytes_per_element) {
  int64_t parameter_bytes = 0;
  for (const Operator& op : graph.operators) parameter_bytes += op.parameter_bytes;
  return parameter_bytes / bytes_per_element;
}

// Multiply-adds of the operators that are contractions.
inline double ContractionMultiplyAdds(const OperatorGraph& graph) {
  static constexpr std::array<std::string_view, 5> kContractions = {"Linear", "MatMul", "Conv2d", "Attention", "Lstm"};
  double flops = 0;
  for (const Operator& op : graph.operators) {
    if (std::ranges::find(kContractions, op.type) != kContractions.end()) flops += op.forward_flops;
  }
  return flops / 2;
}

// What the backward pass reads again of the operators of one layer.
inline int64_t KeptBytes(const OperatorGraph& graph, std::string_view layer) {
  int64_t kept_bytes = 0;
  for (const Operator& op : graph.operators) {
    if (op.layer == layer) kept_bytes += op.activation_bytes;
  }
  return kept_bytes;
}

inline const Operator* FindOperator(const OperatorGraph& graph, std::string_view name) {
  const auto found = std::ranges::find(graph.operators, name, &Operator::name);
  return found == graph.operators.end() ? nullptr : &*found;
}

// 0: there is no such tensor.
inline int64_t SizeOf(const OperatorGraph& graph, std::string_view tensor) {
  const auto found = std::ranges::find(graph.tensors, tensor, &Tensor::name);
  return found == graph.tensors.end() ? 0 : found->size_bytes;
}

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_CORE_ZOO_GRAPH_TOTALS_H_
