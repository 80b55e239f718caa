#include "core/joint/operators/operator_pricer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/joint/cost/exchange.h"
#include "core/joint/cost/layer_memory.h"
#include "core/joint/cost/training_efficiency.h"
#include "core/joint/operators/data_ranks.h"

namespace planwright {
namespace {

// Everything that its price depends on.
using Key = std::vector<int64_t>;

Key KeyOf(const Operator& op, OperatorId id, const Cluster& cluster, const CostTable& costs) {
  Key key = {op.parameter_bytes, op.activation_bytes, op.workspace_bytes};
  for (std::size_t device_class = 0; device_class < costs.num_classes(); ++device_class) {
    const OperatorTime& time = costs.time(id, DeviceClassId(device_class));
    const Picoseconds weights = WeightsTimeOf(op, cluster.device_classes[device_class]);
    key.insert(key.end(), {time.forward.count(), time.backward.count(), weights.count(), int64_t{time.supported},
                           int64_t{time.estimated}});
  }
  // Operators with variants are told apart by their numbers in the graph.
  if (!op.variants.empty()) key.push_back(static_cast<int64_t>(id.index()));
  return key;
}

// Sums over the operators of a layer.
struct LayerSum {
  double forward = 0;
  double backward = 0;
  double weights = 0;
  HeldParameters parameters;
  double kept = 0;
  double workspace = 0;
  // Where what can be is computed again.
  double extra = 0;
  double kept_then = 0;
  double recomputed = 0;
  bool is_measured = true;
  bool drops_whole_operators = false;

  void Add(const OperatorShare& share) {
    forward += share.forward;
    backward += share.backward;
    weights += share.weights;
    (share.has_experts ? parameters.experts : parameters.ordinary) += share.parameters;
    kept += share.kept;
    workspace = std::max(workspace, share.workspace);
    is_measured = is_measured && share.is_measured;
    if (share.again.has_value()) {
      extra += share.again->extra;
      kept_then += share.again->kept;
      recomputed += share.again->workspace;
    } else if (share.has_variant) {
      kept_then += share.kept;
    } else {
      extra += share.forward;
      recomputed += share.kept;
      drops_whole_operators = drops_whole_operators || share.kept > 0;
    }
  }
};

// Of a layer that cannot run.
LayerPrice Barred(const LayerPrice& price) {
  LayerPrice barred;
  barred.output_bytes = price.output_bytes;
  barred.can_run = false;
  return barred;
}

bool IsTooMuch(const LayerPrice& price, std::size_t layers) {
  int64_t most = std::max({price.forward_ps, price.backward_ps, price.step_end_ps, price.recomputed_bytes,
                           price.workspace_bytes, price.parameter_bytes, price.gradient_bytes, price.optimizer_bytes,
                           price.gathered_bytes, price.output_bytes});
  for (const auto& mode : price.modes) {
    if (mode.has_value()) most = std::max({most, mode->extra_ps, mode->kept_bytes});
  }
  return most > kMostPriced / 2 / static_cast<int64_t>(layers);
}

bool HasGivenTimes(const OperatorGraph& graph) {
  return std::any_of(graph.operators.begin(), graph.operators.end(),
                     [](const Operator& op) { return !op.costs.empty() || !op.variants.empty(); });
}

}  // namespace

OperatorPricer::OperatorPricer(const OperatorGraph& graph, const Cluster& cluster, const OperatorLayers& layers,
                               const CostTable& costs, const ResolvedMemory& memory, TrainingLink inside,
                               TrainingLink between, int64_t tokens_per_sample)
    : graph_(graph),
      cluster_(cluster),
      layers_(layers),
      costs_(costs),
      layouts_(graph, layers),
      weight_versions_(memory.weight_versions),
      gradient_copies_(memory.gradient_copies),
      optimizer_factor_(memory.optimizer_bytes_per_parameter_byte),
      inside_(inside),
      between_(between),
      tokens_per_sample_(tokens_per_sample),
      has_gradients_(HasBackwardOperators(graph)),
      has_given_times_(HasGivenTimes(graph)) {
  FindBorders();
  FindKinds();
}

void OperatorPricer::FindBorders() {
  layer_of_.assign(graph_.operators.size(), 0);
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    for (const OperatorId op : layers_.operators[layer]) layer_of_[op.index()] = layer;
  }
  const auto is_whole = [&](OperatorId op) {
    return graph_.operators[op.index()].variants.empty() && graph_.operators[op.index()].pass == Pass::kForward;
  };
  borders_.resize(layers_.size());
  for (std::size_t number = 0; number < graph_.tensors.size(); ++number) {
    const Tensor& tensor = graph_.tensors[number];
    const std::size_t made = layer_of_[tensor.producer.index()];
    std::set<std::size_t> readers;
    std::size_t first = made;
    std::size_t last = made;
    for (const OperatorId consumer : tensor.consumers) {
      const std::size_t read = layer_of_[consumer.index()];
      first = std::min(first, read);
      last = std::max(last, read);
      if (is_whole(consumer) && (read != made || !is_whole(tensor.producer))) readers.insert(read);
    }
    for (const std::size_t layer : readers) borders_[layer].entering.push_back(number);
    for (std::size_t layer = first; layer < last; ++layer) borders_[layer].leaving.push_back(number);
  }
}

void OperatorPricer::FindKinds() {
  // What depends on variants of other layers is told apart by the tensor.
  const auto sizes = [&](const std::vector<std::size_t>& tensors) {
    Key key = {static_cast<int64_t>(tensors.size())};
    for (const std::size_t number : tensors) {
      const Tensor& tensor = graph_.tensors[number];
      const bool is_whole = graph_.operators[tensor.producer.index()].variants.empty();
      key.insert(key.end(), {tensor.size_bytes, is_whole ? -1 : static_cast<int64_t>(number)});
    }
    return key;
  };
  std::map<std::vector<Key>, int32_t> known;
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    std::vector<Key> keys;
    for (const OperatorId op : layers_.operators[layer])
      keys.push_back(KeyOf(graph_.operators[op.index()], op, cluster_, costs_));
    std::sort(keys.begin(), keys.end());
    keys.push_back(sizes(borders_[layer].entering));
    keys.push_back(sizes(borders_[layer].leaving));
    const auto [entry, is_new] = known.try_emplace(std::move(keys), static_cast<int32_t>(first_of_kind_.size()));
    if (is_new) first_of_kind_.push_back(layer);
    kinds_.push_back(entry->second);
  }
}

double OperatorPricer::BytesOf(const std::vector<std::size_t>& tensors, const PriceQuery& query,
                               const Chosen& chosen) const {
  const double factor = static_cast<double>(query.samples) / static_cast<double>(graph_.samples_per_micro_batch);
  double bytes = 0;
  for (const std::size_t number : tensors) {
    const Tensor& tensor = graph_.tensors[number];
    const std::optional<double>& sent = chosen.shares[tensor.producer.index()].output;
    bytes += sent.has_value() ? *sent : factor * static_cast<double>(tensor.size_bytes);
  }
  return bytes;
}

std::optional<LayerPrice> OperatorPricer::PriceOfLayer(std::size_t layer, const PriceQuery& query,
                                                       const Chosen& chosen) const {
  LayerSum sum;
  for (const OperatorId op : layers_.operators[layer]) sum.Add(chosen.shares[op.index()]);
  const Border& border = borders_[layer];
  if (sum.drops_whole_operators) sum.kept_then += BytesOf(border.entering, query, chosen);
  const DeviceClass& device = cluster_.device_classes[query.device_class.index()];
  const TrainingEfficiency efficiency = TrainingEfficiencyOf(device);
  const DataRanks ranks(query, efficiency, device, inside_, between_);
  const double forward = sum.forward + chosen.changes_ps[layer];
  const double backward = sum.backward + chosen.changes_ps[layer];
  LayerPrice price;
  price.forward_ps = RoundedUp(forward);
  price.backward_ps = RoundedUp(backward);
  ranks.AddGathers(sum.parameters, forward, backward, price);
  price.weights_ps = std::min(RoundedUp(sum.weights), price.backward_ps);
  price.weights_kept_bytes = RoundedUp(sum.kept);
  price.modes[static_cast<std::size_t>(LayerRecomputation::kNone)] = {0, RoundedUp(sum.kept)};
  if (sum.kept_then < sum.kept) {
    price.modes[static_cast<std::size_t>(LayerRecomputation::kFull)] = {RoundedUp(sum.extra), RoundedUp(sum.kept_then)};
    price.recomputed_bytes = RoundedUp(sum.recomputed);
  }
  price.workspace_bytes = RoundedUp(sum.workspace);
  const auto kept = [&](double copies, Sharding from) { return RoundedUp(copies * ranks.Kept(sum.parameters, from)); };
  price.parameter_bytes = kept(weight_versions_, Sharding::kParameters);
  price.gradient_bytes = kept(gradient_copies_, Sharding::kGradients);
  price.optimizer_bytes = kept(optimizer_factor_, Sharding::kOptimizer);
  if (query.sharding == Sharding::kParameters) price.gathered_bytes = RoundedUp(sum.parameters.total());
  // An update reads gradients, and reads and writes parameters and what the optimizer knows of them.
  price.step_end_ps = RoundedUp(ranks.StepEnd(sum.parameters, 3 + 2 * optimizer_factor_));
  price.output_bytes = RoundedUp(BytesOf(border.leaving, query, chosen) / (has_gradients_ ? 2 : 1));
  // Where all times are estimated, those of layers that take none are as well.
  price.is_measured = has_given_times_ && sum.is_measured;
  if (IsTooMuch(price, layers_.size())) return std::nullopt;
  return price;
}

std::vector<OperatorChoice> OperatorPricer::ChoicesFor(OperatorId op, const PriceQuery& query) const {
  const Operator& each = graph_.operators[op.index()];
  if (each.forward_operator.has_value() && !graph_.operators[each.forward_operator->index()].variants.empty()) {
    // Its forward operator's variants speak for it.
    OperatorChoice nothing;
    nothing.share.has_variant = nothing.share.is_measured = true;
    return {nothing};
  }
  return ChoicesOf(each, cluster_.device_classes[query.device_class.index()], costs_.time(op, query.device_class),
                   {query.degrees, query.samples, graph_.samples_per_micro_batch});
}

OperatorPricer::Chosen OperatorPricer::Choose(const PriceQuery& query) const {
  std::vector<bool> can_run(first_of_kind_.size(), true);
  // By operator, of the layers that stand for their kind.
  std::vector<std::vector<OperatorChoice>> choices(graph_.operators.size());
  for (std::size_t kind = 0; kind < first_of_kind_.size(); ++kind) {
    for (const OperatorId op : layers_.operators[first_of_kind_[kind]]) {
      choices[op.index()] = ChoicesFor(op, query);
      if (!choices[op.index()].empty()) continue;
      can_run[kind] = false;
      choices[op.index()].emplace_back();
    }
  }
  Chosen chosen;
  for (const int32_t kind : kinds_) chosen.can_run.push_back(can_run[static_cast<std::size_t>(kind)]);
  const DeviceClass& device = cluster_.device_classes[query.device_class.index()];
  const TrainingEfficiency efficiency = TrainingEfficiencyOf(device);
  const RankGroup group{int64_t{query.degrees.tensor} * query.degrees.context, 1};
  const auto exchanged_at = [&](const PriceQuery& place) {
    const Exchange exchange(place, inside_, between_, efficiency.network);
    return [exchange, group, shown = 1 - efficiency.hidden_in_layers](double bytes) {
      return shown * exchange.Received(bytes, group);
    };
  };
  const double factor = static_cast<double>(query.samples) / static_cast<double>(graph_.samples_per_micro_batch);
  const std::vector<std::size_t> numbers = layouts_.Choose(choices, factor, exchanged_at({}));
  chosen.changes_ps = layouts_.ChangesPs(choices, numbers, factor, exchanged_at(query));
  chosen.shares.resize(choices.size());
  for (std::size_t op = 0; op < choices.size(); ++op) {
    if (choices[op].empty()) continue;
    chosen.shares[op] = std::move(choices[op][numbers[op]].share);
    if (!chosen.can_run[layer_of_[op]]) chosen.shares[op].output.reset();
  }
  return chosen;
}

std::vector<LayerPrice> OperatorPricer::Price(const PriceQuery& query) const { return PriceLayers(query, true); }

std::vector<LayerPrice> OperatorPricer::PriceOfAny(const PriceQuery& query) const { return PriceLayers(query, false); }

std::vector<LayerPrice> OperatorPricer::PriceLayers(const PriceQuery& query, bool needs_all) const {
  if (int64_t{query.degrees.data} * query.degrees.context % query.degrees.expert != 0) return {};
  const Chosen chosen = Choose(query);
  const auto missing = static_cast<std::size_t>(std::count(chosen.can_run.begin(), chosen.can_run.end(), false));
  if (missing == layers_.size() || (needs_all && missing > 0)) return {};
  std::vector<LayerPrice> prices;
  prices.reserve(first_of_kind_.size());
  for (const std::size_t layer : first_of_kind_) {
    const std::optional<LayerPrice> price = PriceOfLayer(layer, query, chosen);
    if (!price.has_value()) return {};
    prices.push_back(chosen.can_run[layer] ? *price : Barred(*price));
  }
  return prices;
}

LayerParts OperatorPricer::PartsOfLayer(std::size_t layer, const PriceQuery& query, const Chosen& chosen) const {
  LayerSum sum;
  for (const OperatorId op : layers_.operators[layer]) sum.Add(chosen.shares[op.index()]);
  const DeviceClass& device = cluster_.device_classes[query.device_class.index()];
  const TrainingEfficiency efficiency = TrainingEfficiencyOf(device);
  const double shown = chosen.changes_ps[layer];
  LayerParts parts;
  DataRanks(query, efficiency, device, inside_, between_)
      .PutParts(sum.parameters, sum.forward + shown, sum.backward + shown, parts);
  const double hidden_share = efficiency.hidden_in_layers;
  // Where all of it is hidden, how long it takes is not known.
  const double hidden = hidden_share < 1 ? shown / (1 - hidden_share) * hidden_share : 0;
  for (PassExchanges* pass : {&parts.forward, &parts.backward}) {
    (*pass)[static_cast<std::size_t>(ExchangeGroup::kTensor)] = {static_cast<int64_t>(shown),
                                                                 static_cast<int64_t>(hidden)};
  }
  return parts;
}

std::vector<LayerParts> OperatorPricer::Parts(const PriceQuery& query) const {
  const Chosen chosen = Choose(query);
  std::vector<LayerParts> parts;
  parts.reserve(first_of_kind_.size());
  for (const std::size_t layer : first_of_kind_) parts.push_back(PartsOfLayer(layer, query, chosen));
  return parts;
}

double OperatorPricer::flops_per_sample() const {
  double flops = 0;
  for (const Operator& op : graph_.operators) flops += op.forward_flops + op.backward_flops;
  return flops / static_cast<double>(graph_.samples_per_micro_batch);
}

}  // namespace planwright
