#include "core/joint/cost/transformer_pricer.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace planwright {
namespace {

enum Kind : int32_t { kEmbedding, kDense, kExperts, kHead };

constexpr double kPicosecondsPerSecond = 1e12;
// Of a parameter: 16-bit weight, 32-bit gradient, 32-bit weight and two moments of Adam.
constexpr double kWeightBytes = 2;
constexpr double kGradientBytes = 4;
constexpr double kOptimizerBytes = 12;
// What an update reads and writes of a parameter.
constexpr double kUpdateBytes = kGradientBytes + 2 * kOptimizerBytes + kWeightBytes;
// Kernels of a layer that are no matrix products.
constexpr double kLaunchesPerLayer = 16;

int64_t RoundUp(double value) { return static_cast<int64_t>(std::ceil(value)); }

// Parameters of one layer by how they are divided: among tensor ranks, and of experts among expert ranks too.
struct LayerParameters {
  double divided = 0;
  double replicated = 0;
  double experts = 0;
};

double AttentionParameters(const TransformerShape& shape) {
  const auto hidden = static_cast<double>(shape.hidden);
  const double heads = shape.heads;
  if (!shape.has_latent_attention()) {
    const double width = heads * static_cast<double>(shape.head_width);
    const double shared = static_cast<double>(shape.kv_heads) * static_cast<double>(shape.head_width);
    return hidden * (2 * width + 2 * shared);
  }
  const auto head = static_cast<double>(shape.head_width);
  const auto rope = static_cast<double>(shape.rope_width);
  const auto value = static_cast<double>(shape.value_width);
  const auto query_rank = static_cast<double>(shape.query_rank);
  const auto kv_rank = static_cast<double>(shape.kv_rank);
  const double queries = query_rank > 0 ? query_rank * (hidden + heads * (head + rope)) : hidden * heads * (head + rope);
  return queries + hidden * (kv_rank + rope) + kv_rank * heads * (head + value) + heads * value * hidden;
}

double FeedForwardParameters(const TransformerShape& shape, int64_t width) {
  return static_cast<double>(shape.hidden) * static_cast<double>(width) * (shape.gated ? 3 : 2);
}

LayerParameters ParametersOf(const TransformerShape& shape, Kind kind) {
  const auto hidden = static_cast<double>(shape.hidden);
  const double vocabulary = static_cast<double>(shape.vocabulary) * hidden;
  switch (kind) {
    case kEmbedding:
      return {vocabulary, shape.learned_positions ? static_cast<double>(shape.sequence) * hidden : 0, 0};
    case kDense:
      return {AttentionParameters(shape) + FeedForwardParameters(shape, shape.feed_forward), 4 * hidden, 0};
    case kExperts:
      return {AttentionParameters(shape) +
                  FeedForwardParameters(shape, shape.shared_experts * shape.expert_feed_forward),
              (4 + shape.experts) * hidden, shape.experts * FeedForwardParameters(shape, shape.expert_feed_forward)};
    case kHead:
      return {vocabulary, 2 * hidden, 0};
  }
  return {};
}

// Two FLOPs of a product are one multiply-add; half of the square of scores is causal.
double AttentionFlopsPerToken(const TransformerShape& shape) {
  const double scores = shape.has_latent_attention() ? static_cast<double>(shape.head_width + shape.rope_width)
                                                     : static_cast<double>(shape.head_width);
  const double values = static_cast<double>(shape.has_latent_attention() ? shape.value_width : shape.head_width);
  return static_cast<double>(shape.heads) * (scores + values) * static_cast<double>(shape.sequence);
}

// Of the forward pass, whole.
double ProductFlopsPerToken(const TransformerShape& shape, Kind kind) {
  const LayerParameters parameters = ParametersOf(shape, kind);
  if (kind == kEmbedding) return 0;
  const double visited =
      kind == kExperts && shape.has_experts() ? parameters.experts * shape.experts_per_token / shape.experts : 0;
  return 2 * (parameters.divided + visited);
}

// Bytes that the elementwise operators of a layer move per token in the forward pass, before tensor parallelism
// divides them.
double ElementwiseBytesPerToken(const TransformerShape& shape, Kind kind) {
  const double element = shape.bytes_per_element;
  const auto hidden = static_cast<double>(shape.hidden);
  if (kind == kEmbedding) return 2 * element * hidden;
  // Logits in 32 bits: written, read for their maximum, their sum and the loss.
  if (kind == kHead) return 4 * 4 * static_cast<double>(shape.vocabulary) + 3 * element * hidden;
  const double width = kind == kExperts
                           ? static_cast<double>(shape.expert_feed_forward) *
                                 (shape.experts_per_token + shape.shared_experts)
                           : static_cast<double>(shape.feed_forward);
  const double scores =
      shape.stores_scores ? 10.0 * shape.heads * static_cast<double>(shape.sequence) : 0;
  return element * (hidden * (shape.dropout ? 16 : 12) + width * (shape.gated ? 3 : 2)) + scores;
}

// Kept for the backward pass per token, before tensor and sequence parallelism divide them (Korthikanti et al. 2022,
// equation 2, by width instead of 34 h).
double KeptBytesPerToken(const TransformerShape& shape, Kind kind) {
  const double element = shape.bytes_per_element;
  const auto hidden = static_cast<double>(shape.hidden);
  if (kind == kEmbedding) return shape.dropout ? hidden : 0;
  if (kind == kHead) return 2 * element * hidden + 4 * static_cast<double>(shape.vocabulary);
  const double queries = static_cast<double>(shape.heads) * static_cast<double>(shape.head_width + shape.rope_width);
  const double shared = shape.has_latent_attention()
                            ? static_cast<double>(shape.heads) *
                                  static_cast<double>(shape.head_width + shape.rope_width + shape.value_width)
                            : 2 * static_cast<double>(shape.kv_heads) * static_cast<double>(shape.head_width);
  const double attention = element * (2 * hidden + 2 * queries + shared) + (shape.dropout ? hidden : 0);
  const double copies = kind == kExperts ? shape.experts_per_token + shape.shared_experts : 1;
  const double width =
      copies * static_cast<double>(kind == kExperts ? shape.expert_feed_forward : shape.feed_forward);
  const double inputs = kind == kExperts ? (1 + copies) * hidden : 2 * hidden;
  return attention + element * (inputs + width * (shape.gated ? 3 : 2)) + (shape.dropout ? hidden : 0);
}

// Prices of one way to spread a stage.
class Spread {
 public:
  Spread(const TransformerShape& shape, const DeviceClass& device, const PriceQuery& query, TrainingLink inside,
         TrainingLink between)
      : shape_(shape), device_(device), query_(query), degrees_(query.degrees), inside_(inside), between_(between) {
    tokens_ = static_cast<double>(query.samples) * static_cast<double>(shape.sequence) / degrees_.context;
  }

  LayerPrice Price(Kind kind) const {
    LayerPrice price;
    const double product = ProductFlopsPerToken(shape_, kind) * tokens_ / degrees_.tensor;
    const double attention = HasAttention(kind) ? AttentionFlopsPerToken(shape_) * tokens_ / degrees_.tensor : 0;
    const double traffic = ElementwiseBytesPerToken(shape_, kind) * tokens_ / degrees_.tensor;
    const double rest = traffic / device_.memory_bandwidth_bytes_per_second * kPicosecondsPerSecond +
                        kLaunchesPerLayer * static_cast<double>(device_.kernel_overhead.count());
    const double exchange = ExchangePs(kind);
    const double gathers = GatherPs(kind);
    const double forward = ProductPs(product + attention) + rest + exchange;
    price.forward_ps = RoundUp(forward + gathers);
    price.backward_ps = RoundUp(ProductPs(2 * product + 2.5 * attention) + 2 * rest + exchange + BackwardExtraPs(kind) +
                                2 * gathers);
    AddModes(kind, forward, attention, price);
    AddState(kind, price);
    price.output_bytes = RoundUp(tokens_ * static_cast<double>(shape_.hidden * shape_.bytes_per_element) / degrees_.tensor);
    price.workspace_bytes = WorkspaceBytes(kind);
    return price;
  }

 private:
  static bool HasAttention(Kind kind) { return kind == kDense || kind == kExperts; }

  double ProductPs(double flops) const {
    const double peak = device_.peak_flops * (shape_.eight_bit_products ? 2 : 1);
    return flops / (peak * device_.compute_efficiency) * kPicosecondsPerSecond;
  }

  // A group of `ranks` whose neighbours are `stride` ranks apart.
  TrainingLink LinkOf(int64_t ranks, int64_t stride) const {
    return ranks * stride <= query_.devices_per_node || !query_.crosses_nodes ? inside_ : between_;
  }

  // A ring moves (ranks - 1) / ranks of `bytes` over each of its links.
  double RingPs(double bytes, int64_t ranks, int64_t stride) const {
    if (ranks <= 1 || bytes <= 0) return 0;
    const TrainingLink link = LinkOf(ranks, stride);
    const auto count = static_cast<double>(ranks);
    return bytes * (count - 1) / count / link.bytes_per_second * kPicosecondsPerSecond +
           static_cast<double>(link.latency_ps);
  }

  // Of the forward pass: two pairs of gather and scatter per layer among tensor ranks, keys and values around the
  // context ring, tokens to their experts and back.
  double ExchangePs(Kind kind) const {
    const double values = tokens_ * static_cast<double>(shape_.hidden * shape_.bytes_per_element);
    const double pairs = HasAttention(kind) ? 2 : 1;
    double exchange = 2 * pairs * RingPs(values, degrees_.tensor, 1);
    if (!HasAttention(kind)) return exchange;
    exchange += RingPs(KeysAndValuesBytes(), degrees_.context, degrees_.tensor);
    if (kind != kExperts) return exchange;
    return exchange + 2 * RingPs(values * shape_.experts_per_token / degrees_.tensor, degrees_.expert, degrees_.tensor);
  }

  double KeysAndValuesBytes() const {
    const double width = shape_.has_latent_attention()
                             ? static_cast<double>(shape_.kv_rank + shape_.rope_width)
                             : 2 * static_cast<double>(shape_.kv_heads * shape_.head_width) / degrees_.tensor;
    return tokens_ * degrees_.context * width * shape_.bytes_per_element;
  }

  // Keys, values and their gradients go around the ring.
  double BackwardExtraPs(Kind kind) const {
    return HasAttention(kind) ? RingPs(KeysAndValuesBytes(), degrees_.context, degrees_.tensor) : 0;
  }

  // Ranks that hold the same part of a parameter.
  int64_t Copies() const { return int64_t{degrees_.context} * degrees_.data; }

  double ParametersOnRank(Kind kind) const {
    const LayerParameters parameters = ParametersOf(shape_, kind);
    return parameters.divided / degrees_.tensor + parameters.replicated;
  }
  double ExpertsOnRank(Kind kind) const {
    return ParametersOf(shape_, kind).experts / degrees_.tensor / degrees_.expert;
  }

  // Of Sharding::kParameters: once forward, once backward; the scatter of gradients takes as long as both bytes say.
  double GatherPs(Kind kind) const {
    if (query_.sharding == Sharding::kNone || query_.sharding == Sharding::kOptimizer) return 0;
    const double bytes = query_.sharding == Sharding::kParameters ? kWeightBytes : kGradientBytes / 2;
    return RingPs(bytes * ParametersOnRank(kind), Copies(), degrees_.tensor) +
           RingPs(bytes * ExpertsOnRank(kind), Copies() / degrees_.expert, int64_t{degrees_.tensor} * degrees_.expert);
  }

  void AddModes(Kind kind, double forward, double attention, LayerPrice& price) const {
    const double kept = KeptBytesPerToken(shape_, kind) * tokens_ / degrees_.tensor;
    const bool stores = HasAttention(kind) && shape_.stores_scores;
    const double scores =
        stores ? (shape_.dropout ? 5.0 : 2.0) * shape_.heads * static_cast<double>(shape_.sequence) * tokens_ / degrees_.tensor
               : 0;
    const auto mode = [&](LayerRecomputation which) -> std::optional<LayerPrice::Mode>& {
      return price.modes[static_cast<std::size_t>(which)];
    };
    mode(LayerRecomputation::kNone) = {0, RoundUp(kept + scores)};
    price.recomputed_bytes = 0;
    if (!HasAttention(kind)) return;
    if (stores) {
      const double softmax = 10.0 * shape_.heads * static_cast<double>(shape_.sequence) * tokens_ / degrees_.tensor;
      mode(LayerRecomputation::kSelective) = {
          RoundUp(ProductPs(attention) + softmax / device_.memory_bandwidth_bytes_per_second * kPicosecondsPerSecond),
          RoundUp(kept)};
    }
    const double input = tokens_ * static_cast<double>(shape_.hidden * shape_.bytes_per_element) / degrees_.tensor;
    mode(LayerRecomputation::kFull) = {RoundUp(forward), RoundUp(input)};
    price.recomputed_bytes = RoundUp(kept + scores);
  }

  void AddState(Kind kind, LayerPrice& price) const {
    AddState(ParametersOnRank(kind), Copies(), degrees_.tensor, price);
    AddState(ExpertsOnRank(kind), Copies() / degrees_.expert, int64_t{degrees_.tensor} * degrees_.expert, price);
    if (query_.sharding == Sharding::kParameters) {
      price.gathered_bytes = RoundUp(kWeightBytes * (ParametersOnRank(kind) + ExpertsOnRank(kind)));
    }
  }

  void AddState(double parameters, int64_t copies, int64_t stride, LayerPrice& price) const {
    const auto divided = [&](Sharding from) { return query_.sharding >= from ? static_cast<double>(copies) : 1.0; };
    const double owned = parameters / divided(Sharding::kOptimizer);
    price.parameter_bytes += RoundUp(kWeightBytes * parameters / divided(Sharding::kParameters));
    price.gradient_bytes += RoundUp(kGradientBytes * parameters / divided(Sharding::kGradients));
    price.optimizer_bytes += RoundUp(kOptimizerBytes * owned);
    double end = owned * kUpdateBytes / device_.memory_bandwidth_bytes_per_second * kPicosecondsPerSecond;
    switch (query_.sharding) {
      case Sharding::kNone:
        end += 2 * RingPs(kGradientBytes * parameters, copies, stride);
        break;
      case Sharding::kOptimizer:
        end += RingPs((kGradientBytes + kWeightBytes) * parameters, copies, stride);
        break;
      case Sharding::kGradients:
        end += RingPs(kWeightBytes * parameters, copies, stride);
        break;
      case Sharding::kParameters:
        break;
    }
    price.step_end_ps += RoundUp(end);
  }

  int64_t WorkspaceBytes(Kind kind) const {
    const double hidden = tokens_ * static_cast<double>(shape_.hidden * shape_.bytes_per_element);
    // Logits and their gradient.
    if (kind == kHead) return RoundUp(tokens_ * 4 * static_cast<double>(shape_.vocabulary) / degrees_.tensor);
    return RoundUp(2 * hidden);
  }

  const TransformerShape& shape_;
  const DeviceClass& device_;
  const PriceQuery& query_;
  const Degrees& degrees_;
  TrainingLink inside_;
  TrainingLink between_;
  // Of one rank's part of the sequence.
  double tokens_ = 0;
};

bool Divides(const TransformerShape& shape, const Degrees& degrees) {
  if (shape.heads % degrees.tensor != 0 || shape.hidden % degrees.tensor != 0) return false;
  if (!shape.has_latent_attention() && shape.kv_heads % degrees.tensor != 0) return false;
  if (shape.feed_forward % degrees.tensor != 0) return false;
  // Causal work is balanced by giving each rank a part from either end.
  if (degrees.context > 1 && shape.sequence % (2 * int64_t{degrees.context}) != 0) return false;
  if (degrees.expert == 1) return true;
  return shape.has_experts() && shape.experts % degrees.expert == 0 &&
         (int64_t{degrees.context} * degrees.data) % degrees.expert == 0;
}

}  // namespace

TransformerPricer::TransformerPricer(const TransformerShape& shape, const Cluster& cluster, TrainingLink inside,
                                     TrainingLink between)
    : shape_(shape), cluster_(cluster), inside_(inside), between_(between) {
  kinds_.push_back(kEmbedding);
  labels_.emplace_back("embedding");
  for (int32_t layer = 0; layer < shape.layers; ++layer) {
    kinds_.push_back(shape.has_experts() && layer >= shape.dense_layers ? kExperts : kDense);
    labels_.push_back(absl::StrCat("layer.", layer));
  }
  kinds_.push_back(kHead);
  labels_.emplace_back("head");
}

std::vector<LayerPrice> TransformerPricer::Price(const PriceQuery& query) const {
  if (!Divides(shape_, query.degrees)) return {};
  const Spread spread(shape_, cluster_.device_classes[query.device_class.index()], query, inside_, between_);
  std::vector<LayerPrice> prices;
  for (const Kind kind : {kEmbedding, kDense, kExperts, kHead}) prices.push_back(spread.Price(kind));
  return prices;
}

double TransformerPricer::flops_per_sample() const {
  double flops = 0;
  for (const int32_t kind : kinds_) {
    flops += ProductFlopsPerToken(shape_, static_cast<Kind>(kind));
    if (kind == kDense || kind == kExperts) flops += AttentionFlopsPerToken(shape_);
  }
  return 3 * flops * static_cast<double>(shape_.sequence);
}

double ParameterCount(const TransformerShape& shape) {
  double count = 0;
  const auto add = [&](Kind kind, double times) {
    const LayerParameters parameters = ParametersOf(shape, kind);
    count += times * (parameters.divided + parameters.replicated + parameters.experts);
  };
  const int32_t dense = shape.has_experts() ? shape.dense_layers : shape.layers;
  add(kEmbedding, 1);
  add(kDense, dense);
  add(kExperts, shape.layers - dense);
  if (!shape.tied) add(kHead, 1);
  return count;
}

}  // namespace planwright
