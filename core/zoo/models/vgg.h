// VGG-16, configuration D (Simonyan, Zisserman: Very Deep Convolutional Networks for Large-Scale Image Recognition,
// 2015).
#ifndef PLANWRIGHT_CORE_ZOO_MODELS_VGG_H_
#define PLANWRIGHT_CORE_ZOO_MODELS_VGG_H_

#include <string>

#include "core/model/graph.h"
#include "core/zoo/keys/keys.h"
#include "core/zoo/models/convnet.h"

namespace planwright {

struct VggConfig {
  ImageBatch batch = {};
};

ZooKeys KeysOf(VggConfig& config);

// One operator per tensor operation. Layers are labelled "block1", ..., "block5", "head". 41 operators. Images of other
// sizes than 224 are pooled to 7 x 7 before the head, as in torchvision.
OperatorGraph MakeModel(const std::string& display_name, const VggConfig& config);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_MODELS_VGG_H_
