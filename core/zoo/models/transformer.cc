#include "core/zoo/models/transformer.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "core/zoo/models/graph_builder.h"

namespace planwright {
namespace {

using Kind = TransformerConfig::Kind;
using AttentionForm = TransformerConfig::AttentionForm;

constexpr int64_t kBytesPerId = 4;
constexpr int64_t kMaxHeads = 1'024;
// Bounds every tensor: the scores of all heads have at most 2^24 x 2^20 x 2^10 x 4 = 2^56 bytes.
constexpr int64_t kMaxTokensPerMicroBatch = int64_t{1} << 24;
constexpr int64_t kMaxTokens = int64_t{1} << 20;

// Builds the operators in which the two kinds differ, and the parts made of them.
class TransformerBuilder {
 public:
  TransformerBuilder(const std::string& display_name, const TransformerConfig& config)
      : config_(config), builder_(display_name, config.sequences, config.bytes_per_element) {}

  OperatorGraph Build() {
    Value x = AddEmbedding();
    for (int64_t layer = 0; layer < config_.layers; ++layer) {
      builder_.EnterLayer("layer." + std::to_string(layer));
      x = AddFeedForward(AddAttention(x));
    }
    AddHeadAndLoss(x);
    return builder_.Build();
  }

 private:
  bool is_gpt() const { return config_.kind == Kind::kGpt; }

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
    const int64_t shared_width = config_.hidden / config_.heads * config_.kv_heads.value_or(config_.heads);
    const Value query = Rotary("query_rotary", Linear("query", normed, config_.hidden));
    const Value key = Rotary("key_rotary", Linear("key", normed, shared_width));
    const Value value = Linear("value", normed, shared_width);
    const Value context = config_.attention == AttentionForm::kFused
                              ? builder_.Attention("attention", query, key, value, config_.heads)
                              : AddUnfusedAttention(query, key, value);
    const Value projected = Dropout("projection_dropout", Linear("projection", context, config_.hidden));
    return builder_.Add("attention_add", {projected, x});
  }

  // Heads that share a key are rows of one product.
  Value AddUnfusedAttention(const Value& query, const Value& key, const Value& value) {
    const int64_t groups = config_.kv_heads.value_or(config_.heads);
    const int64_t rows = config_.heads / groups * config_.tokens;
    const int64_t head_size = config_.hidden / config_.heads;
    const Value queries = query.Reshaped({config_.sequences, groups, rows, head_size});
    const Value keys = key.Reshaped({config_.sequences, groups, head_size, config_.tokens});
    const Value values = value.Reshaped({config_.sequences, groups, config_.tokens, head_size});
    const Value scores = builder_.Scale("scale_and_mask", builder_.MatMul("scores", queries, keys));
    const Value weights = Dropout("attention_dropout", builder_.Softmax("softmax", scores));
    return builder_.MatMul("context", weights, values).Reshaped(query.shape);
  }

  Value AddFeedForward(const Value& x) {
    const Value normed = Norm("feed_forward_norm", x);
    const int64_t width = config_.feed_forward.value_or(4 * config_.hidden);
    const Value wide = is_gpt() ? builder_.Gelu("gelu", Linear("up", normed, width)) : AddGatedUnit(normed, width);
    const Value narrow = Dropout("feed_forward_dropout", Linear("down", wide, config_.hidden));
    return builder_.Add("feed_forward_add", {narrow, x});
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

}  // namespace

ZooKeys KeysOf(TransformerConfig& config) {
  ZooKeys keys;
  keys.AddChoice<Kind>("kind", {{"gpt", Kind::kGpt}, {"llama", Kind::kLlama}}, config.kind);
  // 50,000 layers of at most 19 operators stay below 1,000,000.
  keys.AddWhole("layers", 1, 50'000, config.layers);
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
  return keys;
}

absl::Status CheckConfig(const std::string& subject, const TransformerConfig& config) {
  const int64_t kv_heads = config.kv_heads.value_or(config.heads);
  if (config.hidden % config.heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(subject, ": heads must divide hidden, is ", config.heads, " of ", config.hidden));
  }
  if (config.heads % kv_heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(subject, ": kv_heads must divide heads, is ", kv_heads, " of ", config.heads));
  }
  const int64_t tokens = config.sequences * config.tokens;
  if (tokens <= kMaxTokensPerMicroBatch) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(subject, ": micro_batch x sequence must be at most ", kMaxTokensPerMicroBatch, ", is ", tokens));
}

TransformerShape ShapeOf(const TransformerConfig& config) {
  const bool is_gpt = config.kind == Kind::kGpt;
  return {.layers = static_cast<int32_t>(config.layers),
          .hidden = config.hidden,
          .heads = static_cast<int32_t>(config.heads),
          .kv_heads = static_cast<int32_t>(config.kv_heads.value_or(config.heads)),
          .head_width = config.hidden / config.heads,
          .feed_forward = config.feed_forward.value_or(4 * config.hidden),
          .gated = !is_gpt,
          .stores_scores = config.attention == AttentionForm::kUnfused,
          .dropout = is_gpt,
          .learned_positions = is_gpt,
          .vocabulary = config.vocabulary,
          .sequence = config.tokens,
          .tied = config.tied,
          .bytes_per_element = static_cast<int32_t>(config.bytes_per_element)};
}

OperatorGraph MakeModel(const std::string& display_name, const TransformerConfig& config) {
  return TransformerBuilder(display_name, config).Build();
}

}  // namespace planwright
