// What the convolutional networks of the zoo have in common: one micro-batch of square RGB images.
#ifndef PLANWRIGHT_CORE_ZOO_CONVNET_H_
#define PLANWRIGHT_CORE_ZOO_CONVNET_H_

#include <cstdint>
#include <string_view>

#include "core/zoo/graph_builder.h"
#include "core/zoo/keys.h"

namespace planwright {

struct ImageBatch {
  int64_t classes = 1'000;
  int64_t images = 32;
  int64_t image_size = 224;
  int64_t bytes_per_element = 2;
};

// Keys "batch", "image" (from `smallest_image`, below which the network has no pixels left) and "dtype".
void AddImageKeys(int64_t smallest_image, ImageBatch& batch, ZooKeys& keys);

// The images, [images, 3, image_size, image_size].
Value AddImages(const ImageBatch& batch, GraphBuilder& builder);

// A convolution without bias, batch normalisation and ReLU, called "{prefix}conv", "{prefix}norm" and "{prefix}relu".
Value AddConvNormRelu(std::string_view prefix, const Value& x, const Convolution& convolution, GraphBuilder& builder);

// The stem of ResNet and DenseNet: the images, a 7 x 7 convolution with stride 2, its normalisation, its ReLU and a
// maximum pooling, in the layers "stem.conv", "stem.norm", "stem.relu" and "stem.pool".
Value AddLargeStem(const ImageBatch& batch, int64_t channels, GraphBuilder& builder);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_CONVNET_H_
