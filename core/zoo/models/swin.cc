#include "absl/strings/str_cat.h"
#include "core/zoo/models/graph_builder.h"
#include "core/zoo/models/image_models.h"

namespace planwright {
namespace {

constexpr int64_t kHeadSize = 32;
// Pixels of a side of a patch, which becomes a token.
constexpr int64_t kPatch = 4;
// How many times the image is as wide as the map of the coarsest tokens.
constexpr int64_t kCoarsestTokens = 32;
constexpr int64_t kFeedForward = 4;

// Builds one network. Values between layers are tokens, [images, height, width, channels].
class SwinBuilder {
 public:
  SwinBuilder(const std::string& display_name, const SwinConfig& config)
      : config_(config), builder_(display_name, config.batch.images, config.batch.bytes_per_element) {}

  OperatorGraph Build() {
    Value x = AddEmbedding();
    for (std::size_t stage = 0; stage < config_.blocks.size(); ++stage) {
      if (stage > 0) x = AddMerging(stage, x);
      for (int block = 0; block < config_.blocks[stage]; ++block) {
        builder_.EnterLayer(absl::StrCat("stage", stage + 1, ".", block));
        x = AddFeedForward(AddAttention(x, config_.heads[stage]));
      }
    }
    AddHead(x);
    return builder_.Build();
  }

 private:
  Value AddEmbedding() {
    builder_.EnterLayer("embedding");
    const int64_t channels = config_.heads.front() * kHeadSize;
    const Convolution patches = {
        .output_channels = channels, .kernel = kPatch, .stride = kPatch, .padded = false, .bias = true};
    const Value maps = builder_.Conv2d("patches", AddImages(config_.batch, builder_), patches);
    const Value tokens = builder_.Permute("tokens", maps, {maps.shape[0], maps.shape[2], maps.shape[3], channels});
    return builder_.LayerNorm("norm", tokens);
  }

  // Four neighbours become one token of twice the channels.
  Value AddMerging(std::size_t stage, const Value& x) {
    builder_.EnterLayer(absl::StrCat("merge", stage));
    const Shape merged = {x.shape[0], x.shape[1] / 2, x.shape[2] / 2, 4 * x.shape[3]};
    const Value joined = builder_.LayerNorm("norm", builder_.Permute("join", x, merged));
    return builder_.Linear("reduce", joined, 2 * x.shape[3], Bias::kWithout);
  }

  // Adds the attention of all windows and heads at once, between their shift and its undoing.
  Value AddAttention(const Value& x, int64_t heads) {
    const int64_t tokens = config_.window * config_.window;
    const int64_t windows = NumElements(x.shape) / (tokens * heads * kHeadSize);
    const Shape by_window = {windows, tokens, heads * kHeadSize};
    const Shape by_head = {windows, heads, tokens, kHeadSize};
    const Value normed = builder_.Permute("windows", builder_.LayerNorm("attention_norm", x), by_window);
    const Value query = builder_.Linear("query", normed, by_window.back()).Reshaped(by_head);
    const Value key = builder_.Linear("key", normed, by_window.back()).Reshaped({windows, heads, kHeadSize, tokens});
    const Value value = builder_.Linear("value", normed, by_window.back()).Reshaped(by_head);

    const int64_t distances = 2 * config_.window - 1;
    const Value scores =
        builder_.AddTable("position_bias", builder_.MatMul("scores", query, key), distances * distances * heads);
    const Value context = builder_.MatMul("context", builder_.Softmax("softmax", scores), value).Reshaped(by_window);
    const Value projected = builder_.Linear("projection", context, by_window.back());
    return builder_.Add("attention_add", {builder_.Permute("image", projected, x.shape), x});
  }

  Value AddFeedForward(const Value& x) {
    const int64_t channels = x.shape.back();
    const Value normed = builder_.LayerNorm("feed_forward_norm", x);
    const Value wide = builder_.Gelu("gelu", builder_.Linear("up", normed, kFeedForward * channels));
    return builder_.Add("feed_forward_add", {builder_.Linear("down", wide, channels), x});
  }

  void AddHead(const Value& x) {
    builder_.EnterLayer("head");
    const Value normed = builder_.LayerNorm("norm", x);
    const Value maps = normed.Reshaped({x.shape[0], x.shape[3], x.shape[1], x.shape[2]});
    const Value features = builder_.GlobalAveragePool("pool", maps);
    builder_.CrossEntropyLoss("loss", builder_.Linear("classifier", features, config_.batch.classes));
  }

  const SwinConfig& config_;
  GraphBuilder builder_;
};

}  // namespace

ZooKeys KeysOf(SwinConfig& config) {
  ZooKeys keys;
  AddImageKeys(kCoarsestTokens, config.batch, keys);
  keys.AddWhole("window", 1, 128, config.window);
  return keys;
}

absl::Status CheckConfig(const std::string& subject, const SwinConfig& config) {
  const int64_t unit = kCoarsestTokens * config.window;
  if (config.batch.image_size % unit == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(subject, ": image must be a multiple of 32 x window, ", unit, ", is ", config.batch.image_size));
}

OperatorGraph MakeModel(const std::string& display_name, const SwinConfig& config) {
  return SwinBuilder(display_name, config).Build();
}

}  // namespace planwright
