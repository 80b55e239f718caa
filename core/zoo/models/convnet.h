// What the networks of the zoo that see images have in common: one micro-batch of RGB images, mostly square.
#ifndef PLANWRIGHT_CORE_ZOO_MODELS_CONVNET_H_
#define PLANWRIGHT_CORE_ZOO_MODELS_CONVNET_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/zoo/keys/keys.h"
#include "core/zoo/models/graph_builder.h"

namespace planwright {

// With the largest network and image, tensors stay below 2^50 bytes.
inline constexpr int64_t kMaxImages = 65'536;
inline constexpr int64_t kMaxImageSize = 4'096;

struct ImageBatch {
  int64_t classes = 1'000;
  int64_t images = 32;
  // Height and width; the width only where it differs.
  int64_t image_size = 224;
  std::optional<int64_t> image_width = std::nullopt;
  int64_t bytes_per_element = 2;
};

// Keys "batch", "image" (from `smallest_image`, below which the network has no pixels left) and "dtype".
void AddImageKeys(int64_t smallest_image, ImageBatch& batch, ZooKeys& keys);

// The images, [images, 3, height, width].
Value AddImages(const ImageBatch& batch, GraphBuilder& builder);

// A convolution without bias, batch normalisation and ReLU, called "{prefix}conv", "{prefix}norm" and "{prefix}relu".
Value AddConvNormRelu(std::string_view prefix, const Value& x, const Convolution& convolution, GraphBuilder& builder);

// The stem of ResNet and DenseNet: the images, a 7 x 7 convolution with stride 2, its normalisation, its ReLU and a
// maximum pooling, in the layers "stem.conv", "stem.norm", "stem.relu" and "stem.pool".
Value AddLargeStem(const ImageBatch& batch, int64_t channels, GraphBuilder& builder);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_MODELS_CONVNET_H_
