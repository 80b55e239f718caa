#include "core/verify/joint/operator_part.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/model/problem.h"
#include "core/verify/facts/operator_time.h"

namespace planwright::verify {
namespace {

// The number of a variant at `samples`: through the points (0, 0), all sizes, and on in proportion to the last.
template <typename Number>
double NumberAt(const std::vector<const OperatorVariant*>& sizes, const OperatorGraph& graph, int64_t samples,
                Number number) {
  const auto size_of = [&](const OperatorVariant* variant) {
    return static_cast<double>(variant->samples.value_or(graph.samples_per_micro_batch));
  };
  const auto wanted = static_cast<double>(samples);
  double before = 0;
  double value_before = 0;
  for (const OperatorVariant* variant : sizes) {
    const double size = size_of(variant);
    const auto value = static_cast<double>(number(*variant));
    if (size >= wanted) return value_before + (value - value_before) * (wanted - before) / (size - before);
    before = size;
    value_before = value;
  }
  return value_before * wanted / before;
}

// Returns the variants of the class, or those of no class where it has none of its own.
std::vector<const OperatorVariant*> VariantsFor(const Operator& op, const std::string& device_class,
                                                const Degrees& degrees) {
  std::vector<const OperatorVariant*> own;
  std::vector<const OperatorVariant*> any;
  for (const OperatorVariant& variant : op.variants) {
    if (variant.tensor_degree != degrees.tensor || variant.context_degree != degrees.context) continue;
    if (variant.expert_degree.has_value() && *variant.expert_degree != degrees.expert) continue;
    if (variant.device_class == device_class) own.push_back(&variant);
    if (variant.device_class.empty()) any.push_back(&variant);
  }
  return own.empty() ? any : own;
}

std::optional<OperatorPart> PartOfVariants(const Operator& op, const OperatorGraph& graph,
                                           const std::string& device_class, const Degrees& degrees, int64_t samples,
                                           const LayoutPair& layouts) {
  std::vector<const OperatorVariant*> sizes = VariantsFor(op, device_class, degrees);
  std::erase_if(sizes, [&](const OperatorVariant* variant) {
    return LayoutPair(variant->input_layout, variant->output_layout) != layouts;
  });
  if (sizes.empty()) return std::nullopt;
  std::sort(sizes.begin(), sizes.end(), [&](const OperatorVariant* a, const OperatorVariant* b) {
    return a->samples.value_or(graph.samples_per_micro_batch) < b->samples.value_or(graph.samples_per_micro_batch);
  });
  const auto at = [&](auto number) { return NumberAt(sizes, graph, samples, number); };
  using Variant = OperatorVariant;
  OperatorPart part;
  part.has_experts = sizes.front()->expert_degree.has_value();
  part.forward = at([](const Variant& each) { return each.forward.count(); });
  part.backward = at([](const Variant& each) { return each.backward.count(); });
  part.kept = part.kept_again = at([](const Variant& each) { return each.activation_bytes; });
  part.workspace = at([](const Variant& each) { return each.workspace_bytes; });
  part.parameters = static_cast<double>(sizes.front()->parameter_bytes);
  for (const Variant::BoundaryExchange& exchange : sizes.front()->boundary_exchanges) {
    part.beside[exchange.tensor] = at([&](const Variant& each) {
      int64_t bytes = 0;
      for (const auto& other : each.boundary_exchanges) bytes += other.tensor == exchange.tensor ? other.bytes : 0;
      return bytes;
    });
  }
  if (sizes.front()->output_bytes.has_value()) part.sent = at([](const Variant& each) { return *each.output_bytes; });
  if (sizes.front()->recomputation.has_value()) {
    part.kept_again = at([](const Variant& each) { return each.recomputation->activation_bytes; });
    part.extra = at([](const Variant& each) { return each.recomputation->extra.count(); });
    part.held_again = at([](const Variant& each) { return each.recomputation->workspace_bytes; });
    part.says_again = true;
  }
  return part;
}

bool IsRefused(const Operator& op, const DeviceClass& device) {
  const std::vector<std::string>& refused = op.unsupported_device_classes;
  return std::find(refused.begin(), refused.end(), device.name) != refused.end();
}

}  // namespace

std::vector<LayoutPair> LayoutsOf(const Operator& op, const DeviceClass& device, const Degrees& degrees) {
  if (IsRefused(op, device)) return {};
  if (op.variants.empty()) return {LayoutPair()};
  std::set<LayoutPair> layouts;
  for (const OperatorVariant* variant : VariantsFor(op, device.name, degrees)) {
    layouts.emplace(variant->input_layout, variant->output_layout);
  }
  return {layouts.begin(), layouts.end()};
}

std::optional<OperatorPart> PartOf(const Operator& op, const OperatorGraph& graph, const DeviceClass& device,
                                   const Degrees& degrees, int64_t samples, const LayoutPair& layouts) {
  if (IsRefused(op, device)) return std::nullopt;
  if (!op.variants.empty()) return PartOfVariants(op, graph, device.name, degrees, samples, layouts);
  const std::optional<JudgedTime> time = TimeOn(op, device, Workload::kTraining);
  if (!time.has_value()) return std::nullopt;
  const double scale = static_cast<double>(samples) / static_cast<double>(graph.samples_per_micro_batch);
  OperatorPart part;
  part.forward = scale * static_cast<double>(time->forward.count());
  part.backward = scale * static_cast<double>(time->backward.count());
  for (const OperatorCost& cost : op.costs) {
    if (cost.device_class == device.name) part.weights = scale * static_cast<double>(cost.backward_weight.count());
  }
  part.kept = scale * static_cast<double>(op.activation_bytes);
  part.workspace = scale * static_cast<double>(op.workspace_bytes);
  part.parameters = static_cast<double>(op.parameter_bytes);
  part.extra = part.forward;
  part.held_again = part.kept;
  return part;
}

}  // namespace planwright::verify
