#include <string>
#include <string_view>

#include "core/zoo/models/graph_builder.h"
#include "core/zoo/models/language_models.h"

namespace planwright {
namespace {

constexpr std::size_t kFeatures = 2;

Value AddEmbedding(std::string_view layer, const GnmtConfig& config, GraphBuilder& builder) {
  builder.EnterLayer(std::string(layer));
  const Value ids = builder.Input("ids", {config.sentence_pairs, config.tokens}, kBytesPerId);
  return builder.Embedding("table", ids, config.vocabulary, config.hidden);
}

Value AddEncoder(const GnmtConfig& config, GraphBuilder& builder) {
  Value x = AddEmbedding("source_embedding", config, builder);
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    builder.EnterLayer("encoder." + std::to_string(layer));
    const Value y = builder.Lstm("lstm", builder.Dropout("dropout", x), config.hidden, layer == 0 ? 2 : 1);
    x = layer < 2 ? y : builder.Add("add", {y, x});
  }
  return x;
}

// For each target position the mean of the encoder's outputs, weighted by how well they match the decoder's.
Value AddAttention(const Value& decoded, const Value& encoded, GraphBuilder& builder) {
  const int64_t hidden = decoded.shape.back();
  const Value query = builder.Linear("attention_query", decoded, hidden, Bias::kWithout);
  const Value key = builder.Linear("attention_key", encoded, hidden, Bias::kWithout);
  const Value weights = builder.Softmax("attention_weights", builder.AdditiveScores("attention_scores", query, key));
  return builder.MatMul("attention_context", weights, encoded);
}

Value AddDecoder(const GnmtConfig& config, const Value& encoded, GraphBuilder& builder) {
  Value x = AddEmbedding("target_embedding", config, builder);
  builder.ShareParameters();
  builder.EnterLayer("decoder.0");
  x = builder.Lstm("lstm", builder.Dropout("dropout", x), config.hidden, 1);
  const Value context = AddAttention(x, encoded, builder);
  for (int64_t layer = 1; layer < config.layers; ++layer) {
    builder.EnterLayer("decoder." + std::to_string(layer));
    const Value both = builder.Dropout("dropout", builder.Concat("concat", {x, context}, kFeatures));
    const Value y = builder.Lstm("lstm", both, config.hidden, 1);
    x = layer == 1 ? y : builder.Add("add", {y, x});
  }
  return x;
}

}  // namespace

ZooKeys KeysOf(GnmtConfig& config) {
  ZooKeys keys;
  // An attention over one layer alone has nothing to feed; 50,000 layers are 400,000 operators.
  keys.AddWhole("layers", 2, 50'000, config.layers);
  keys.AddWhole("hidden", 1, 65'536, config.hidden);
  keys.AddWhole("vocab", 1, 4'194'304, config.vocabulary);
  keys.AddWhole("sequence", 1, 65'536, config.tokens);
  keys.AddWhole("batch", 1, 65'536, config.sentence_pairs);
  AddDtypeKey(config.bytes_per_element, keys);
  return keys;
}

OperatorGraph MakeModel(const std::string& display_name, const GnmtConfig& config) {
  GraphBuilder builder(display_name, config.sentence_pairs, config.bytes_per_element);
  const Value encoded = AddEncoder(config, builder);
  const Value decoded = AddDecoder(config, encoded, builder);
  builder.EnterLayer("head");
  builder.CrossEntropyLoss("loss", builder.Linear("classifier", decoded, config.vocabulary));
  return builder.Build();
}

}  // namespace planwright
