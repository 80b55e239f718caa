#include "core/joint/cost/transformer_pricer.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/joint/cost/exchange.h"
#include "core/joint/cost/layer_memory.h"
#include "core/joint/cost/layer_time.h"

namespace planwright {
namespace {

bool Divides(const TransformerShape& shape, const Degrees& degrees) {
  if (shape.heads % degrees.tensor != 0 || shape.hidden % degrees.tensor != 0) return false;
  if (!shape.has_latent_attention() && shape.kv_heads % degrees.tensor != 0) return false;
  if (shape.feed_forward % degrees.tensor != 0 || shape.expert_feed_forward % degrees.tensor != 0) return false;
  // Causal work is balanced by giving each rank a part from either end.
  if (degrees.context > 1 && shape.sequence % (2 * int64_t{degrees.context}) != 0) return false;
  if (degrees.expert == 1) return true;
  return shape.has_experts() && shape.experts % degrees.expert == 0 &&
         (int64_t{degrees.context} * degrees.data) % degrees.expert == 0;
}

// Chosen to meet the runs of BLOOM, whose job blocks launches; 3 and 10 meet them nearly as well.
constexpr int kLaunchesOfABlockingOne = 6;

// `again`: what computing the layer again takes, whole.
void AddModes(const TransformerShape& shape, LayerKind kind, const ActivationBytes& kept, double again, double scores,
              LayerPrice& price) {
  const auto mode = [&](LayerRecomputation which) -> std::optional<LayerMode>& {
    return price.modes[static_cast<std::size_t>(which)];
  };
  mode(LayerRecomputation::kNone) = {0, RoundedUp(kept.layer)};
  if (!HasAttention(kind)) return;
  if (shape.stores_scores) {
    mode(LayerRecomputation::kSelective) = {RoundedUp(scores), RoundedUp(kept.layer - kept.scores)};
  }
  mode(LayerRecomputation::kFull) = {RoundedUp(again), RoundedUp(kept.input)};
  price.recomputed_bytes = RoundedUp(kept.layer);
}

bool SharesTable(const TransformerShape& shape, LayerKind kind) { return shape.tied && kind == kHeadLayer; }

// Of a layer that shares its table, what is left without it.
ParameterShares OwnSharesOf(const TransformerShape& shape, LayerKind kind, ParameterShares shares) {
  shares.ordinary.parameters = ParametersOf(shape, kind).replicated;
  return shares;
}

LayerPrice::Shared SharedOf(const LayerPrice& price, const ParameterShares& own, const PriceQuery& query,
                            const LayerTime& time, double gradient_bytes) {
  LayerPrice alone;
  AddStateBytes(own, query.sharding, gradient_bytes, alone);
  return {.parameter_bytes = price.parameter_bytes - alone.parameter_bytes,
          .gradient_bytes = price.gradient_bytes - alone.gradient_bytes,
          .optimizer_bytes = price.optimizer_bytes - alone.optimizer_bytes,
          .step_end_ps = price.step_end_ps - RoundedUp(time.StepEnd(own))};
}

LayerPrice PriceOf(const TransformerShape& shape, LayerKind kind, const PriceQuery& query, const LayerTime& time,
                   const TransformerPricerOptions& options) {
  const ParameterShares shares = SharesOf(shape, kind, query.degrees);
  const PassTimes compute = time.Compute(kind);
  const PassTimes exchanges = time.Exchanges(kind);
  const PassTimes gathers = time.Gathers(shares, compute);
  LayerPrice price;
  price.forward_ps = RoundedUp(compute.forward + exchanges.forward + gathers.forward);
  price.backward_ps = RoundedUp(compute.backward + exchanges.backward + gathers.backward);
  price.weights_ps = std::min(RoundedUp(time.Weights(kind)), price.backward_ps);
  price.weights_kept_bytes = RoundedUp(KeptForWeightsOf(shape, kind) * time.tokens() / query.degrees.tensor);
  price.step_end_ps = RoundedUp(time.StepEnd(shares));
  price.ends_bytes = RoundedUp(time.EndsBytes(kind));
  AddStateBytes(shares, query.sharding, options.gradient_bytes, price);
  if (SharesTable(shape, kind)) {
    price.shared = SharedOf(price, OwnSharesOf(shape, kind, shares), query, time, options.gradient_bytes);
  }
  AddModes(shape, kind, KeptOnRank(shape, kind, query.degrees, time.tokens(), options.sequence_parallel),
           compute.forward + exchanges.forward, compute.scores, price);
  price.workspace_bytes = RoundedUp(WorkspaceBytes(shape, kind, query.degrees, time.tokens(), options.loss_bytes));
  price.output_bytes =
      RoundedUp(time.tokens() * static_cast<double>(shape.hidden * shape.bytes_per_element) / query.degrees.tensor);
  return price;
}

// No more than `time`, so that what is shown of a pass never exceeds it.
int64_t RoundedDown(double time) {
  return time < static_cast<double>(kMostPriced) ? static_cast<int64_t>(time) : kMostPriced;
}

void Put(ExchangeGroup group, double time, double hidden_share, PassExchanges& exchanges) {
  const double hidden = hidden_share * time;
  exchanges[static_cast<std::size_t>(group)] = {RoundedDown(time - hidden), RoundedDown(hidden)};
}

PassExchanges PassOf(const RankExchanges& times, double shown) {
  PassExchanges exchanges;
  Put(ExchangeGroup::kTensor, times.tensor, 1 - shown, exchanges);
  Put(ExchangeGroup::kContext, times.context, 1 - shown, exchanges);
  Put(ExchangeGroup::kExpert, times.expert, 1 - shown, exchanges);
  return exchanges;
}

void PutShared(const SharedParts& times, double hidden_share, PassExchanges& exchanges) {
  Put(ExchangeGroup::kData, times.ordinary, hidden_share, exchanges);
  Put(ExchangeGroup::kExperts, times.experts, hidden_share, exchanges);
}

LayerParts PartsOf(const TransformerShape& shape, LayerKind kind, const PriceQuery& query, const LayerTime& time) {
  const ParameterShares shares = SharesOf(shape, kind, query.degrees);
  const PassTimes compute = time.Compute(kind);
  const LayerExchanges exchanges = time.ExchangesOf(kind);
  LayerParts parts;
  parts.forward = parts.again = PassOf(exchanges.forward, exchanges.shown);
  parts.backward = PassOf(exchanges.backward, exchanges.shown);
  const auto put_shared = [&](const SharedParts& times, double computed, PassExchanges& pass) {
    const double whole = times.sum();
    PutShared(times, whole > 0 ? time.HiddenAmongData(whole, computed) / whole : 0, pass);
  };
  const auto [gather, scatter] = time.GathersOf(shares);
  put_shared(gather, compute.forward, parts.forward);
  put_shared({gather.ordinary + scatter.ordinary, gather.experts + scatter.experts}, compute.backward, parts.backward);
  const SharedParts exchange = time.StepEndOf(shares).exchange;
  PutShared(exchange, time.hidden_at_step_end(), parts.step_end);
  if (SharesTable(shape, kind)) {
    const SharedParts own = time.StepEndOf(OwnSharesOf(shape, kind, shares)).exchange;
    PutShared({exchange.ordinary - own.ordinary, exchange.experts - own.experts}, time.hidden_at_step_end(),
              parts.shared_step_end);
  }
  return parts;
}

// Whether as many layers make sums that leave 62 bits.
bool IsTooMuch(const LayerPrice& price, int64_t layers) {
  int64_t most = std::max({price.forward_ps, price.backward_ps, price.step_end_ps, price.recomputed_bytes,
                           price.workspace_bytes, price.parameter_bytes, price.gradient_bytes, price.optimizer_bytes,
                           price.gathered_bytes, price.output_bytes, price.weights_kept_bytes, price.ends_bytes});
  for (const auto& mode : price.modes) {
    if (mode.has_value()) most = std::max({most, mode->extra_ps, mode->kept_bytes});
  }
  return most > kMostPriced / 2 / layers;
}

}  // namespace

TransformerPricer::TransformerPricer(const TransformerShape& shape, const Cluster& cluster, TrainingLink inside,
                                     TrainingLink between, const TransformerPricerOptions& options)
    : shape_(shape), cluster_(cluster), inside_(inside), between_(between), options_(options) {
  kinds_.push_back(kEmbeddingLayer);
  labels_.emplace_back("embedding");
  for (int32_t layer = 0; layer < shape.layers; ++layer) {
    kinds_.push_back(shape.has_experts() && layer >= shape.dense_layers ? kExpertLayer : kDenseLayer);
    labels_.push_back(absl::StrCat("layer.", layer));
  }
  kinds_.push_back(kHeadLayer);
  labels_.emplace_back("head");
}

TrainingEfficiency TransformerPricer::EfficiencyOf(const DeviceClass& device) const {
  TrainingEfficiency efficiency = TrainingEfficiencyOf(device);
  if (options_.blocking_launches) efficiency.launch *= kLaunchesOfABlockingOne;
  return efficiency;
}

std::vector<LayerPrice> TransformerPricer::Price(const PriceQuery& query) const {
  if (!Divides(shape_, query.degrees)) return {};
  const DeviceClass& device = cluster_.device_classes[query.device_class.index()];
  const TrainingEfficiency efficiency = EfficiencyOf(device);
  const Exchange exchange(query, inside_, between_, efficiency.network);
  const LayerTime time(shape_, device, efficiency, query, exchange, options_.sequence_parallel,
                       options_.gradient_bytes);
  std::vector<LayerPrice> prices;
  prices.reserve(kLayerKinds.size());
  for (const LayerKind kind : kLayerKinds) {
    prices.push_back(PriceOf(shape_, kind, query, time, options_));
    if (IsTooMuch(prices.back(), static_cast<int64_t>(kinds_.size()))) return {};
  }
  return prices;
}

std::vector<LayerParts> TransformerPricer::Parts(const PriceQuery& query) const {
  const DeviceClass& device = cluster_.device_classes[query.device_class.index()];
  const TrainingEfficiency efficiency = EfficiencyOf(device);
  const Exchange exchange(query, inside_, between_, efficiency.network);
  const LayerTime time(shape_, device, efficiency, query, exchange, options_.sequence_parallel,
                       options_.gradient_bytes);
  std::vector<LayerParts> parts;
  parts.reserve(kLayerKinds.size());
  for (const LayerKind kind : kLayerKinds) parts.push_back(PartsOf(shape_, kind, query, time));
  return parts;
}

double TransformerPricer::flops_per_sample() const {
  double flops = 0;
  for (const int32_t kind : kinds_) flops += ForwardFlopsPerToken(shape_, static_cast<LayerKind>(kind));
  return 3 * flops * static_cast<double>(shape_.sequence);
}

}  // namespace planwright
