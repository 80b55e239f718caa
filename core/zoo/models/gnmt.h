// GNMT (Wu et al.: Google's Neural Machine Translation System, 2016) in the form of NVIDIA's and MLPerf's GNMT v2: the
// first encoder layer goes in both directions, attention (Bahdanau, Cho, Bengio 2015) follows the first decoder layer
// and feeds all later ones, residual connections start at the third layer of either; source and target share one
// embedding table.
#ifndef PLANWRIGHT_CORE_ZOO_MODELS_GNMT_H_
#define PLANWRIGHT_CORE_ZOO_MODELS_GNMT_H_

#include <cstdint>
#include <string>

#include "core/model/graph.h"
#include "core/zoo/keys/keys.h"

namespace planwright {

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

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_MODELS_GNMT_H_
