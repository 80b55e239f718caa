#include "core/joint/cost/layer_time.h"

#include <algorithm>

#include "core/base/units.h"

namespace planwright {
namespace {

// The backward pass of attention that makes its scores again (Dao 2023, FlashAttention-2, section 3.1).
constexpr double kAttentionBackward = 2.5;

}  // namespace

LayerTime::LayerTime(const TransformerShape& shape, const DeviceClass& device, const TrainingEfficiency& efficiency,
                     const PriceQuery& query, const Exchange& exchange, bool sequence_parallel, double gradient_bytes)
    : shape_(shape),
      device_(device),
      efficiency_(efficiency),
      query_(query),
      degrees_(query.degrees),
      exchange_(exchange),
      sequence_parallel_(sequence_parallel),
      gradient_bytes_(gradient_bytes),
      tokens_(static_cast<double>(query.samples) * static_cast<double>(shape.sequence) / query.degrees.context) {}

PassTimes LayerTime::Compute(LayerKind kind) const {
  const double products = Products(kind);
  const double traffic = Traffic(kind) + KernelsOf(shape_, kind) * static_cast<double>(efficiency_.launch.count());
  PassTimes times{.forward = products + traffic, .backward = 2 * (products + traffic), .scores = 0};
  if (!HasAttention(kind)) return times;
  const double attention = Attention();
  const auto softmax = [&](bool backward) {
    return TrafficPs(ScoreTrafficPerToken(shape_, backward) * tokens_ / degrees_.tensor);
  };
  times.scores = attention + softmax(false);
  times.forward += times.scores;
  times.backward += (shape_.stores_scores ? 2 : kAttentionBackward) * attention + softmax(true);
  return times;
}

LayerExchanges LayerTime::ExchangesOf(LayerKind kind) const {
  const double element = shape_.bytes_per_element;
  const RankGroup tensor{degrees_.tensor, 1};
  const double values = tokens_ * element * static_cast<double>(shape_.hidden);
  const double pass = exchange_.Ring(values, tensor);
  // A gather and a scatter each around the embedding, the head, attention and the feed-forward part.
  if (!HasAttention(kind)) return {.forward = {.tensor = 2 * pass}, .backward = {.tensor = 2 * pass}};
  const double latent = exchange_.Ring(tokens_ * element * GatheredWidth(shape_), tensor);
  RankExchanges times{.tensor = 3 * pass + latent};
  const double keys_and_values = tokens_ * degrees_.context * element * KeyValueWidth(shape_, degrees_.tensor);
  times.context = exchange_.Ring(keys_and_values, {degrees_.context, degrees_.tensor});
  if (kind == kExpertLayer) {
    const double rows = values * shape_.experts_per_token * shape_.expert_load / degrees_.tensor;
    times.expert = 2 * exchange_.AllToAll(rows, {degrees_.expert, degrees_.tensor});
  }
  LayerExchanges exchanges{.forward = times, .backward = times, .shown = 1 - efficiency_.hidden_in_layers};
  exchanges.backward.context = 2 * times.context;
  return exchanges;
}

PassTimes LayerTime::Exchanges(LayerKind kind) const {
  const LayerExchanges exchanges = ExchangesOf(kind);
  return {.forward = exchanges.shown * exchanges.forward.sum(), .backward = exchanges.shown * exchanges.backward.sum()};
}

LayerGathers LayerTime::GathersOf(const ParameterShares& shares) const {
  if (query_.sharding < Sharding::kGradients) return {};
  const auto rings = [&](double bytes) {
    const auto ring = [&](const ParameterShare& share) {
      return exchange_.Ring(bytes * share.parameters, {share.copies, share.stride});
    };
    return SharedParts{ring(shares.ordinary), ring(shares.experts)};
  };
  LayerGathers gathers{.gather = {}, .scatter = rings(gradient_bytes_)};
  if (query_.sharding == Sharding::kParameters) gathers.gather = rings(kWeightBytes);
  return gathers;
}

double LayerTime::HiddenAmongData(double time, double computed) const {
  return std::min(efficiency_.hidden_among_data * time, computed);
}

PassTimes LayerTime::Gathers(const ParameterShares& shares, const PassTimes& compute) const {
  const LayerGathers gathers = GathersOf(shares);
  const auto exposed = [&](double time, double computed) { return time - HiddenAmongData(time, computed); };
  return {.forward = exposed(gathers.gather.sum(), compute.forward),
          .backward = exposed(gathers.gather.sum() + gathers.scatter.sum(), compute.backward)};
}

LayerStepEnd LayerTime::StepEndOf(const ParameterShares& shares) const {
  // What an update reads and writes of a parameter.
  const double update_bytes = gradient_bytes_ + 2 * kOptimizerBytes + kWeightBytes;
  LayerStepEnd end;
  const auto exchange = [&](const ParameterShare& share) {
    const RankGroup group{share.copies, share.stride};
    const double gradients = exchange_.Ring(gradient_bytes_ * share.parameters, group);
    const double weights = exchange_.Ring(kWeightBytes * share.parameters, group);
    end.update += TrafficPs(share.Kept(update_bytes * share.parameters, query_.sharding, Sharding::kOptimizer));
    if (query_.sharding == Sharding::kNone) return 2 * gradients;
    if (query_.sharding == Sharding::kOptimizer) return gradients + weights;
    return query_.sharding == Sharding::kGradients ? weights : 0;
  };
  end.exchange.ordinary = exchange(shares.ordinary);
  end.exchange.experts = exchange(shares.experts);
  return end;
}

double LayerTime::StepEnd(const ParameterShares& shares) const {
  const LayerStepEnd end = StepEndOf(shares);
  return (1 - efficiency_.hidden_at_step_end) * end.exchange.sum() + end.update;
}

double LayerTime::EndsBytes(LayerKind kind) const {
  if (!shape_.tied || (kind != kEmbeddingLayer && kind != kHeadLayer)) return 0;
  return gradient_bytes_ * ParametersOf(shape_, kHeadLayer).divided / degrees_.tensor / efficiency_.network;
}

double LayerTime::ProductPs(const MatrixProduct& product, bool may_use_eight_bits) const {
  const double gain = may_use_eight_bits && shape_.eight_bit_products ? efficiency_.eight_bit_gain : 1;
  const double edges = 1 / product.rows + 1 / product.inner + 1 / product.columns;
  const double flops = product.flops() * (1 + efficiency_.half_extent * edges);
  return flops / (device_.peak_flops * efficiency_.products * gain) * kPicosecondsPerSecond;
}

double LayerTime::Products(LayerKind kind) const {
  double time = 0;
  for (const MatrixProduct& product : ProductsOf(shape_, kind, degrees_, tokens_)) {
    time += ProductPs(product, HasAttention(kind) && !product.keeps_sixteen_bits);
  }
  return time;
}

double LayerTime::TrafficPs(double bytes) const {
  return bytes / (device_.memory_bandwidth_bytes_per_second * efficiency_.memory) * kPicosecondsPerSecond;
}

double LayerTime::Traffic(LayerKind kind) const {
  const TokenBytes bytes = TrafficOf(shape_, kind);
  const double along_sequence = sequence_parallel_ ? degrees_.tensor : 1;
  return TrafficPs(tokens_ * (bytes.divided / degrees_.tensor + bytes.sequence / along_sequence));
}

double LayerTime::Attention() const {
  const double flops = AttentionFlopsPerToken(shape_) * tokens_ / degrees_.tensor;
  if (!shape_.stores_scores) {
    return flops / (device_.peak_flops * efficiency_.attention) * kPicosecondsPerSecond;
  }
  // The whole square, head by head.
  const auto sequence = static_cast<double>(shape_.sequence);
  const double heads = tokens_ / sequence * shape_.heads / degrees_.tensor;
  const auto scores = static_cast<double>(shape_.head_width + shape_.rope_width);
  const auto values = static_cast<double>(shape_.has_latent_attention() ? shape_.value_width : shape_.head_width);
  return ProductPs({sequence, scores, sequence, heads}, false) + ProductPs({sequence, sequence, values, heads}, false);
}

}  // namespace planwright
