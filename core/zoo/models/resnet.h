// ResNet (He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition, 2016) of bottleneck blocks, in the form
// that trainers use, called v1.5: a block that halves the image does so in its 3 x 3 convolution, not in the 1 x 1
// before it.
#ifndef PLANWRIGHT_CORE_ZOO_MODELS_RESNET_H_
#define PLANWRIGHT_CORE_ZOO_MODELS_RESNET_H_

#include <array>
#include <string>

#include "core/model/graph.h"
#include "core/zoo/keys/keys.h"
#include "core/zoo/models/convnet.h"
#include "core/zoo/models/graph_builder.h"

namespace planwright {

struct ResNetConfig {
  // Blocks of the four layers; the default is ResNet-50.
  std::array<int, 4> blocks = {3, 4, 6, 3};
  ImageBatch batch = {};
};

ZooKeys KeysOf(ResNetConfig& config);

// The network up to its last block, as features for another head: the outputs of the four layers, each half as high and
// wide as the one before it, the first a quarter of the image.
std::array<Value, 4> AddResNetFeatures(const ResNetConfig& config, GraphBuilder& builder);

// One operator per tensor operation, 16 and 10 per block. Layers are labelled "stem.conv", "stem.norm", "stem.relu",
// "stem.pool", one for each block "layer1.0", ..., "layer4.2", and "head.pool", "head.classifier".
OperatorGraph MakeModel(const std::string& display_name, const ResNetConfig& config);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_MODELS_RESNET_H_
