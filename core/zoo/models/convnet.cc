#include "core/zoo/models/convnet.h"

#include <string>

namespace planwright {

void AddImageKeys(int64_t smallest_image, ImageBatch& batch, ZooKeys& keys) {
  keys.AddWhole("batch", 1, kMaxImages, batch.images);
  keys.AddWhole("image", smallest_image, kMaxImageSize, batch.image_size);
  AddDtypeKey(batch.bytes_per_element, keys);
}

Value AddImages(const ImageBatch& batch, GraphBuilder& builder) {
  const int64_t width = batch.image_width.value_or(batch.image_size);
  return builder.Input("images", {batch.images, 3, batch.image_size, width}, batch.bytes_per_element);
}

Value AddConvNormRelu(std::string_view prefix, const Value& x, const Convolution& convolution, GraphBuilder& builder) {
  const std::string start(prefix);
  const Value convolved = builder.Conv2d(start + "conv", x, convolution);
  return builder.Relu(start + "relu", builder.BatchNorm(start + "norm", convolved));
}

Value AddLargeStem(const ImageBatch& batch, int64_t channels, GraphBuilder& builder) {
  builder.EnterLayer("stem.conv");
  const Convolution convolution = {.output_channels = channels, .kernel = 7, .stride = 2};
  Value x = builder.Conv2d("conv", AddImages(batch, builder), convolution);
  builder.EnterLayer("stem.norm");
  x = builder.BatchNorm("norm", x);
  builder.EnterLayer("stem.relu");
  x = builder.Relu("relu", x);
  builder.EnterLayer("stem.pool");
  return builder.MaxPool("pool", x, {.kernel = 3, .stride = 2});
}

}  // namespace planwright
