#include <cassert>
#include <string>

#include "core/zoo/models/graph_builder.h"
#include "core/zoo/models/language_models.h"

namespace planwright {
namespace {

struct Embedded {
  Value hidden;
  Value mask;
};

Embedded AddEmbeddings(const BertConfig& config, GraphBuilder& builder) {
  builder.EnterLayer("embeddings");
  const Shape batch = {config.sequences, config.tokens};
  const Value ids = builder.Input("input_ids", batch, kBytesPerId);
  const Value types = builder.Input("token_type_ids", batch, kBytesPerId);
  const Value positions = builder.Input("position_ids", {config.tokens}, kBytesPerId);
  const Value attention_mask = builder.Input("attention_mask", batch, config.bytes_per_element);

  const Value words = builder.Embedding("word", ids, config.vocabulary, config.hidden);
  const Value token_types = builder.Embedding("token_type", types, config.token_types, config.hidden);
  const Value places = builder.Embedding("position", positions, config.positions, config.hidden);
  const Value sum = builder.Add("add", {words, token_types, places});
  const Value hidden = builder.Dropout("dropout", builder.LayerNorm("norm", sum));
  return {hidden, builder.Scale("mask", attention_mask)};
}

// softmax(query key^T / sqrt(d) + mask) value, for all heads at once.
Value AddSelfAttention(const BertConfig& config, const Value& x, const Value& mask, GraphBuilder& builder) {
  const int64_t head_size = config.hidden / config.heads;
  const Shape by_head = {config.sequences, config.heads, config.tokens, head_size};
  const Shape transposed = {config.sequences, config.heads, head_size, config.tokens};
  const Value query = builder.Linear("query", x, config.hidden).Reshaped(by_head);
  const Value key = builder.Linear("key", x, config.hidden).Reshaped(transposed);
  const Value value = builder.Linear("value", x, config.hidden).Reshaped(by_head);

  const Value scores = builder.Scale("scale", builder.MatMul("scores", query, key));
  const Value probabilities = builder.Softmax("softmax", builder.Add("add_mask", {scores, mask}));
  const Value context = builder.MatMul("context", builder.Dropout("attention_dropout", probabilities), value);
  return context.Reshaped(x.shape);
}

Value AddEncoderLayer(const BertConfig& config, const Value& x, const Value& mask, GraphBuilder& builder) {
  const Value context = AddSelfAttention(config, x, mask, builder);
  const Value projected = builder.Dropout("projection_dropout", builder.Linear("projection", context, config.hidden));
  const Value attended = builder.LayerNorm("attention_norm", builder.Add("attention_add", {projected, x}));

  const Value wide = builder.Gelu("gelu", builder.Linear("feed_forward_1", attended, 4 * config.hidden));
  const Value narrow = builder.Dropout("feed_forward_dropout", builder.Linear("feed_forward_2", wide, config.hidden));
  return builder.LayerNorm("feed_forward_norm", builder.Add("feed_forward_add", {narrow, attended}));
}

void AddBertHead(const BertConfig& config, const Value& x, GraphBuilder& builder) {
  builder.EnterLayer("head");
  const Value pooled = builder.Tanh("tanh", builder.Linear("pooler", builder.First("first_token", x), config.hidden));
  const Value logits = builder.Linear("classifier", builder.Dropout("dropout", pooled), config.classes);
  builder.CrossEntropyLoss("loss", logits);
}

}  // namespace

ZooKeys KeysOf(BertConfig& config) {
  ZooKeys keys;
  keys.AddWhole("sequence", 1, config.positions, config.tokens);
  keys.AddWhole("micro_batch", 1, 65'536, config.sequences);
  AddDtypeKey(config.bytes_per_element, keys);
  return keys;
}

OperatorGraph MakeModel(const std::string& display_name, const BertConfig& config) {
  assert(config.hidden % config.heads == 0 && config.tokens <= config.positions);
  GraphBuilder builder(display_name, config.sequences, config.bytes_per_element);
  auto [hidden, mask] = AddEmbeddings(config, builder);
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    builder.EnterLayer("encoder." + std::to_string(layer));
    hidden = AddEncoderLayer(config, hidden, mask, builder);
  }
  AddBertHead(config, hidden, builder);
  return builder.Build();
}

}  // namespace planwright
