#include "core/joint/cost/transformer_parts.h"

namespace planwright {
namespace {

double D(int64_t value) { return static_cast<double>(value); }

// Widths of a layer, in elements of one token.
struct Widths {
  explicit Widths(const TransformerShape& shape)
      : hidden(D(shape.hidden)),
        queries(shape.heads * D(shape.head_width + shape.rope_width)),
        keys(shape.has_latent_attention() ? queries : shape.kv_heads * D(shape.head_width)),
        values(shape.has_latent_attention() ? shape.heads * D(shape.value_width) : keys),
        context(shape.heads * D(shape.has_latent_attention() ? shape.value_width : shape.head_width)) {}

  double hidden;
  double queries;
  double keys;
  double values;
  // What attention makes.
  double context;
};

// Matrices of a gated part read its input twice.
double Inputs(const TransformerShape& shape) { return shape.gated ? 2 : 1; }

double DenseWidth(const TransformerShape& shape, LayerKind kind) {
  return kind == kExpertLayer ? shape.shared_experts * D(shape.expert_feed_forward) : D(shape.feed_forward);
}

// Keys and values without positions come from one matrix behind the latent vector.
double LatentOutputs(const TransformerShape& shape) { return shape.heads * D(shape.head_width + shape.value_width); }

void AddAttentionParameters(const TransformerShape& shape, LayerParameters& parameters) {
  const Widths widths(shape);
  parameters.divided += widths.context * widths.hidden;
  if (!shape.has_latent_attention()) {
    parameters.divided += widths.hidden * (widths.queries + widths.keys + widths.values);
    return;
  }
  const double query_rank = D(shape.query_rank);
  parameters.replicated += widths.hidden * (query_rank + D(shape.kv_rank + shape.rope_width));
  parameters.divided += (query_rank > 0 ? query_rank : widths.hidden) * widths.queries;
  parameters.divided += D(shape.kv_rank) * LatentOutputs(shape);
}

void AddAttentionProducts(const TransformerShape& shape, double tensor, double tokens,
                          std::vector<MatrixProduct>& products) {
  const Widths widths(shape);
  if (shape.has_latent_attention()) {
    // Each tensor rank has its part of the sequence when it makes the latent vectors.
    const double own = tokens / tensor;
    products.push_back({own, widths.hidden, D(shape.kv_rank + shape.rope_width)});
    products.push_back({tokens, D(shape.kv_rank), LatentOutputs(shape) / tensor});
    if (shape.query_rank > 0) products.push_back({own, widths.hidden, D(shape.query_rank)});
    const double inner = shape.query_rank > 0 ? D(shape.query_rank) : widths.hidden;
    products.push_back({tokens, inner, widths.queries / tensor});
  } else {
    products.push_back({tokens, widths.hidden, (widths.queries + widths.keys + widths.values) / tensor});
  }
  products.push_back({tokens, widths.context / tensor, widths.hidden});
}

void AddFeedForwardProducts(const TransformerShape& shape, const MatrixProduct& first,
                            std::vector<MatrixProduct>& products) {
  if (first.columns <= 0) return;
  products.push_back({first.rows, first.inner, Inputs(shape) * first.columns, first.copies});
  products.push_back({first.rows, first.columns, first.inner, first.copies});
}

}  // namespace

LayerParameters ParametersOf(const TransformerShape& shape, LayerKind kind) {
  const double hidden = D(shape.hidden);
  const double table = D(shape.vocabulary) * hidden;
  if (kind == kEmbeddingLayer) return {table, shape.learned_positions ? D(shape.sequence) * hidden : 0, 0};
  if (kind == kHeadLayer) return {table, 2 * hidden, 0};
  LayerParameters parameters{.divided = (1 + Inputs(shape)) * hidden * DenseWidth(shape, kind),
                             .replicated = 4 * hidden};
  AddAttentionParameters(shape, parameters);
  if (kind == kExpertLayer) {
    parameters.replicated += shape.experts * hidden;
    parameters.experts = shape.experts * (1 + Inputs(shape)) * hidden * D(shape.expert_feed_forward);
  }
  return parameters;
}

double ParameterCount(const TransformerShape& shape) {
  const int32_t dense = shape.has_experts() ? shape.dense_layers : shape.layers;
  return ParametersOf(shape, kEmbeddingLayer).total() + dense * ParametersOf(shape, kDenseLayer).total() +
         (shape.layers - dense) * ParametersOf(shape, kExpertLayer).total() +
         (shape.tied ? 0 : ParametersOf(shape, kHeadLayer).total());
}

std::vector<MatrixProduct> ProductsOf(const TransformerShape& shape, LayerKind kind, const Degrees& degrees,
                                      double tokens) {
  const double hidden = D(shape.hidden);
  const double tensor = degrees.tensor;
  if (kind == kEmbeddingLayer) return {};
  if (kind == kHeadLayer) return {{tokens, hidden, D(shape.vocabulary) / tensor}};
  std::vector<MatrixProduct> products;
  AddAttentionProducts(shape, tensor, tokens, products);
  AddFeedForwardProducts(shape, {tokens, hidden, DenseWidth(shape, kind) / tensor}, products);
  if (kind != kExpertLayer || !shape.has_experts()) return products;
  products.push_back({tokens / tensor, hidden, D(shape.experts), 1, /*keeps_sixteen_bits=*/true});
  // The tokens of all expert ranks meet at the experts of each; the most loaded rank is waited for.
  const double local = D(shape.experts) / degrees.expert;
  const double rows = tokens * shape.experts_per_token * shape.expert_load / local;
  AddFeedForwardProducts(shape, {rows, hidden, D(shape.expert_feed_forward) / tensor, local}, products);
  return products;
}

double AttentionFlopsPerToken(const TransformerShape& shape) {
  const Widths widths(shape);
  return (widths.queries + widths.context) * D(shape.sequence);
}

double ForwardFlopsPerToken(const TransformerShape& shape, LayerKind kind) {
  if (kind == kEmbeddingLayer) return 0;
  if (kind == kHeadLayer) return 2 * D(shape.vocabulary) * D(shape.hidden);
  const LayerParameters parameters = ParametersOf(shape, kind);
  const double norms = 4 * D(shape.hidden);
  const double visited = shape.has_experts() ? parameters.experts * shape.experts_per_token / shape.experts : 0;
  return 2 * (parameters.divided + parameters.replicated - norms + visited) + AttentionFlopsPerToken(shape);
}

TokenBytes TrafficOf(const TransformerShape& shape, LayerKind kind) {
  const double element = shape.bytes_per_element;
  const Widths widths(shape);
  if (kind == kEmbeddingLayer) return {0, 2 * element * widths.hidden};
  // Logits become 32 bits, are read for their maximum, and written and read as exponentials.
  if (kind == kHeadLayer) return {(element + 4 * 4) * D(shape.vocabulary), 2 * element * widths.hidden};
  // Two norms read and write; two sums read twice and write; each with what dropout adds.
  TokenBytes bytes{.divided = 0, .sequence = (10 * element + (shape.dropout ? 2 : 0)) * widths.hidden};
  // Rotary positions of queries and keys.
  if (!shape.learned_positions) bytes.divided += 2 * element * (widths.queries + widths.keys);
  const double between = shape.gated ? 3 : 2;
  bytes.divided += between * element * DenseWidth(shape, kind);
  if (kind != kExpertLayer) return bytes;
  const double copies = shape.experts_per_token;
  // Rows are copied on the way to their experts and on the way back, at either end of the exchange.
  bytes.divided += 8 * element * copies * widths.hidden + between * element * copies * D(shape.expert_feed_forward);
  return bytes;
}

double ScoreTrafficPerToken(const TransformerShape& shape, bool backward) {
  if (!shape.stores_scores) return 0;
  const double element = shape.bytes_per_element;
  const double softmax = (backward ? 3 : 2) * element;
  const double dropout = shape.dropout ? 2 * element + 1 : 0;
  return (softmax + dropout) * shape.heads * D(shape.sequence);
}

TokenBytes KeptOf(const TransformerShape& shape, LayerKind kind) {
  const double element = shape.bytes_per_element;
  const Widths widths(shape);
  if (kind == kEmbeddingLayer) return {0, shape.dropout ? widths.hidden : 0};
  if (kind == kHeadLayer) return {0, 2 * element * widths.hidden};
  // Inputs of two norms and of what follows them, and two masks.
  TokenBytes bytes{.divided = element * (widths.queries + widths.keys + widths.values + widths.context),
                   .sequence = (4 * element + (shape.dropout ? 2 : 0)) * widths.hidden};
  bytes.sequence += element * D(shape.query_rank + shape.kv_rank);
  const double between = shape.gated ? 3 : 2;
  bytes.divided += element * between * DenseWidth(shape, kind);
  if (kind == kExpertLayer) {
    bytes.divided += element * shape.experts_per_token * (widths.hidden + between * D(shape.expert_feed_forward));
  }
  return bytes;
}

double KeptForWeightsOf(const TransformerShape& shape, LayerKind kind) {
  const double element = shape.bytes_per_element;
  const Widths widths(shape);
  if (kind == kEmbeddingLayer) return 0;
  if (kind == kHeadLayer) return element * (widths.hidden + D(shape.vocabulary));
  // What enters attention, its products' gradients, its result, and the projection's gradient.
  double elements = 2 * widths.hidden + widths.context + widths.queries;
  if (shape.has_latent_attention()) {
    elements += 2 * D(shape.query_rank + shape.kv_rank) + D(shape.rope_width) + LatentOutputs(shape);
  } else {
    elements += widths.keys + widths.values;
  }
  // What enters the feed-forward part; of each width the gradients of what goes in and what comes out.
  const double dense = DenseWidth(shape, kind);
  elements += widths.hidden + (1 + Inputs(shape)) * dense + (dense > 0 ? widths.hidden : 0);
  if (kind == kExpertLayer) {
    const double row = 2 * widths.hidden + (1 + Inputs(shape)) * D(shape.expert_feed_forward);
    elements += shape.experts + shape.experts_per_token * row;
  }
  return element * elements;
}

double KeptScoresPerToken(const TransformerShape& shape) {
  if (!shape.stores_scores) return 0;
  const double element = shape.bytes_per_element;
  return (shape.dropout ? 2 * element + 1 : element) * shape.heads * D(shape.sequence);
}

double GatheredWidth(const TransformerShape& shape) {
  if (!shape.has_latent_attention()) return D(shape.hidden);
  const double queries = D(shape.query_rank > 0 ? shape.query_rank : shape.hidden);
  return queries + D(shape.kv_rank + shape.rope_width);
}

double KeyValueWidth(const TransformerShape& shape, int32_t tensor) {
  const Widths widths(shape);
  return (widths.keys + widths.values) / tensor;
}

double KernelsOf(const TransformerShape& shape, LayerKind kind) {
  switch (kind) {
    case kEmbeddingLayer:
      return 2;
    case kDenseLayer:
      return shape.stores_scores ? 40 : 24;
    case kExpertLayer:
      return shape.shared_experts > 0 ? 48 : 40;
    case kHeadLayer:
      return 8;
  }
  return 0;
}

}  // namespace planwright
