#include "core/verify/joint/measured_costs.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/base/known.h"

namespace planwright::verify {
namespace {

constexpr double kPerMillisecond = 1e9;

// Times are whole numbers before they are divided by each other: `unit` is what one of them makes.
bool IsBetween(int64_t stated, double low, double high, double unit) {
  const auto value = static_cast<double>(stated);
  const double slack = 3 + 3 * unit + 1e-9 * high;
  return value >= low - slack && value <= high + slack;
}

double ShareOf(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

MeasuredRows::MeasuredRows(const OperatorGraph& graph) {
  if (!graph.transformer.has_value()) return;
  for (const MeasuredLayer& row : graph.transformer->measured_layers) {
    rows_[{row.layer, row.device_class, row.tensor_degree, row.context_degree, row.expert_degree, row.samples}] = &row;
  }
}

const MeasuredLayer* MeasuredRows::Of(const std::string& label, const std::string& device_class,
                                      const RankSpread& spread) const {
  const auto& [tensor, context, expert, data] = spread.degrees;
  std::vector<std::string> names = {label};
  if (label.starts_with("layer.")) names.emplace_back("layer");
  for (const std::string& name : names) {
    for (const std::string& of : {device_class, std::string()}) {
      const auto found = rows_.find({name, of, tensor, context, expert, spread.samples});
      if (found != rows_.end()) return found->second;
    }
  }
  return nullptr;
}

ProfiledSpreads SpreadsOfProfile(RankSpread spread, bool are_known) {
  spread.sharding = Sharding::kNone;
  ProfiledSpreads spreads{.slowest = spread, .fastest = spread};
  if (!are_known) {
    spreads.fastest.inside = spreads.fastest.between = {std::numeric_limits<double>::infinity(), 0};
  }
  return spreads;
}

std::string DifferenceOfMeasured(const LayerPrice& price, const MeasuredLayer& row, const RankCosts& costs,
                                 const RankCosts& slowest, const RankCosts& fastest) {
  if (!price.is_measured) return "must have the times that were measured";
  std::string difference = DifferenceOf(price, costs);
  const auto compare = [&](const char* what, int64_t stated, double low, double high, double unit) {
    if (!difference.empty() || IsBetween(stated, low, high, unit)) return;
    difference = absl::StrCat(what, " must be ", low, " to ", high, " before rounding, is ", stated);
  };
  const double forward = row.forward_ms * kPerMillisecond;
  const double backward = row.backward_ms * kPerMillisecond;
  const auto shown = [&](double exchanges, double pass) {
    return exchanges - std::min(costs.hidden_share * exchanges, pass);
  };
  const double whole = forward + shown(costs.forward_exchanges, forward);
  const double whole_back = backward + shown(costs.backward_exchanges, backward);
  compare("forward", price.forward_ps, whole, whole, 0);
  compare("backward", price.backward_ps, whole_back, whole_back, 0);
  compare("gradients of weights", price.weights_ps, backward * ShareOf(slowest.weights, slowest.backward),
          backward * ShareOf(fastest.weights, fastest.backward), ShareOf(backward, fastest.backward));
  for (std::size_t mode = 0; mode < price.modes.size(); ++mode) {
    const std::optional<LayerMode>& stated = price.modes[mode];
    if (!stated.has_value()) continue;
    compare("recomputation", stated->extra_ps, forward * ShareOf(Known(slowest.modes[mode]).extra, slowest.forward),
            forward * ShareOf(Known(fastest.modes[mode]).extra, fastest.forward), ShareOf(forward, fastest.forward));
  }
  constexpr auto kNone = static_cast<std::size_t>(LayerRecomputation::kNone);
  const double kept =
      row.activation_bytes.has_value() ? static_cast<double>(*row.activation_bytes) : Known(costs.modes[kNone]).kept;
  compare("kept bytes", Known(price.modes[kNone]).kept_bytes, kept, kept, 0);
  return difference;
}

}  // namespace planwright::verify
