#include "core/zoo/convnet.h"

#include <string>

namespace planwright {

void AddImageKeys(int64_t smallest_image, ImageBatch& batch, ZooKeys& keys) {
  // With the largest network and image, tensors stay below 2^50 bytes.
  constexpr int64_t kMaxImages = 65'536;
  constexpr int64_t kMaxImageSize = 4'096;
  keys.AddWhole("batch", 1, kMaxImages, batch.images);
  keys.AddWhole("image", smallest_image, kMaxImageSize, batch.image_size);
  AddDtypeKey(batch.bytes_per_element, keys);
}

Value AddImages(const ImageBatch& batch, GraphBuilder& builder) {
  return builder.Input("images", {batch.images, 3, batch.image_size, batch.image_size}, batch.bytes_per_element);
}

Value AddConvNormRelu(std::string_view prefix, const Value& x, const Convolution& convolution, GraphBuilder& builder) {
  const std::string start(prefix);
  const Value convolved = builder.Conv2d(start + "conv", x, convolution);
  return builder.Relu(start + "relu", builder.BatchNorm(start + "norm", convolved));
}

}  // namespace planwright
