// Models of language.
#ifndef PLANWRIGHT_CORE_ZOO_MODELS_LANGUAGE_MODELS_H_
#define PLANWRIGHT_CORE_ZOO_MODELS_LANGUAGE_MODELS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "core/model/graph.h"
#include "core/model/transformer_shape.h"
#include "core/zoo/keys/keys.h"

namespace planwright {

// BERT (Devlin, Chang, Lee, Toutanova: BERT: Pre-training of Deep Bidirectional Transformers for Language
// Understanding, 2019), with its sentence-classification head.
struct BertConfig {
  int64_t layers = 0;
  int64_t hidden = 0;
  // Divides `hidden`.
  int64_t heads = 0;
  // The released checkpoints (uncased).
  int64_t vocabulary = 30'522;
  int64_t positions = 512;
  int64_t token_types = 2;
  int64_t classes = 2;
  // One micro-batch.
  int64_t sequences = 8;
  // <= positions.
  int64_t tokens = 512;
  int64_t bytes_per_element = 2;
};

// Keys "sequence", "micro_batch" and "dtype".
ZooKeys KeysOf(BertConfig& config);

// One operator per tensor operation of the reference implementation, training dropout included; reshapes and
// transposes cost nothing and are left out. Layers are labelled "embeddings", "encoder.0", ..., "head".
// 17 operators + 19 per encoder layer.
OperatorGraph MakeModel(const std::string& display_name, const BertConfig& config);

// GNMT (Wu et al.: Google's Neural Machine Translation System, 2016) in the form of NVIDIA's and MLPerf's GNMT v2: the
// first encoder layer goes in both directions, attention (Bahdanau, Cho, Bengio 2015) follows the first decoder layer
// and feeds all later ones, residual connections start at the third layer of either; source and target share one
// embedding table.
struct GnmtConfig {
  // LSTM layers of the encoder, and as many of the decoder. v2 has 4, the paper 8.
  int64_t layers = 4;
  int64_t hidden = 1'024;
  int64_t vocabulary = 31'794;
  // Tokens of the source, and as many of the target.
  int64_t tokens = 50;
  // One micro-batch.
  int64_t sentence_pairs = 64;
  int64_t bytes_per_element = 2;
};

ZooKeys KeysOf(GnmtConfig& config);

// One operator per tensor operation; an LSTM layer is one operator over all time steps. Layers are labelled
// "source_embedding", "encoder.0", ..., "target_embedding", "decoder.0", ..., "head". The table counts at the source.
OperatorGraph MakeModel(const std::string& display_name, const GnmtConfig& config);

// Decoder-only language models: GPT (Radford et al. 2019; Brown et al. 2020), Llama (Touvron et al. 2023), and such
// with a mixture of experts or latent attention (DeepSeek-AI 2024, DeepSeek-V2).
struct TransformerConfig {
  // kGpt: learned positions, LayerNorm, biases, GELU, dropout. kLlama: rotary positions, RMSNorm, SwiGLU, no biases, no
  // dropout.
  enum class Kind { kGpt, kLlama };
  // kFused: one operator that never stores the scores. kUnfused: one operator per tensor operation.
  enum class AttentionForm { kFused, kUnfused };

  Kind kind = Kind::kGpt;
  int64_t layers = 12;
  int64_t hidden = 768;
  // Divides `hidden` unless `head_width` is set.
  int64_t heads = 12;
  // Heads of keys and values, each shared by heads / kv_heads (Ainslie et al., GQA, 2023). Divides `heads`; unset: as
  // many as `heads`.
  std::optional<int64_t> kv_heads = std::nullopt;
  // Width of the feed-forward part; unset: 4 x hidden.
  std::optional<int64_t> feed_forward = std::nullopt;
  int64_t vocabulary = 50'257;
  // Tokens of a sequence; the table of learned positions has as many rows.
  int64_t tokens = 2'048;
  // One micro-batch.
  int64_t sequences = 1;
  int64_t bytes_per_element = 2;
  // The head multiplies with the embedding table, of which it holds a copy.
  bool tied = false;
  AttentionForm attention = AttentionForm::kFused;
  // Width of a head; unset: hidden / heads.
  std::optional<int64_t> head_width = std::nullopt;
  // RMSNorm of the queries and keys of each head (Qwen3).
  bool head_norm = false;

  // Mixture of experts; 0 experts: every layer is dense. The first `dense_layers` are.
  int64_t experts = 0;
  int64_t experts_per_token = 1;
  // Width of one expert; unset: that of the feed-forward part.
  std::optional<int64_t> expert_feed_forward = std::nullopt;
  // Experts that every token visits.
  int64_t shared_experts = 0;
  int64_t dense_layers = 0;

  // Latent attention; `kv_rank` 0: there is none. Queries, and keys with values, are products of two narrow matrices
  // (`query_rank` 0: of one); heads have `head_width` without and `rope_width` with rotary positions, which their keys
  // share, and values of `value_width` (unset: `head_width`).
  int64_t query_rank = 0;
  int64_t kv_rank = 0;
  int64_t rope_width = 0;
  std::optional<int64_t> value_width = std::nullopt;

  // The shape says that matrix products run in 8 bits; the graph is the same.
  bool eight_bit_products = false;
  // Work of the most loaded expert rank in that of all on average; of the shape alone.
  double expert_load = 1;
};

ZooKeys KeysOf(TransformerConfig& config);

// What must hold between keys. Errors: INVALID_ARGUMENT whose message starts with `subject`.
absl::Status CheckConfig(const std::string& subject, const TransformerConfig& config);

// Layers are labelled "embedding", "layer.0", ..., "head" (final norm and product with the vocabulary) and "loss". With
// fused attention a layer has 14 operators for GPT and 16 for Llama; unfused, 18 and 19. All experts of a layer are one
// operator for each of their products.
// REQUIRES: CheckConfig.
OperatorGraph MakeModel(const std::string& display_name, const TransformerConfig& config);

// The model of the configuration as a shape. REQUIRES: CheckConfig.
TransformerShape ShapeOf(const TransformerConfig& config);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_MODELS_LANGUAGE_MODELS_H_
