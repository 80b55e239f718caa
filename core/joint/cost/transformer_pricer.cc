#include "core/joint/cost/transformer_pricer.h"

#include <algorithm>
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
  const auto mode = [&](LayerRecomputation which) -> std::optional<LayerPrice::Mode>& {
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
  price.step_end_ps = RoundedUp(time.StepEnd(kind, shares));
  AddStateBytes(shares, query.sharding, options.gradient_bytes, price);
  AddModes(shape, kind, KeptOnRank(shape, kind, query.degrees, time.tokens(), options.sequence_parallel),
           compute.forward + exchanges.forward, compute.scores, price);
  price.workspace_bytes = RoundedUp(WorkspaceBytes(shape, kind, query.degrees, time.tokens(), options.loss_bytes));
  price.output_bytes =
      RoundedUp(time.tokens() * static_cast<double>(shape.hidden * shape.bytes_per_element) / query.degrees.tensor);
  return price;
}

// Whether as many layers make sums that leave 62 bits.
bool IsTooMuch(const LayerPrice& price, int64_t layers) {
  int64_t most = std::max({price.forward_ps, price.backward_ps, price.step_end_ps, price.recomputed_bytes,
                           price.workspace_bytes, price.parameter_bytes, price.gradient_bytes, price.optimizer_bytes,
                           price.gathered_bytes, price.output_bytes, price.weights_kept_bytes});
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

std::vector<LayerPrice> TransformerPricer::Price(const PriceQuery& query) const {
  if (!Divides(shape_, query.degrees)) return {};
  const DeviceClass& device = cluster_.device_classes[query.device_class.index()];
  TrainingEfficiency efficiency = TrainingEfficiencyOf(device);
  if (options_.blocking_launches) efficiency.launch *= kLaunchesOfABlockingOne;
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

double TransformerPricer::flops_per_sample() const {
  double flops = 0;
  for (const int32_t kind : kinds_) flops += ForwardFlopsPerToken(shape_, static_cast<LayerKind>(kind));
  return 3 * flops * static_cast<double>(shape_.sequence);
}

}  // namespace planwright
