// What the layers of a language model consist of: parameters, products of matrices, memory traffic and what they keep
// for the backward pass, on one rank of a tensor and expert degree (docs/training-costs.md, sections 2 and 5).
#ifndef PLANWRIGHT_CORE_JOINT_COST_TRANSFORMER_PARTS_H_
#define PLANWRIGHT_CORE_JOINT_COST_TRANSFORMER_PARTS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "core/model/joint.h"
#include "core/model/transformer_shape.h"

namespace planwright {

// The head is the final norm, the product with the vocabulary and the loss.
enum LayerKind : int32_t { kEmbeddingLayer, kDenseLayer, kExpertLayer, kHeadLayer };
inline constexpr std::array kLayerKinds = {kEmbeddingLayer, kDenseLayer, kExpertLayer, kHeadLayer};

inline bool HasAttention(LayerKind kind) { return kind == kDenseLayer || kind == kExpertLayer; }

// By how they are divided.
struct LayerParameters {
  // Among tensor ranks.
  double divided = 0;
  double replicated = 0;
  // Among tensor and expert ranks.
  double experts = 0;

  double total() const { return divided + replicated + experts; }
};

LayerParameters ParametersOf(const TransformerShape& shape, LayerKind kind);

// Parameters of the whole model; of a tied embedding once.
double ParameterCount(const TransformerShape& shape);

// `copies` products of matrices rows x inner and inner x columns.
struct MatrixProduct {
  double rows = 0;
  double inner = 0;
  double columns = 0;
  double copies = 1;
  // Never in 8 bits.
  bool keeps_sixteen_bits = false;

  double flops() const { return 2 * rows * inner * columns * copies; }
};

// The products of the forward pass, without attention, on one rank that has `tokens` of its part of the sequence.
std::vector<MatrixProduct> ProductsOf(const TransformerShape& shape, LayerKind kind, const Degrees& degrees,
                                      double tokens);

// Scores and weighted sums of one token in the forward pass, all heads; half of the square is causal.
double AttentionFlopsPerToken(const TransformerShape& shape);

// Model FLOPs of one token in the forward pass, whole, with causal attention.
double ForwardFlopsPerToken(const TransformerShape& shape, LayerKind kind);

// Bytes of a token: what tensor ranks divide among themselves, and what only sequence parallelism divides.
struct TokenBytes {
  double divided = 0;
  double sequence = 0;
};

// Moved by all kernels but products and attention, in the forward pass; twice that backward.
TokenBytes TrafficOf(const TransformerShape& shape, LayerKind kind);
// The scores of attention that stores them (softmax and dropout): forward and backward.
double ScoreTrafficPerToken(const TransformerShape& shape, bool backward);

// Kept for the backward pass, without scores (Korthikanti et al. 2022, section 4: 34 bytes per hidden element of GPT).
TokenBytes KeptOf(const TransformerShape& shape, LayerKind kind);
// Kept between the gradients of inputs and those of weights: inputs of all products and gradients of their outputs (Qi
// et al. 2023, table 1: 32 bytes per hidden element of GPT).
double KeptForWeightsOf(const TransformerShape& shape, LayerKind kind);
// Scores that are stored, with their mask.
double KeptScoresPerToken(const TransformerShape& shape);

// Elements of a token that enter attention from all tensor ranks: the hidden state, or the latent vectors.
double GatheredWidth(const TransformerShape& shape);
// Keys and values of a token on one tensor rank, as they go around the ring of context ranks.
double KeyValueWidth(const TransformerShape& shape, int32_t tensor);

// Kernels started in the forward pass.
double KernelsOf(const TransformerShape& shape, LayerKind kind);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_COST_TRANSFORMER_PARTS_H_
