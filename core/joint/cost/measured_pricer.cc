#include "core/joint/cost/measured_pricer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <utility>

namespace planwright {
namespace {

constexpr char kAnyLayer[] = "layer";
constexpr double kPicosecondsPerMillisecond = 1e9;

int64_t InPicoseconds(double ms) { return std::llround(ms * kPicosecondsPerMillisecond); }

// `priced` as it was measured. `whole`: the same without the sharding of parameters.
LayerPrice Measured(LayerPrice priced, const LayerPrice& whole, const MeasuredLayer& row) {
  const int64_t forward_ps = InPicoseconds(row.forward_ms);
  const int64_t backward_ps = InPicoseconds(row.backward_ms);
  const double factor =
      whole.forward_ps > 0 ? static_cast<double>(forward_ps) / static_cast<double>(whole.forward_ps) : 1;
  for (auto& mode : priced.modes) {
    if (mode.has_value()) mode->extra_ps = std::llround(static_cast<double>(mode->extra_ps) * factor);
  }
  auto& plain = priced.modes[static_cast<std::size_t>(LayerRecomputation::kNone)];
  if (row.activation_bytes.has_value() && plain.has_value()) plain->kept_bytes = *row.activation_bytes;
  const double share =
      whole.backward_ps > 0 ? static_cast<double>(whole.weights_ps) / static_cast<double>(whole.backward_ps) : 0;
  priced.weights_ps = static_cast<int64_t>(static_cast<double>(backward_ps) * share);
  priced.forward_ps = forward_ps + std::max<int64_t>(0, priced.forward_ps - whole.forward_ps);
  priced.backward_ps = backward_ps + std::max<int64_t>(0, priced.backward_ps - whole.backward_ps);
  priced.is_measured = true;
  return priced;
}

// The same case without the sharding of parameters.
PriceQuery WithWholeParameters(PriceQuery query) {
  if (query.sharding == Sharding::kParameters) query.sharding = Sharding::kGradients;
  return query;
}

// What the sharding of parameters adds to a pass.
PassExchanges AddedBy(const PassExchanges& sharded, const PassExchanges& whole) {
  PassExchanges added;
  for (const ExchangeGroup group : {ExchangeGroup::kData, ExchangeGroup::kExperts}) {
    const auto at = static_cast<std::size_t>(group);
    added[at] = {std::max<int64_t>(0, sharded[at].shown_ps - whole[at].shown_ps),
                 std::max<int64_t>(0, sharded[at].hidden_ps - whole[at].hidden_ps)};
  }
  return added;
}

// The parts of a layer whose passes were measured.
LayerParts MeasuredParts(LayerParts priced, const LayerParts& whole) {
  priced.forward = AddedBy(priced.forward, whole.forward);
  priced.backward = AddedBy(priced.backward, whole.backward);
  priced.again = {};
  return priced;
}

}  // namespace

MeasuredPricer::MeasuredPricer(const LayerPricer& computed, const std::vector<MeasuredLayer>& rows,
                               const Cluster& cluster)
    : computed_(computed), cluster_(cluster) {
  std::set<std::string> named;
  for (const MeasuredLayer& row : rows) {
    rows_.emplace(
        Case(row.layer, row.device_class, row.tensor_degree, row.context_degree, row.expert_degree, row.samples), &row);
    named.insert(row.layer);
  }
  std::map<std::pair<int32_t, std::vector<std::string>>, int32_t> known;
  const std::vector<std::string>& labels = computed.labels();
  for (std::size_t layer = 0; layer < labels.size(); ++layer) {
    Kind kind{.computed = computed.kinds()[layer], .names = {}};
    if (named.contains(labels[layer])) kind.names.push_back(labels[layer]);
    const bool is_inner = layer > 0 && layer + 1 < labels.size();
    if (is_inner && named.contains(kAnyLayer)) kind.names.emplace_back(kAnyLayer);
    const auto [entry, is_new] =
        known.try_emplace({kind.computed, kind.names}, static_cast<int32_t>(own_kinds_.size()));
    if (is_new) own_kinds_.push_back(std::move(kind));
    kinds_.push_back(entry->second);
  }
}

std::vector<LayerPrice> MeasuredPricer::Price(const PriceQuery& query) const {
  const std::vector<LayerPrice> computed = computed_.Price(query);
  if (computed.empty()) return {};
  const std::vector<LayerPrice> whole = computed_.Price(WithWholeParameters(query));
  std::vector<LayerPrice> prices;
  prices.reserve(own_kinds_.size());
  for (const Kind& kind : own_kinds_) {
    const auto at = static_cast<std::size_t>(kind.computed);
    const MeasuredLayer* row = Find(kind, query);
    prices.push_back(row == nullptr ? computed[at] : Measured(computed[at], whole[at], *row));
  }
  return prices;
}

std::vector<LayerParts> MeasuredPricer::Parts(const PriceQuery& query) const {
  const std::vector<LayerParts> computed = computed_.Parts(query);
  if (computed.empty()) return {};
  const std::vector<LayerParts> whole = computed_.Parts(WithWholeParameters(query));
  std::vector<LayerParts> parts;
  parts.reserve(own_kinds_.size());
  for (const Kind& kind : own_kinds_) {
    const auto at = static_cast<std::size_t>(kind.computed);
    parts.push_back(Find(kind, query) == nullptr ? computed[at] : MeasuredParts(computed[at], whole[at]));
  }
  return parts;
}

const MeasuredLayer* MeasuredPricer::Find(const Kind& kind, const PriceQuery& query) const {
  const std::string& class_name = cluster_.device_classes[query.device_class.index()].name;
  for (const std::string& name : kind.names) {
    for (const std::string& of_class : {class_name, std::string()}) {
      const auto found = rows_.find(
          Case(name, of_class, query.degrees.tensor, query.degrees.context, query.degrees.expert, query.samples));
      if (found != rows_.end()) return found->second;
    }
  }
  return nullptr;
}

}  // namespace planwright
