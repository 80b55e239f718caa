#include "core/graph/graph_copy.h"

#include <cstddef>

#include "core/base/ids.h"
#include "core/base/interruption.h"

namespace planwright {
namespace {

// Nanoseconds, and some for what they own.
constexpr std::size_t kUnitsPerOperator = 256;
constexpr std::size_t kUnitsPerTensor = 64;

}  // namespace

OperatorGraph CopyOf(const OperatorGraph& graph) { return CopyOf(graph, AllIds<OperatorId>(graph.operators.size())); }

OperatorGraph CopyOf(const OperatorGraph& graph, std::span<const OperatorId> order) {
  // Names all members, so that no new one is forgotten.
  const auto& [display_name, operators, tensors, samples_per_micro_batch, transformer, layout_changes] = graph;
  OperatorGraph copy{display_name, {}, {}, samples_per_micro_batch, transformer, layout_changes};
  copy.operators.reserve(operators.size());
  for (const OperatorId op : order) {
    InterruptionPoint(kUnitsPerOperator);
    copy.operators.push_back(operators[op.index()]);
  }
  copy.tensors.reserve(tensors.size());
  for (const Tensor& tensor : tensors) {
    InterruptionPoint(kUnitsPerTensor + tensor.consumers.size());
    copy.tensors.push_back(tensor);
  }
  return copy;
}

}  // namespace planwright
