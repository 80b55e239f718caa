#include "core/joint/operators/operator_share.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace planwright {
namespace {

// Variants of the same degrees, layouts and class, by samples.
using Sizes = std::map<int64_t, const OperatorVariant*>;

bool IsOf(const OperatorVariant& variant, const Degrees& degrees) {
  return variant.tensor_degree == degrees.tensor && variant.context_degree == degrees.context &&
         variant.expert_degree.value_or(degrees.expert) == degrees.expert;
}

std::map<OperatorLayouts, Sizes> SizesOf(const Operator& op, const std::string& device_class, const ShareQuery& query) {
  std::map<OperatorLayouts, Sizes> sizes;
  for (const OperatorVariant& variant : op.variants) {
    if (!IsOf(variant, query.degrees) || variant.device_class != device_class) continue;
    sizes[{variant.input_layout, variant.output_layout}].emplace(variant.samples.value_or(query.samples_of_graph),
                                                                 &variant);
  }
  return sizes;
}

// Two variants and their weights, which make the numbers at the samples that are asked for.
struct Mixture {
  const OperatorVariant& low;
  const OperatorVariant& high;
  double of_low = 0;
  double of_high = 0;

  template <typename Number>
  double Of(Number number) const {
    return of_low * static_cast<double>(number(low)) + of_high * static_cast<double>(number(high));
  }
};

// Mixes on the line through the two sizes around `samples`, beyond all in proportion to the nearest.
Mixture MixtureAt(const Sizes& sizes, int64_t samples) {
  const auto above = sizes.lower_bound(samples);
  if (above == sizes.begin() || above == sizes.end()) {
    const auto& [size, variant] = above == sizes.end() ? *sizes.rbegin() : *above;
    return {*variant, *variant, static_cast<double>(samples) / static_cast<double>(size), 0};
  }
  const auto below = std::prev(above);
  const double share = static_cast<double>(samples - below->first) / static_cast<double>(above->first - below->first);
  return {*below->second, *above->second, 1 - share, share};
}

OperatorShare ShareOfVariants(const Sizes& sizes, int64_t samples) {
  const Mixture mixture = MixtureAt(sizes, samples);
  using Variant = OperatorVariant;
  OperatorShare share;
  share.has_experts = mixture.low.expert_degree.has_value();
  share.has_variant = true;
  share.is_measured = true;
  share.forward = mixture.Of([](const Variant& variant) { return variant.forward.count(); });
  share.backward = mixture.Of([](const Variant& variant) { return variant.backward.count(); });
  share.parameters = static_cast<double>(mixture.low.parameter_bytes);
  share.kept = mixture.Of([](const Variant& variant) { return variant.activation_bytes; });
  share.workspace = mixture.Of([](const Variant& variant) { return variant.workspace_bytes; });
  if (mixture.low.output_bytes.has_value()) {
    share.output = mixture.Of([](const Variant& variant) { return *variant.output_bytes; });
  }
  for (const OperatorVariant::BoundaryExchange& exchange : mixture.low.boundary_exchanges) {
    share.exchanged[exchange.tensor] = mixture.Of([&](const Variant& variant) {
      const auto same = std::find_if(variant.boundary_exchanges.begin(), variant.boundary_exchanges.end(),
                                     [&](const auto& other) { return other.tensor == exchange.tensor; });
      return same->bytes;
    });
  }
  if (mixture.low.recomputation.has_value()) {
    share.again = {
        .extra = mixture.Of([](const Variant& variant) { return variant.recomputation->extra.count(); }),
        .kept = mixture.Of([](const Variant& variant) { return variant.recomputation->activation_bytes; }),
        .workspace = mixture.Of([](const Variant& variant) { return variant.recomputation->workspace_bytes; })};
  }
  return share;
}

}  // namespace

Picoseconds WeightsTimeOf(const Operator& op, const DeviceClass& device_class) {
  const auto cost = std::find_if(op.costs.begin(), op.costs.end(),
                                 [&](const OperatorCost& each) { return each.device_class == device_class.name; });
  return cost == op.costs.end() ? Picoseconds(0) : cost->backward_weight;
}

namespace {

// The share of a rank where the operator has no variants and runs whole: times and kept bytes go with the samples.
OperatorShare ShareOfWhole(const Operator& op, const DeviceClass& device_class, const OperatorTime& whole,
                           const ShareQuery& query) {
  const double factor = static_cast<double>(query.samples) / static_cast<double>(query.samples_of_graph);
  OperatorShare share;
  share.forward = factor * static_cast<double>(whole.forward.count());
  share.backward = factor * static_cast<double>(whole.backward.count());
  share.weights = factor * static_cast<double>(WeightsTimeOf(op, device_class).count());
  share.parameters = static_cast<double>(op.parameter_bytes);
  share.kept = factor * static_cast<double>(op.activation_bytes);
  share.workspace = factor * static_cast<double>(op.workspace_bytes);
  share.is_measured = !whole.estimated;
  return share;
}

}  // namespace

std::vector<OperatorChoice> ChoicesOf(const Operator& op, const DeviceClass& device_class, const OperatorTime& whole,
                                      const ShareQuery& query) {
  const auto& refused = op.unsupported_device_classes;
  if (std::find(refused.begin(), refused.end(), device_class.name) != refused.end()) return {};
  std::vector<OperatorChoice> choices;
  if (op.variants.empty()) {
    if (whole.supported) choices.push_back({OperatorLayouts(), ShareOfWhole(op, device_class, whole, query)});
    return choices;
  }
  std::map<OperatorLayouts, Sizes> sizes = SizesOf(op, device_class.name, query);
  if (sizes.empty()) sizes = SizesOf(op, "", query);
  for (const auto& [layouts, own] : sizes) choices.push_back({layouts, ShareOfVariants(own, query.samples)});
  return choices;
}

}  // namespace planwright
