#include "core/verify/joint/rank_costs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace planwright::verify {
namespace {

constexpr double kPerSecond = 1e12;
// Bytes of a parameter: as it computes, its gradient, its 32-bit self with two moments; and what an update moves.
constexpr double kWeight = 2;
constexpr double kGradient = 4;
constexpr double kOptimizer = 12;
constexpr double kUpdated = 30;

double N(int64_t value) { return static_cast<double>(value); }

class RankCosting {
 public:
  RankCosting(const TransformerShape& shape, int32_t position, const DeviceClass& device,
              const TrainingEfficiency& efficiency, const RankSpread& spread)
      : shape_(shape),
        device_(device),
        reached_(efficiency),
        spread_(spread),
        is_embedding_(position == 0),
        is_head_(position == shape.layers + 1),
        has_experts_(!is_embedding_ && !is_head_ && shape.experts > 0 && position > shape.dense_layers),
        t_(spread.degrees.tensor),
        w_(shape.bytes_per_element),
        h_(N(shape.hidden)),
        tokens_(N(spread.samples) * N(shape.sequence) / spread.degrees.context) {
    const bool is_latent = shape.kv_rank > 0;
    queries_ = shape.heads * N(shape.head_width + shape.rope_width);
    keys_ = is_latent ? queries_ : shape.kv_heads * N(shape.head_width);
    values_ = is_latent ? shape.heads * N(shape.value_width) : keys_;
    outputs_ = shape.heads * N(is_latent ? shape.value_width : shape.head_width);
    inputs_ = shape.gated ? 2 : 1;
    between_ = shape.gated ? 3 : 2;
    dense_ = has_experts_ ? shape.shared_experts * N(shape.expert_feed_forward) : N(shape.feed_forward);
  }

  RankCosts Run() {
    CountParameters();
    const bool is_layer = !is_embedding_ && !is_head_;
    const double scores = is_layer ? Attention(1) + ScoreTraffic(2) : 0;
    costs_.weights = Products();
    costs_.kept_for_weights = KeptForWeights();
    const double others = costs_.weights + Traffic() + Kernels() * N(reached_.launch.count());
    const double computed = others + scores;
    // Two products for each of the forward pass; attention without scores makes them again (Dao 2023).
    const double computed_back =
        2 * others + (is_layer ? Attention(shape_.stores_scores ? 2 : 2.5) + ScoreTraffic(3) : 0);
    AddPasses(computed, computed_back);
    costs_.step_end = StepEnd();
    AddMemory(computed, scores);
    AddTied();
    return costs_;
  }

 private:
  void CountParameters() {
    if (is_embedding_ || is_head_) {
      ordinary_ = N(shape_.vocabulary) * h_ / t_ + (is_head_ ? 2 * h_ : 0);
      if (is_embedding_ && shape_.learned_positions) ordinary_ += N(shape_.sequence) * h_;
      return;
    }
    double divided = outputs_ * h_ + (1 + inputs_) * h_ * dense_;
    // Two norms with scale and shift.
    double replicated = 4 * h_;
    if (shape_.kv_rank > 0) {
      replicated += h_ * N(shape_.query_rank + shape_.kv_rank + shape_.rope_width);
      divided += (shape_.query_rank > 0 ? N(shape_.query_rank) : h_) * queries_ + N(shape_.kv_rank) * Unfolded();
    } else {
      divided += h_ * (queries_ + keys_ + values_);
    }
    if (has_experts_) {
      replicated += shape_.experts * h_;
      experts_ = shape_.experts * (1 + inputs_) * h_ * N(shape_.expert_feed_forward) / t_ / spread_.degrees.expert;
    }
    ordinary_ = divided / t_ + replicated;
  }

  // Keys without positions and values, as they come out of the latent vector.
  double Unfolded() const { return shape_.heads * N(shape_.head_width + shape_.value_width); }

  double Product(double rows, double inner, double columns, double copies, bool in_eight_bits) const {
    const double gain = in_eight_bits && shape_.eight_bit_products ? reached_.eight_bit_gain : 1;
    const double surfaces = 1 + reached_.half_extent * (1 / rows + 1 / inner + 1 / columns);
    return 2 * rows * inner * columns * copies * surfaces / (device_.peak_flops * reached_.products * gain) *
           kPerSecond;
  }

  double Products() const {
    if (is_embedding_) return 0;
    if (is_head_) return Product(tokens_, h_, N(shape_.vocabulary) / t_, 1, false);
    double time = Product(tokens_, outputs_ / t_, h_, 1, true);
    if (shape_.kv_rank > 0) {
      const double own = tokens_ / t_;
      time += Product(own, h_, N(shape_.kv_rank + shape_.rope_width), 1, true);
      time += Product(tokens_, N(shape_.kv_rank), Unfolded() / t_, 1, true);
      if (shape_.query_rank > 0) time += Product(own, h_, N(shape_.query_rank), 1, true);
      time += Product(tokens_, shape_.query_rank > 0 ? N(shape_.query_rank) : h_, queries_ / t_, 1, true);
    } else {
      time += Product(tokens_, h_, (queries_ + keys_ + values_) / t_, 1, true);
    }
    if (dense_ > 0) {
      time += Product(tokens_, h_, inputs_ * dense_ / t_, 1, true) + Product(tokens_, dense_ / t_, h_, 1, true);
    }
    if (!has_experts_) return time;
    const double local = N(shape_.experts) / spread_.degrees.expert;
    const double rows = tokens_ * shape_.experts_per_token * shape_.expert_load / local;
    const double width = N(shape_.expert_feed_forward) / t_;
    return time + Product(tokens_ / t_, h_, shape_.experts, 1, false) +
           Product(rows, h_, inputs_ * width, local, true) + Product(rows, width, h_, local, true);
  }

  // Bytes kept of each product: what goes in, once where several read the same, and the gradient of what comes out.
  double KeptForWeights() const {
    double elements = 0;
    if (is_head_) elements = h_ + N(shape_.vocabulary);
    if (!is_embedding_ && !is_head_) {
      elements = h_ + queries_ + outputs_ + h_;
      if (shape_.kv_rank > 0) {
        elements += N(shape_.query_rank) * 2 + N(shape_.kv_rank) * 2 + N(shape_.rope_width) + Unfolded();
      } else {
        elements += keys_ + values_;
      }
      elements += h_;
      if (dense_ > 0) elements += inputs_ * dense_ + dense_ + h_;
      if (has_experts_) {
        const double width = N(shape_.expert_feed_forward);
        elements += shape_.experts + shape_.experts_per_token * (h_ + inputs_ * width + width + h_);
      }
    }
    return w_ * elements * tokens_ / t_;
  }

  // `times`: of the forward pass.
  double Attention(double times) const {
    if (!shape_.stores_scores) {
      const double flops = N(shape_.sequence) * (queries_ + outputs_) * tokens_ / t_;
      return times * flops / (device_.peak_flops * reached_.attention) * kPerSecond;
    }
    const double s = N(shape_.sequence);
    const double heads = tokens_ / s * shape_.heads / t_;
    return times * (Product(s, queries_ / shape_.heads, s, heads, false) +
                    Product(s, s, outputs_ / shape_.heads, heads, false));
  }

  double Moved(double bytes) const {
    return bytes / (device_.memory_bandwidth_bytes_per_second * reached_.memory) * kPerSecond;
  }

  // Softmax of stored scores, read or written `times` times, and their dropout.
  double ScoreTraffic(double times) const {
    if (!shape_.stores_scores) return 0;
    const double bytes = times * w_ + (shape_.dropout ? 2 * w_ + 1 : 0);
    return Moved(bytes * shape_.heads * N(shape_.sequence) * tokens_ / t_);
  }

  double Traffic() const {
    // All of it is divided among tensor ranks, by width or along the sequence.
    if (is_embedding_) return Moved(2 * w_ * h_ * tokens_ / t_);
    if (is_head_) return Moved(((w_ + 16) * N(shape_.vocabulary) + 2 * w_ * h_) * tokens_ / t_);
    double bytes = (10 * w_ + (shape_.dropout ? 2 : 0)) * h_ + between_ * w_ * dense_;
    if (!shape_.learned_positions) bytes += 2 * w_ * (queries_ + keys_);
    if (has_experts_) {
      bytes += shape_.experts_per_token * w_ * (8 * h_ + between_ * N(shape_.expert_feed_forward));
    }
    return Moved(bytes * tokens_ / t_);
  }

  double Kernels() const {
    if (is_embedding_) return 2;
    if (is_head_) return 8;
    if (has_experts_) return shape_.shared_experts > 0 ? 48 : 40;
    return shape_.stores_scores ? 40 : 24;
  }

  RanksTogether Together(double ranks, double apart) const {
    return RanksTogetherIn(static_cast<int64_t>(ranks), static_cast<int64_t>(apart), spread_);
  }
  const MachineLink& Link(bool is_inside) const { return is_inside ? spread_.inside : spread_.between; }
  double Speed(bool is_inside) const { return Link(is_inside).bytes_per_second * reached_.network; }

  // Ranks that are so far apart pass (ranks - 1) / ranks of the bytes on.
  double Ring(double bytes, double ranks, double apart) const {
    if (ranks <= 1 || bytes <= 0) return 0;
    const double fewest = N(Together(ranks, apart).fewest);
    const bool leaves = fewest < ranks;
    const double speed = leaves ? std::min(Speed(true), fewest * Speed(false)) : Speed(true);
    return bytes * (ranks - 1) / ranks / speed * kPerSecond + N(Link(!leaves).latency_ps);
  }

  double AllToAll(double bytes, double ranks, double apart) const {
    if (ranks <= 1 || bytes <= 0) return 0;
    const auto [fewest, most] = Together(ranks, apart);
    const bool leaves = N(fewest) < ranks;
    const double time =
        std::max(bytes * N(most - 1) / ranks / Speed(true), bytes * (ranks - N(fewest)) / ranks / Speed(false));
    return time * kPerSecond + N(Link(!leaves).latency_ps);
  }

  // Both passes, with exchanges inside the layer and among data ranks as far as they show.
  void AddPasses(double computed, double computed_back) {
    const double whole = Ring(tokens_ * h_ * w_, t_, 1);
    double forward = 2 * whole;
    double backward = 2 * whole;
    if (!is_embedding_ && !is_head_) {
      double entering = h_;
      if (shape_.kv_rank > 0) {
        entering = N(shape_.query_rank > 0 ? shape_.query_rank : shape_.hidden) + N(shape_.kv_rank + shape_.rope_width);
      }
      const double context = spread_.degrees.context;
      const double around = Ring(tokens_ * context * w_ * (keys_ + values_) / t_, context, t_);
      double both = 3 * whole + Ring(tokens_ * entering * w_, t_, 1);
      if (has_experts_) {
        const double sent = tokens_ * h_ * w_ * shape_.experts_per_token * shape_.expert_load / t_;
        both += 2 * AllToAll(sent, spread_.degrees.expert, t_);
      }
      const double shown = 1 - reached_.hidden_in_layers;
      forward = shown * (both + around);
      backward = shown * (both + 2 * around);
    }
    exchanged_ = forward;
    const bool gathers = spread_.sharding == Sharding::kParameters;
    const bool scatters = gathers || spread_.sharding == Sharding::kGradients;
    const double gather = gathers ? AmongData(kWeight) : 0;
    const double scatter = scatters ? AmongData(kGradient) : 0;
    const auto shown = [this](double time, double beside) {
      return time - std::min(reached_.hidden_among_data * time, beside);
    };
    costs_.forward_exchanges = gather;
    costs_.backward_exchanges = gather + scatter;
    costs_.hidden_share = reached_.hidden_among_data;
    costs_.forward_among_data = shown(gather, computed);
    costs_.backward_among_data = shown(gather + scatter, computed_back);
    costs_.forward = computed + forward + costs_.forward_among_data;
    costs_.backward = computed_back + backward + costs_.backward_among_data;
  }

  double Copies() const { return N(spread_.degrees.context) * spread_.degrees.data; }
  double ExpertCopies() const { return Copies() / spread_.degrees.expert; }
  // One ring of so many bytes of each parameter among the ranks that hold the same ones.
  double AmongData(double bytes) const {
    return Ring(bytes * ordinary_, Copies(), t_) + Ring(bytes * experts_, ExpertCopies(), t_ * spread_.degrees.expert);
  }

  // What comes once a step of the parameters counted last.
  double StepEnd() const {
    double exchange = 0;
    if (spread_.sharding == Sharding::kNone) exchange = 2 * AmongData(kGradient);
    if (spread_.sharding == Sharding::kOptimizer) exchange = AmongData(kGradient) + AmongData(kWeight);
    if (spread_.sharding == Sharding::kGradients) exchange = AmongData(kWeight);
    return (1 - reached_.hidden_at_step_end) * exchange + Moved(Shared(kUpdated, Sharding::kOptimizer));
  }

  // Counts parameters without the table of the head, and with it again.
  void AddTied() {
    if (!shape_.tied || (!is_embedding_ && !is_head_)) return;
    const double table = N(shape_.vocabulary) * h_ / t_;
    costs_.ends = kGradient * table / reached_.network;
    if (!is_head_) return;
    ordinary_ -= table;
    costs_.tied_parameters = costs_.parameters - Shared(kWeight, Sharding::kParameters);
    costs_.tied_gradients = costs_.gradients - Shared(kGradient, Sharding::kGradients);
    costs_.tied_optimizer = costs_.optimizer - Shared(kOptimizer, Sharding::kOptimizer);
    costs_.tied_step_end = costs_.step_end - StepEnd();
    ordinary_ += table;
  }

  // Bytes that a rank has of `bytes` for each parameter, where copies divide them from a level of sharding on.
  double Shared(double bytes, Sharding from) const {
    if (spread_.sharding < from) return bytes * (ordinary_ + experts_);
    return bytes * (ordinary_ / Copies() + experts_ / ExpertCopies());
  }

  void AddMemory(double computed, double scores) {
    costs_.parameters = Shared(kWeight, Sharding::kParameters);
    costs_.gradients = Shared(kGradient, Sharding::kGradients);
    costs_.optimizer = Shared(kOptimizer, Sharding::kOptimizer);
    if (spread_.sharding == Sharding::kParameters) costs_.gathered = kWeight * (ordinary_ + experts_);
    costs_.output = tokens_ * h_ * w_ / t_;
    costs_.workspace = 2 * tokens_ * h_ * w_;
    if (is_head_) costs_.workspace = (w_ + 6) * tokens_ * N(shape_.vocabulary) / t_;
    auto& whole = costs_.modes[static_cast<std::size_t>(LayerRecomputation::kNone)];
    if (is_embedding_ || is_head_) {
      const double masks = shape_.dropout ? h_ : 0;
      const double bytes = is_head_ ? 2 * w_ * h_ : masks;
      whole = {0, bytes * tokens_ / t_};
      return;
    }
    double bytes = (4 * w_ + (shape_.dropout ? 2 : 0)) * h_ + w_ * N(shape_.query_rank + shape_.kv_rank) +
                   w_ * (queries_ + keys_ + values_ + outputs_) + w_ * between_ * dense_;
    if (has_experts_) {
      bytes += w_ * shape_.experts_per_token * (h_ + between_ * N(shape_.expert_feed_forward));
    }
    const double plain = bytes * tokens_ / t_;
    const double stored = shape_.stores_scores
                              ? (shape_.dropout ? 2 * w_ + 1 : w_) * shape_.heads * N(shape_.sequence) * tokens_ / t_
                              : 0;
    whole = {0, plain + stored};
    if (shape_.stores_scores) {
      costs_.modes[static_cast<std::size_t>(LayerRecomputation::kSelective)] = {scores, plain};
    }
    costs_.modes[static_cast<std::size_t>(LayerRecomputation::kFull)] = {computed + exchanged_, tokens_ * h_ * w_ / t_};
    costs_.recomputed = plain + stored;
  }

  const TransformerShape& shape_;
  const DeviceClass& device_;
  const TrainingEfficiency& reached_;
  const RankSpread& spread_;
  const bool is_embedding_;
  const bool is_head_;
  const bool has_experts_;
  const double t_;
  const double w_;
  const double h_;
  // Tokens of a micro-batch on one context rank.
  const double tokens_;
  double queries_ = 0;
  double keys_ = 0;
  double values_ = 0;
  double outputs_ = 0;
  double inputs_ = 1;
  double between_ = 2;
  double dense_ = 0;
  // Parameters of this rank, of experts apart.
  double ordinary_ = 0;
  double experts_ = 0;
  // Time of the exchanges inside the layer in the forward pass.
  double exchanged_ = 0;
  RankCosts costs_;
};

// Sums of two shares are rounded up each.
bool IsRounded(int64_t stated, double exact) {
  const auto value = static_cast<double>(stated);
  return value >= exact - 1e-9 * exact - 1 && value <= exact + 1e-9 * exact + 3;
}

}  // namespace

RanksTogether RanksTogetherIn(int64_t ranks, int64_t apart, const RankSpread& spread) {
  RanksTogether together{ranks, 1};
  const int64_t devices = spread.degrees.devices();
  // Inside a node it may begin anywhere.
  if (devices <= spread.node_size) return {ranks, ranks};
  for (int64_t window = 0; window < devices; window += ranks * apart) {
    for (int64_t first = window; first < window + apart; ++first) {
      int64_t here = 0;
      for (int64_t rank = 0; rank < ranks; ++rank) {
        const int64_t device = first + rank * apart;
        ++here;
        const bool is_last = rank + 1 == ranks || device / spread.node_size != (device + apart) / spread.node_size;
        if (!is_last) continue;
        together.fewest = std::min(together.fewest, here);
        together.most = std::max(together.most, here);
        here = 0;
      }
    }
  }
  return together;
}

PriceQuery QueryOf(DeviceClassId device_class, const RankSpread& spread) {
  const auto link = [](const MachineLink& from) { return TrainingLink{from.bytes_per_second, from.latency_ps}; };
  return {.device_class = device_class,
          .degrees = spread.degrees,
          .samples = spread.samples,
          .sharding = spread.sharding,
          .crosses_nodes = spread.degrees.devices() > spread.node_size,
          .devices_per_node = static_cast<int32_t>(spread.node_size),
          .between = link(spread.between),
          .inside = link(spread.inside)};
}

RankCosts CostsOfRank(const TransformerShape& shape, int32_t position, const DeviceClass& device,
                      const TrainingEfficiency& efficiency, const RankSpread& spread) {
  return RankCosting(shape, position, device, efficiency, spread).Run();
}

std::string DifferenceOf(const LayerPrice& price, const RankCosts& costs) {
  std::string difference;
  const auto compare = [&](const char* what, int64_t stated, double exact) {
    if (!difference.empty() || IsRounded(stated, exact)) return;
    difference = absl::StrCat(what, " must be ", exact, " before rounding, is ", stated);
  };
  const auto compare_time = [&](const char* what, int64_t stated, double exact) {
    if (!price.is_measured) compare(what, stated, exact);
  };
  compare_time("forward", price.forward_ps, costs.forward);
  compare_time("backward", price.backward_ps, costs.backward);
  compare_time("gradients of weights", price.weights_ps, costs.weights);
  compare("bytes kept for gradients of weights", price.weights_kept_bytes, costs.kept_for_weights);
  for (std::size_t mode = 0; mode < price.modes.size(); ++mode) {
    const auto& stated = price.modes[mode];
    const auto& exact = costs.modes[mode];
    if (stated.has_value() != exact.has_value()) return "has other modes of recomputation";
    if (!stated.has_value() || !exact.has_value()) continue;
    compare_time("recomputation", stated->extra_ps, exact->extra);
    const bool is_measured = price.is_measured && mode == static_cast<std::size_t>(LayerRecomputation::kNone);
    if (!is_measured) compare("kept bytes", stated->kept_bytes, exact->kept);
  }
  compare("recomputed bytes", price.recomputed_bytes, costs.recomputed);
  compare("workspace", price.workspace_bytes, costs.workspace);
  compare("parameters", price.parameter_bytes, costs.parameters);
  compare("gradients", price.gradient_bytes, costs.gradients);
  compare("optimizer", price.optimizer_bytes, costs.optimizer);
  compare("gathered", price.gathered_bytes, costs.gathered);
  compare("end of the step", price.step_end_ps, costs.step_end);
  compare("sum of both ends", price.ends_bytes, costs.ends);
  compare("parameters of a tied table", price.shared.parameter_bytes, costs.tied_parameters);
  compare("gradients of a tied table", price.shared.gradient_bytes, costs.tied_gradients);
  compare("optimizer of a tied table", price.shared.optimizer_bytes, costs.tied_optimizer);
  compare("end of the step of a tied table", price.shared.step_end_ps, costs.tied_step_end);
  compare("output", price.output_bytes, costs.output);
  return difference;
}

}  // namespace planwright::verify
