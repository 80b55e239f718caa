// DenseNet-121 (Huang, Liu, van der Maaten, Weinberger: Densely Connected Convolutional Networks, 2017).
#ifndef PLANWRIGHT_CORE_ZOO_MODELS_DENSENET_H_
#define PLANWRIGHT_CORE_ZOO_MODELS_DENSENET_H_

#include <array>
#include <string>

#include "core/model/graph.h"
#include "core/zoo/keys/keys.h"
#include "core/zoo/models/convnet.h"

namespace planwright {

struct DenseNetConfig {
  // Dense layers of the four blocks.
  std::array<int, 4> layers = {6, 12, 24, 16};
  // Channels that a dense layer adds.
  int64_t growth = 32;
  ImageBatch batch = {};
};

ZooKeys KeysOf(DenseNetConfig& config);

// One operator per tensor operation. A dense layer appends its channels to a copy of all before. Layers are labelled
// "stem.conv", "stem.norm", "stem.relu", "stem.pool", "block1.0", ..., "block4.15", "transition1", ..., "transition3",
// "head.norm", "head.pool", "head.classifier".
OperatorGraph MakeModel(const std::string& display_name, const DenseNetConfig& config);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_MODELS_DENSENET_H_
