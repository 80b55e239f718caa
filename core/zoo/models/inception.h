// Inception-v3 (Szegedy, Vanhoucke, Ioffe, Shlens, Wojna: Rethinking the Inception Architecture for Computer Vision,
// 2016) as torchvision builds it, with the auxiliary classifier that training uses, unless it is left out.
#ifndef PLANWRIGHT_CORE_ZOO_MODELS_INCEPTION_H_
#define PLANWRIGHT_CORE_ZOO_MODELS_INCEPTION_H_

#include <string>

#include "core/model/graph.h"
#include "core/zoo/keys/keys.h"
#include "core/zoo/models/convnet.h"

namespace planwright {

struct InceptionConfig {
  // With the auxiliary classifier. Without it the layers are a chain.
  bool auxiliary = true;
  ImageBatch batch = {.image_size = 299};
};

ZooKeys KeysOf(InceptionConfig& config);

// One operator per tensor operation. Layers are labelled "stem.0", ..., "stem.6" (convolutions with their normalisation
// and ReLU, and poolings), "mixed0", ..., "mixed10", "auxiliary", "head.pool", "head.classifier". The total loss is the
// main one plus 0.4 of the auxiliary one.
OperatorGraph MakeModel(const std::string& display_name, const InceptionConfig& config);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_MODELS_INCEPTION_H_
