#include "core/model/support.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace planwright {
namespace {

// The class has the speeds that this much arithmetic and memory traffic need.
bool HasSpeedsFor(const DeviceClass& device_class, double flops, int64_t bytes) {
  const bool computes = flops == 0 || device_class.peak_flops * device_class.compute_efficiency > 0;
  const bool moves = bytes == 0 || device_class.memory_bandwidth_bytes_per_second > 0;
  return computes && moves;
}

bool CanBeEstimated(const Operator& op, const DeviceClass& device_class, bool training) {
  if (op.forward_flops == 0 && op.forward_bytes_accessed == 0) return false;
  if (training && !HasSpeedsFor(device_class, op.backward_flops, op.backward_bytes_accessed)) return false;
  return HasSpeedsFor(device_class, op.forward_flops, op.forward_bytes_accessed);
}

// Returns the degrees, ascending, that all operators share whose variants name any.
template <typename DegreeOf>
std::vector<int32_t> VariantDegrees(const OperatorGraph& graph, DegreesOf which, DegreeOf degree_of) {
  std::optional<std::set<int32_t>> degrees;
  for (const Operator& op : graph.operators) {
    std::set<int32_t> own;
    for (const OperatorVariant& variant : op.variants) {
      const std::optional<int32_t> degree = degree_of(variant);
      if (degree.has_value()) own.insert(*degree);
    }
    if (own.empty()) continue;
    if (!degrees.has_value()) {
      degrees = std::move(own);
    } else if (which == DegreesOf::kAny) {
      degrees->merge(own);
    } else {
      std::erase_if(*degrees, [&](int32_t degree) { return !own.contains(degree); });
    }
  }
  if (!degrees.has_value()) return {1};
  return {degrees->begin(), degrees->end()};
}

}  // namespace

const OperatorCost* MeasuredCost(const Operator& op, const DeviceClass& device_class) {
  const auto found = std::find_if(op.costs.begin(), op.costs.end(),
                                  [&](const OperatorCost& cost) { return cost.device_class == device_class.name; });
  return found == op.costs.end() ? nullptr : &*found;
}

bool CanRun(const Operator& op, const DeviceClass& device_class, Workload workload) {
  const bool training = workload == Workload::kTraining;
  if (op.pass == Pass::kBackward && !training) return true;
  const auto& unsupported = op.unsupported_device_classes;
  if (std::find(unsupported.begin(), unsupported.end(), device_class.name) != unsupported.end()) return false;
  return op.type == kInputOperatorType || MeasuredCost(op, device_class) != nullptr ||
         CanBeEstimated(op, device_class, training);
}

std::vector<int32_t> TensorDegreesOf(const OperatorGraph& graph, DegreesOf which) {
  return VariantDegrees(graph, which,
                        [](const OperatorVariant& variant) { return std::optional(variant.tensor_degree); });
}

std::vector<int32_t> ContextDegreesOf(const OperatorGraph& graph, DegreesOf which) {
  return VariantDegrees(graph, which,
                        [](const OperatorVariant& variant) { return std::optional(variant.context_degree); });
}

std::vector<int32_t> ExpertDegreesOf(const OperatorGraph& graph, DegreesOf which) {
  return VariantDegrees(graph, which, [](const OperatorVariant& variant) { return variant.expert_degree; });
}

}  // namespace planwright
