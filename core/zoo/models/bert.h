// BERT (Devlin, Chang, Lee, Toutanova: BERT: Pre-training of Deep Bidirectional Transformers for Language
// Understanding, 2019), with its sentence-classification head.
#ifndef PLANWRIGHT_CORE_ZOO_MODELS_BERT_H_
#define PLANWRIGHT_CORE_ZOO_MODELS_BERT_H_

#include <cstdint>
#include <string>

#include "core/model/graph.h"
#include "core/zoo/keys/keys.h"

namespace planwright {

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

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_MODELS_BERT_H_
