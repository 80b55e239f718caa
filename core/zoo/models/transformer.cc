#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"
#include "core/zoo/models/graph_builder.h"
#include "core/zoo/models/language_models.h"

namespace planwright {
namespace {

using Kind = TransformerConfig::Kind;
using AttentionForm = TransformerConfig::AttentionForm;

constexpr int64_t kMaxHeads = 1'024;
// Bounds every tensor: the scores of all heads have at most 2^24 x 2^20 x 2^10 x 4 = 2^56 bytes.
constexpr int64_t kMaxTokensPerMicroBatch = int64_t{1} << 24;
constexpr int64_t kMaxTokens = int64_t{1} << 20;
// The greatest width of a layer of every kind, all experts or all heads together: bounds every table of parameters by
// 2^20 x 2^22 x 4 bytes.
constexpr int64_t kMaxWidth = int64_t{1} << 22;
// 50,000 layers of at most 19 operators stay below 1,000,000, as do these of at most 33.
constexpr int64_t kMaxLayers = 50'000;
constexpr int64_t kMaxLayersWithExpertsOrLatentAttention = 30'000;

int64_t HeadWidth(const TransformerConfig& config) { return config.head_width.value_or(config.hidden / config.heads); }
int64_t ValueWidth(const TransformerConfig& config) { return config.value_width.value_or(HeadWidth(config)); }
int64_t FeedForwardWidth(const TransformerConfig& config) { return config.feed_forward.value_or(4 * config.hidden); }
int64_t ExpertWidth(const TransformerConfig& config) {
  return config.expert_feed_forward.value_or(FeedForwardWidth(config));
}

// Builds the operators in which the two kinds differ, and the parts made of them.
class TransformerBuilder {
 public:
  TransformerBuilder(const std::string& display_name, const TransformerConfig& config)
      : config_(config), builder_(display_name, config.sequences, config.bytes_per_element) {}

  OperatorGraph Build() {
    Value x = AddEmbedding();
    for (int64_t layer = 0; layer < config_.layers; ++layer) {
      const std::size_t before = builder_.num_operators();
      builder_.EnterLayer("layer." + std::to_string(layer));
      x = config_.kv_rank > 0 ? AddLatentAttention(x) : AddAttention(x);
      x = has_experts(layer) ? AddExperts(x) : AddFeedForward(x);
      if (layer == 0 || has_experts(layer) != has_experts(layer - 1)) {
        const std::size_t like = builder_.num_operators() - before;
        builder_.Reserve(like * static_cast<std::size_t>(config_.layers - layer - 1) + kMostAroundLayers);
      }
    }
    AddHeadAndLoss(x);
    return builder_.Build();
  }

 private:
  // Operators behind the layers.
  static constexpr std::size_t kMostAroundLayers = 8;

  bool is_gpt() const { return config_.kind == Kind::kGpt; }
  bool has_experts(int64_t layer) const { return config_.experts > 0 && layer >= config_.dense_layers; }

  Value Norm(std::string_view name, const Value& x) {
    return is_gpt() ? builder_.LayerNorm(name, x) : builder_.RmsNorm(name, x);
  }
  Value Linear(std::string_view name, const Value& x, int64_t columns) {
    return builder_.Linear(name, x, columns, is_gpt() ? Bias::kWith : Bias::kWithout);
  }
  Value Dropout(std::string_view name, const Value& x) { return is_gpt() ? builder_.Dropout(name, x) : x; }
  Value Rotary(std::string_view name, const Value& x) { return is_gpt() ? x : builder_.Rotary(name, x); }

  Value AddEmbedding() {
    builder_.EnterLayer("embedding");
    const Value ids = builder_.Input("input_ids", {config_.sequences, config_.tokens}, kBytesPerId);
    Value words = builder_.Embedding("word", ids, config_.vocabulary, config_.hidden);
    if (!is_gpt()) return words;
    const Value position_ids = builder_.Input("position_ids", {config_.tokens}, kBytesPerId);
    const Value positions = builder_.Embedding("position", position_ids, config_.tokens, config_.hidden);
    return Dropout("dropout", builder_.Add("add", {words, positions}));
  }

  Value AddAttention(const Value& x) {
    const Value normed = Norm("attention_norm", x);
    const int64_t width = config_.heads * HeadWidth(config_);
    const int64_t shared_width = config_.kv_heads.value_or(config_.heads) * HeadWidth(config_);
    const Value query = Rotary("query_rotary", NormHeads("query_norm", Linear("query", normed, width)));
    const Value key = Rotary("key_rotary", NormHeads("key_norm", Linear("key", normed, shared_width)));
    const Value value = Linear("value", normed, shared_width);
    return AddAttended(query, key, value, x);
  }

  // DeepSeek-AI 2024, DeepSeek-V2, section 2.1. The keys with rotary positions are one head that all share.
  Value AddLatentAttention(const Value& x) {
    const Value normed = Norm("attention_norm", x);
    const int64_t query_width = config_.heads * (HeadWidth(config_) + config_.rope_width);
    Value query = normed;
    if (config_.query_rank > 0) query = Norm("query_norm", Linear("query_down", normed, config_.query_rank));
    query = Rotary("query_rotary", Linear("query", query, query_width));
    const Value latent = Norm("latent_norm", Linear("latent", normed, config_.kv_rank));
    Value key = Linear("key", latent, config_.heads * HeadWidth(config_));
    const Value value = Linear("value", latent, config_.heads * ValueWidth(config_));
    if (config_.rope_width > 0) {
      const Value shared = Rotary("key_rotary", Linear("shared_key", normed, config_.rope_width));
      key = builder_.AppendToHeads("key_concat", key, shared, config_.heads);
    }
    return AddAttended(query, key, value, x);
  }

  Value AddAttended(const Value& query, const Value& key, const Value& value, const Value& x) {
    const Value context = config_.attention == AttentionForm::kFused
                              ? builder_.Attention("attention", query, key, value, config_.heads)
                              : AddUnfusedAttention(query, key, value);
    const Value projected = Dropout("projection_dropout", Linear("projection", context, config_.hidden));
    return builder_.Add("attention_add", {projected, x});
  }

  // One scale for each element of a head.
  Value NormHeads(std::string_view name, const Value& x) {
    if (!config_.head_norm) return x;
    const int64_t width = HeadWidth(config_);
    const Shape heads = {config_.sequences, config_.tokens, x.shape.back() / width, width};
    return builder_.RmsNorm(name, x.Reshaped(heads)).Reshaped(x.shape);
  }

  // Heads that share a key are rows of one product.
  Value AddUnfusedAttention(const Value& query, const Value& key, const Value& value) {
    const int64_t groups = config_.kv_rank > 0 ? config_.heads : config_.kv_heads.value_or(config_.heads);
    const int64_t rows = config_.heads / groups * config_.tokens;
    const int64_t score_width = query.shape.back() / config_.heads;
    const int64_t value_width = value.shape.back() / groups;
    const Value queries = query.Reshaped({config_.sequences, groups, rows, score_width});
    const Value keys = key.Reshaped({config_.sequences, groups, score_width, config_.tokens});
    const Value values = value.Reshaped({config_.sequences, groups, config_.tokens, value_width});
    const Value scores = builder_.Scale("scale_and_mask", builder_.MatMul("scores", queries, keys));
    const Value weights = Dropout("attention_dropout", builder_.Softmax("softmax", scores));
    const Shape context = {config_.sequences, config_.tokens, config_.heads * value_width};
    return builder_.MatMul("context", weights, values).Reshaped(context);
  }

  Value AddFeedForward(const Value& x) {
    const Value normed = Norm("feed_forward_norm", x);
    const int64_t width = FeedForwardWidth(config_);
    const Value wide = is_gpt() ? builder_.Gelu("gelu", Linear("up", normed, width)) : AddGatedUnit(normed, width);
    const Value narrow = Dropout("feed_forward_dropout", Linear("down", wide, config_.hidden));
    return builder_.Add("feed_forward_add", {narrow, x});
  }

  // Every token goes to some of the experts, whose sums its choice weighs (Shazeer et al. 2017), and to those that all
  // share.
  Value AddExperts(const Value& x) {
    const Value normed = Norm("feed_forward_norm", x);
    const Value choice = builder_.Softmax("choice", builder_.Linear("router", normed, config_.experts, Bias::kWithout));
    const Value rows = builder_.Dispatch("dispatch", normed, choice, config_.experts_per_token);
    const auto product = [&](std::string_view name, const Value& input, int64_t columns) {
      return builder_.GroupedLinear(name, input, columns, config_.experts);
    };
    const int64_t width = ExpertWidth(config_);
    Value wide = product("experts_up", rows, width);
    if (is_gpt()) {
      wide = builder_.Gelu("experts_gelu", wide);
    } else {
      wide = builder_.Multiply("experts_multiply", builder_.Silu("experts_silu", product("experts_gate", rows, width)),
                               wide);
    }
    const Value narrow = product("experts_down", wide, config_.hidden);
    std::vector<Value> sum = {builder_.Combine("combine", narrow, choice, x.shape), x};
    if (config_.shared_experts > 0) sum.push_back(AddSharedExperts(normed));
    return builder_.Add("feed_forward_add", sum);
  }

  Value AddSharedExperts(const Value& normed) {
    const int64_t width = config_.shared_experts * ExpertWidth(config_);
    return Linear("down", is_gpt() ? builder_.Gelu("gelu", Linear("up", normed, width)) : AddGatedUnit(normed, width),
                  config_.hidden);
  }

  // SwiGLU (Shazeer, GLU Variants Improve Transformer, 2020).
  Value AddGatedUnit(const Value& x, int64_t width) {
    const Value gate = builder_.Silu("silu", Linear("gate", x, width));
    return builder_.Multiply("multiply", gate, Linear("up", x, width));
  }

  void AddHeadAndLoss(const Value& x) {
    builder_.EnterLayer("head");
    const Value logits = builder_.Linear("vocabulary", Norm("norm", x), config_.vocabulary, Bias::kWithout);
    if (config_.tied) builder_.ShareParameters();
    builder_.EnterLayer("loss");
    builder_.CrossEntropyLoss("cross_entropy", logits);
  }

  const TransformerConfig& config_;
  GraphBuilder builder_;
};

void AddExpertKeys(TransformerConfig& config, ZooKeys& keys) {
  keys.AddWhole("experts", 0, 65'536, config.experts);
  keys.AddWhole("experts_per_token", 1, 256, config.experts_per_token);
  keys.AddWhole("expert_ffn", 1, kMaxWidth, config.expert_feed_forward, "ffn");
  keys.AddWhole("shared_experts", 0, 256, config.shared_experts);
  keys.AddWhole("dense_layers", 0, kMaxLayers, config.dense_layers);
  keys.AddReal("expert_load", 1, 1'000, config.expert_load);
}

void AddLatentAttentionKeys(TransformerConfig& config, ZooKeys& keys) {
  keys.AddWhole("q_rank", 0, 1'048'576, config.query_rank);
  keys.AddWhole("kv_rank", 0, 1'048'576, config.kv_rank);
  keys.AddWhole("rope_width", 0, 65'536, config.rope_width);
  keys.AddWhole("value_width", 1, 65'536, config.value_width, "head_width");
}

// Errors: a sum of widths that the bounds of the keys leave too large.
absl::Status CheckWidths(const std::string& subject, const TransformerConfig& config) {
  const auto check = [&](std::string_view what, int64_t count, int64_t width) {
    if (count * width <= kMaxWidth) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(subject, ": ", ToAbsl(what), " must be at most ", kMaxWidth, ", is ", count * width));
  };
  RETURN_IF_ERROR(check("heads x (head_width + rope_width)", config.heads, HeadWidth(config) + config.rope_width));
  RETURN_IF_ERROR(check("heads x value_width", config.heads, ValueWidth(config)));
  RETURN_IF_ERROR(check("experts x expert_ffn", config.experts, config.experts > 0 ? ExpertWidth(config) : 0));
  return check("shared_experts x expert_ffn", config.shared_experts,
               config.shared_experts > 0 ? ExpertWidth(config) : 0);
}

absl::Status CheckExperts(const std::string& subject, const TransformerConfig& config) {
  if (config.experts > 0 && config.experts_per_token > config.experts) {
    return absl::InvalidArgumentError(absl::StrCat(subject, ": experts_per_token must be at most experts, is ",
                                                   config.experts_per_token, " of ", config.experts));
  }
  if (config.experts == 0 && (config.shared_experts > 0 || config.dense_layers > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(subject, ": shared_experts and dense_layers must be 0 where experts is"));
  }
  if (config.dense_layers > config.layers) {
    return absl::InvalidArgumentError(absl::StrCat(subject, ": dense_layers must be at most layers, is ",
                                                   config.dense_layers, " of ", config.layers));
  }
  const bool is_long = config.experts > 0 || config.kv_rank > 0;
  if (is_long && config.layers > kMaxLayersWithExpertsOrLatentAttention) {
    return absl::InvalidArgumentError(absl::StrCat(subject, ": layers must be at most ",
                                                   kMaxLayersWithExpertsOrLatentAttention,
                                                   " with experts or kv_rank, is ", config.layers));
  }
  return absl::OkStatus();
}

absl::Status CheckLatentAttention(const std::string& subject, const TransformerConfig& config) {
  const bool is_latent = config.kv_rank > 0;
  if (!is_latent && (config.query_rank > 0 || config.rope_width > 0 || config.value_width.has_value())) {
    return absl::InvalidArgumentError(
        absl::StrCat(subject, ": q_rank, rope_width and value_width belong to latent attention, which kv_rank makes"));
  }
  if (is_latent && (config.kind == Kind::kGpt || config.kv_heads.has_value() || config.head_norm)) {
    return absl::InvalidArgumentError(
        absl::StrCat(subject, ": kind=gpt, kv_heads and head_norm do not go with kv_rank"));
  }
  return absl::OkStatus();
}

}  // namespace

ZooKeys KeysOf(TransformerConfig& config) {
  ZooKeys keys;
  keys.AddChoice<Kind>("kind", {{"gpt", Kind::kGpt}, {"llama", Kind::kLlama}}, config.kind);
  keys.AddWhole("layers", 1, kMaxLayers, config.layers);
  keys.AddWhole("hidden", 1, 1'048'576, config.hidden);
  keys.AddWhole("heads", 1, kMaxHeads, config.heads);
  keys.AddWhole("kv_heads", 1, kMaxHeads, config.kv_heads, "heads");
  keys.AddWhole("ffn", 1, 4'194'304, config.feed_forward, "4*hidden");
  keys.AddWhole("vocab", 1, 4'194'304, config.vocabulary);
  keys.AddWhole("sequence", 1, kMaxTokens, config.tokens);
  keys.AddWhole("micro_batch", 1, 65'536, config.sequences);
  AddDtypeKey(config.bytes_per_element, keys);
  keys.AddChoice<bool>("tied", {{"yes", true}, {"no", false}}, config.tied);
  keys.AddChoice<AttentionForm>("attention", {{"fused", AttentionForm::kFused}, {"unfused", AttentionForm::kUnfused}},
                                config.attention);
  keys.AddWhole("head_width", 1, 65'536, config.head_width, "hidden/heads");
  keys.AddChoice<bool>("head_norm", {{"yes", true}, {"no", false}}, config.head_norm);
  AddExpertKeys(config, keys);
  AddLatentAttentionKeys(config, keys);
  keys.AddChoice<bool>("fp8", {{"yes", true}, {"no", false}}, config.eight_bit_products);
  return keys;
}

absl::Status CheckConfig(const std::string& subject, const TransformerConfig& config) {
  const int64_t kv_heads = config.kv_heads.value_or(config.heads);
  if (!config.head_width.has_value() && config.hidden % config.heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(subject, ": heads must divide hidden, is ", config.heads, " of ", config.hidden));
  }
  if (config.heads % kv_heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(subject, ": kv_heads must divide heads, is ", kv_heads, " of ", config.heads));
  }
  RETURN_IF_ERROR(CheckExperts(subject, config));
  RETURN_IF_ERROR(CheckLatentAttention(subject, config));
  RETURN_IF_ERROR(CheckWidths(subject, config));
  const int64_t tokens = config.sequences * config.tokens;
  if (tokens <= kMaxTokensPerMicroBatch) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(subject, ": micro_batch x sequence must be at most ", kMaxTokensPerMicroBatch, ", is ", tokens));
}

TransformerShape ShapeOf(const TransformerConfig& config) {
  const bool is_gpt = config.kind == Kind::kGpt;
  const bool is_latent = config.kv_rank > 0;
  TransformerShape shape{.layers = static_cast<int32_t>(config.layers),
                         .hidden = config.hidden,
                         .heads = static_cast<int32_t>(config.heads),
                         .kv_heads = static_cast<int32_t>(config.kv_heads.value_or(config.heads)),
                         .head_width = HeadWidth(config),
                         .feed_forward = FeedForwardWidth(config),
                         .gated = !is_gpt,
                         .stores_scores = config.attention == AttentionForm::kUnfused,
                         .dropout = is_gpt,
                         .learned_positions = is_gpt,
                         .vocabulary = config.vocabulary,
                         .sequence = config.tokens,
                         .tied = config.tied,
                         .bytes_per_element = static_cast<int32_t>(config.bytes_per_element),
                         .eight_bit_products = config.eight_bit_products,
                         .query_rank = config.query_rank,
                         .kv_rank = config.kv_rank,
                         .rope_width = config.rope_width,
                         .value_width = is_latent ? ValueWidth(config) : 0};
  if (config.experts == 0) return shape;
  shape.experts = static_cast<int32_t>(config.experts);
  shape.experts_per_token = static_cast<int32_t>(config.experts_per_token);
  shape.expert_feed_forward = ExpertWidth(config);
  shape.shared_experts = static_cast<int32_t>(config.shared_experts);
  shape.dense_layers = static_cast<int32_t>(config.dense_layers);
  shape.expert_load = config.expert_load;
  return shape;
}

OperatorGraph MakeModel(const std::string& display_name, const TransformerConfig& config) {
  return TransformerBuilder(display_name, config).Build();
}

}  // namespace planwright
