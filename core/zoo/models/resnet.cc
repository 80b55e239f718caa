#include "core/zoo/models/resnet.h"

#include <string>
#include <string_view>

namespace planwright {
namespace {

constexpr int64_t kFirstWidth = 64;
// How much wider a block's output is than its middle.
constexpr int64_t kExpansion = 4;
constexpr int64_t kSmallestResNetImage = 32;

Value AddConvNorm(std::string_view suffix, const Value& x, const Convolution& convolution, GraphBuilder& builder) {
  const Value convolved = builder.Conv2d("conv" + std::string(suffix), x, convolution);
  return builder.BatchNorm("norm" + std::string(suffix), convolved);
}

// 1 x 1, 3 x 3 and 1 x 1 convolutions beside a shortcut, which needs a convolution where the shape changes.
Value AddBottleneck(const Value& x, int64_t width, int64_t stride, GraphBuilder& builder) {
  const int64_t output_channels = kExpansion * width;
  Value y = builder.Relu("relu1", AddConvNorm("1", x, {.output_channels = width}, builder));
  y = AddConvNorm("2", y, {.output_channels = width, .kernel = 3, .stride = stride}, builder);
  y = AddConvNorm("3", builder.Relu("relu2", y), {.output_channels = output_channels}, builder);
  const Value shortcut =
      x.shape == y.shape ? x
                         : AddConvNorm("_shortcut", x, {.output_channels = output_channels, .stride = stride}, builder);
  return builder.Relu("relu3", builder.Add("add", {y, shortcut}));
}

void AddResNetHead(const ImageBatch& batch, const Value& x, GraphBuilder& builder) {
  builder.EnterLayer("head.pool");
  const Value features = builder.GlobalAveragePool("pool", x);
  builder.EnterLayer("head.classifier");
  builder.CrossEntropyLoss("loss", builder.Linear("classifier", features, batch.classes));
}

}  // namespace

ZooKeys KeysOf(ResNetConfig& config) {
  ZooKeys keys;
  AddImageKeys(kSmallestResNetImage, config.batch, keys);
  return keys;
}

std::array<Value, 4> AddResNetFeatures(const ResNetConfig& config, GraphBuilder& builder) {
  std::array<Value, 4> features;
  Value x = AddLargeStem(config.batch, kFirstWidth, builder);
  int64_t width = kFirstWidth;
  for (std::size_t layer = 0; layer < config.blocks.size(); ++layer, width *= 2) {
    for (int block = 0; block < config.blocks[layer]; ++block) {
      builder.EnterLayer("layer" + std::to_string(layer + 1) + "." + std::to_string(block));
      x = AddBottleneck(x, width, layer > 0 && block == 0 ? 2 : 1, builder);
    }
    features[layer] = x;
  }
  return features;
}

OperatorGraph MakeModel(const std::string& display_name, const ResNetConfig& config) {
  GraphBuilder builder(display_name, config.batch.images, config.batch.bytes_per_element);
  AddResNetHead(config.batch, AddResNetFeatures(config, builder).back(), builder);
  return builder.Build();
}

}  // namespace planwright
