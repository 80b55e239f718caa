#include "core/joint/cost/measured_pricer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/known.h"
#include "core/joint/cost/training_efficiency.h"

namespace planwright {
namespace {

constexpr char kAnyLayer[] = "layer";
constexpr double kPicosecondsPerMillisecond = 1e9;
constexpr std::array<ExchangeGroup, 2> kAmongData = {ExchangeGroup::kData, ExchangeGroup::kExperts};

// A row without the name of its layer.
using Measurement = std::tuple<std::string, int32_t, int32_t, int32_t, int64_t, double, double, std::optional<int64_t>>;

Measurement MeasurementOf(const MeasuredLayer& row) {
  return {row.device_class, row.tensor_degree, row.context_degree, row.expert_degree,
          row.samples,      row.forward_ms,    row.backward_ms,    row.activation_bytes};
}

int64_t InPicoseconds(double ms) { return std::llround(ms * kPicosecondsPerMillisecond); }

// What exchanges among data ranks, which no profile of single ranks has, show of a pass. Parts are rounded down, times
// up.
int64_t ShownAmongData(const PassExchanges& pass) {
  int64_t shown = 0;
  for (const ExchangeGroup group : kAmongData) {
    const int64_t part = pass[static_cast<std::size_t>(group)].shown_ps;
    if (part > 0) shown += part + 1;
  }
  return shown;
}

// What data ranks exchange runs beside a pass that takes so long, which hides `share` of it, and no more than itself.
void HideBeside(double pass_ms, double share, PassExchanges& pass) {
  double whole = 0;
  for (const ExchangeGroup group : kAmongData) {
    const ExchangeTime& time = pass[static_cast<std::size_t>(group)];
    whole += static_cast<double>(time.shown_ps + time.hidden_ps);
  }
  if (whole == 0) return;
  const double hidden = std::min(share, pass_ms * kPicosecondsPerMillisecond / whole);
  for (const ExchangeGroup group : kAmongData) {
    ExchangeTime& time = pass[static_cast<std::size_t>(group)];
    const int64_t all = time.shown_ps + time.hidden_ps;
    time.hidden_ps = static_cast<int64_t>(hidden * static_cast<double>(all));
    time.shown_ps = all - time.hidden_ps;
  }
}

LayerParts HiddenBeside(LayerParts parts, const MeasuredLayer& row, double share) {
  HideBeside(row.forward_ms, share, parts.forward);
  HideBeside(row.backward_ms, share, parts.backward);
  return parts;
}

// `priced` as it was measured. `plain`: what `row` takes the place of. `parts`: of `priced`.
LayerPrice Measured(LayerPrice priced, const LayerPrice& plain, const LayerParts& parts, const MeasuredLayer& row) {
  const int64_t forward_ps = InPicoseconds(row.forward_ms);
  const int64_t backward_ps = InPicoseconds(row.backward_ms);
  const double factor =
      plain.forward_ps > 0 ? static_cast<double>(forward_ps) / static_cast<double>(plain.forward_ps) : 1;
  for (std::size_t mode = 0; mode < priced.modes.size(); ++mode) {
    std::optional<LayerMode>& own = priced.modes[mode];
    if (own.has_value()) own->extra_ps = std::llround(static_cast<double>(Known(plain.modes[mode]).extra_ps) * factor);
  }
  auto& none = priced.modes[static_cast<std::size_t>(LayerRecomputation::kNone)];
  if (row.activation_bytes.has_value() && none.has_value()) none->kept_bytes = *row.activation_bytes;
  const double share =
      plain.backward_ps > 0 ? static_cast<double>(plain.weights_ps) / static_cast<double>(plain.backward_ps) : 0;
  priced.weights_ps = static_cast<int64_t>(static_cast<double>(backward_ps) * share);
  priced.forward_ps = forward_ps + ShownAmongData(parts.forward);
  priced.backward_ps = backward_ps + ShownAmongData(parts.backward);
  priced.is_measured = true;
  return priced;
}

// The parts of a layer whose passes were measured: beside what data ranks exchange all of these is computation.
LayerParts MeasuredParts(LayerParts priced) {
  for (PassExchanges* pass : {&priced.forward, &priced.backward}) {
    PassExchanges among_data;
    for (const ExchangeGroup group : kAmongData) {
      among_data[static_cast<std::size_t>(group)] = (*pass)[static_cast<std::size_t>(group)];
    }
    *pass = among_data;
  }
  priced.again = {};
  return priced;
}

}  // namespace

MeasuredPricer::MeasuredPricer(const LayerPricer& computed, const std::vector<MeasuredLayer>& rows,
                               const Cluster& cluster, std::optional<TrainingLink> fastest)
    : computed_(computed), cluster_(cluster), fastest_(fastest) {
  // By name, what its rows say; of names that say the same, the first.
  std::map<std::string, std::set<Measurement>> said;
  for (const MeasuredLayer& row : rows) {
    const Case of_row(row.device_class, row.tensor_degree, row.context_degree, row.expert_degree, row.samples);
    rows_[of_row].emplace(row.layer, &row);
    said[row.layer].insert(MeasurementOf(row));
  }
  std::map<std::set<Measurement>, std::string> first_of;
  std::map<std::pair<int32_t, std::vector<std::string>>, int32_t> known;
  const std::vector<std::string>& labels = computed.labels();
  for (std::size_t layer = 0; layer < labels.size(); ++layer) {
    Kind kind{.computed = computed.kinds()[layer], .names = {}};
    const auto own = said.find(labels[layer]);
    if (own != said.end()) kind.names.push_back(first_of.try_emplace(own->second, own->first).first->second);
    const bool is_inner = layer > 0 && layer + 1 < labels.size();
    if (is_inner && said.contains(kAnyLayer)) kind.names.emplace_back(kAnyLayer);
    const auto [entry, is_new] =
        known.try_emplace({kind.computed, kind.names}, static_cast<int32_t>(own_kinds_.size()));
    if (is_new) own_kinds_.push_back(std::move(kind));
    kinds_.push_back(entry->second);
  }
}

std::vector<LayerPrice> MeasuredPricer::Price(const PriceQuery& query) const {
  const std::vector<LayerPrice> computed = computed_.Price(query);
  const std::vector<LayerPrice> plain = computed_.Price(PlainQuery(query));
  if (computed.empty() || plain.empty()) return {};
  const std::vector<LayerParts> parts = computed_.Parts(query);
  const double hidden = HiddenAmongDataOf(query);
  std::vector<LayerPrice> prices;
  prices.reserve(own_kinds_.size());
  const std::vector<const MeasuredLayer*> rows = RowsOf(query);
  for (std::size_t kind = 0; kind < own_kinds_.size(); ++kind) {
    const auto at = static_cast<std::size_t>(own_kinds_[kind].computed);
    const MeasuredLayer* row = rows[kind];
    prices.push_back(row == nullptr ? computed[at]
                                    : Measured(computed[at], plain[at], HiddenBeside(parts[at], *row, hidden), *row));
  }
  return prices;
}

double MeasuredPricer::HiddenAmongDataOf(const PriceQuery& query) const {
  return TrainingEfficiencyOf(cluster_.device_classes[query.device_class.index()]).hidden_among_data;
}

PriceQuery MeasuredPricer::PlainQuery(PriceQuery query) const {
  query.sharding = Sharding::kOptimizer;
  if (!fastest_.has_value()) return query;
  query.crosses_nodes = false;
  query.inside = fastest_;
  return query;
}

std::vector<LayerParts> MeasuredPricer::Parts(const PriceQuery& query) const {
  const std::vector<LayerParts> computed = computed_.Parts(query);
  if (computed.empty()) return {};
  const double hidden = HiddenAmongDataOf(query);
  std::vector<LayerParts> parts;
  parts.reserve(own_kinds_.size());
  const std::vector<const MeasuredLayer*> rows = RowsOf(query);
  for (std::size_t kind = 0; kind < own_kinds_.size(); ++kind) {
    const auto at = static_cast<std::size_t>(own_kinds_[kind].computed);
    const MeasuredLayer* row = rows[kind];
    parts.push_back(row == nullptr ? computed[at] : MeasuredParts(HiddenBeside(computed[at], *row, hidden)));
  }
  return parts;
}

std::vector<const MeasuredLayer*> MeasuredPricer::RowsOf(const PriceQuery& query) const {
  // Rows of the very class count before those of any.
  std::vector<const RowsByName*> measured;
  for (const std::string& name : {cluster_.device_classes[query.device_class.index()].name, std::string()}) {
    const auto found =
        rows_.find(Case(name, query.degrees.tensor, query.degrees.context, query.degrees.expert, query.samples));
    if (found != rows_.end()) measured.push_back(&found->second);
  }
  const auto row_of = [&](const Kind& kind) -> const MeasuredLayer* {
    for (const std::string& name : kind.names) {
      for (const RowsByName* rows : measured) {
        const auto found = rows->find(name);
        if (found != rows->end()) return found->second;
      }
    }
    return nullptr;
  };
  std::vector<const MeasuredLayer*> rows;
  rows.reserve(own_kinds_.size());
  for (const Kind& kind : own_kinds_) rows.push_back(row_of(kind));
  return rows;
}

}  // namespace planwright
