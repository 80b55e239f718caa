// The shape of a decoder-only language model, from which the costs of its layers at any degrees of parallelism follow
// without a measurement (docs/training-costs.md; proto: graph.proto, Transformer). Plain values.
#ifndef PLANWRIGHT_CORE_MODEL_TRANSFORMER_SHAPE_H_
#define PLANWRIGHT_CORE_MODEL_TRANSFORMER_SHAPE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace planwright {

// What a profiler measured of a layer on one rank.
struct MeasuredLayer {
  // "embedding", "layer.0" and so on, "head"; "layer": every transformer layer without a row of its own.
  std::string layer;
  // Empty: every class.
  std::string device_class;
  int32_t tensor_degree = 1;
  int32_t context_degree = 1;
  int32_t expert_degree = 1;
  // What a micro-batch has on one rank of the data degree.
  int64_t samples = 1;
  // With the collectives of these degrees.
  double forward_ms = 0;
  double backward_ms = 0;
  // Kept where nothing is computed again; nullopt: as computed.
  std::optional<int64_t> activation_bytes;

  bool operator==(const MeasuredLayer&) const = default;
};

struct TransformerShape {
  // Transformer layers; the embedding before them and the head behind them are not counted.
  int32_t layers = 0;
  int64_t hidden = 0;
  int32_t heads = 0;
  // Divides `heads`; fewer than `heads`: grouped queries.
  int32_t kv_heads = 0;
  // Width of one head; heads x head_width need not be `hidden`.
  int64_t head_width = 0;
  // Width of a dense feed-forward part.
  int64_t feed_forward = 0;
  // Three products (SwiGLU) instead of two.
  bool gated = false;
  // Attention stores its scores instead of computing them again (before FlashAttention).
  bool stores_scores = false;
  // Masks of dropout are kept; GPT.
  bool dropout = false;
  // Rows of a table of learned positions are parameters; GPT.
  bool learned_positions = false;
  int64_t vocabulary = 0;
  // Tokens of one sample.
  int64_t sequence = 0;
  // The head multiplies with the embedding table: both ends of a pipeline hold it.
  bool tied = false;
  int32_t bytes_per_element = 2;
  // Matrix products run in 8 bits.
  bool eight_bit_products = false;

  // Mixture of experts; 0 experts: every layer is dense.
  int32_t experts = 0;
  int32_t experts_per_token = 0;
  int64_t expert_feed_forward = 0;
  // Experts that every token visits, of the same width.
  int32_t shared_experts = 0;
  // The first layers, which are dense although others have experts.
  int32_t dense_layers = 0;
  // Work of the most loaded expert rank in that of all on average; >= 1.
  double expert_load = 1;

  // Latent attention (DeepSeek-V2): ranks of the compressed queries and of keys and values, width of a head's part with
  // and without rotary position, and of its values; 0: ordinary attention.
  int64_t query_rank = 0;
  int64_t kv_rank = 0;
  int64_t rope_width = 0;
  int64_t value_width = 0;

  // Win over what is computed from the shape; each case once.
  std::vector<MeasuredLayer> measured_layers = {};

  bool has_experts() const { return experts > 0; }
  bool has_latent_attention() const { return kv_rank > 0; }
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MODEL_TRANSFORMER_SHAPE_H_
