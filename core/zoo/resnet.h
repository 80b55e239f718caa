// ResNet-50 (He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition, 2016), in the form that trainers use,
// called v1.5: a block that halves the image does so in its 3 x 3 convolution, not in the 1 x 1 before it.
#ifndef PLANWRIGHT_CORE_ZOO_RESNET_H_
#define PLANWRIGHT_CORE_ZOO_RESNET_H_

#include <cstdint>

#include "core/model/graph.h"

namespace planwright {

struct ResNetConfig {
  int64_t classes = 1'000;
  // One micro-batch of square RGB images.
  int64_t images = 32;
  int64_t image_size = 224;
  int64_t bytes_per_element = 2;
};

// One operator per tensor operation. Layers are labelled "stem", "layer1.0", ..., "layer4.2", "head". 176 operators.
OperatorGraph MakeResNet50(const ResNetConfig& config);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_RESNET_H_
