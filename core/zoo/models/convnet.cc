#include "core/zoo/models/convnet.h"

namespace planwright {
namespace {

constexpr int64_t kSmallestImage = 32;

ZooKeys KeysOf(ImageBatch& batch) {
  ZooKeys keys;
  AddImageKeys(kSmallestImage, batch, keys);
  return keys;
}

struct VggBlock {
  int convolutions = 0;
  int64_t channels = 0;
};
constexpr std::array<VggBlock, 5> kVggBlocks = {{{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}}};

Value AddVggBlock(Value x, const VggBlock& block, GraphBuilder& builder) {
  for (int i = 1; i <= block.convolutions; ++i) {
    const std::string number = std::to_string(i);
    x = builder.Conv2d("conv" + number, x, {.output_channels = block.channels, .kernel = 3, .bias = true});
    x = builder.Relu("relu" + number, x);
  }
  return builder.MaxPool("pool", x, {.kernel = 2, .stride = 2});
}

void AddVggHead(const Value& x, int64_t classes, GraphBuilder& builder) {
  constexpr int64_t kPixels = 7;
  constexpr int64_t kWidth = 4'096;
  const Value pooled = builder.AdaptiveAveragePool("pool", x, kPixels);
  Value y = pooled.Reshaped({pooled.shape[0], NumElements(pooled.shape) / pooled.shape[0]});
  for (const char* number : {"1", "2"}) {
    y = builder.Relu(std::string("relu") + number, builder.Linear(std::string("linear") + number, y, kWidth));
    y = builder.Dropout(std::string("dropout") + number, y);
  }
  builder.CrossEntropyLoss("loss", builder.Linear("classifier", y, classes));
}

constexpr int64_t kFirstResNetWidth = 64;
// How much wider a block's output is than its middle.
constexpr int64_t kExpansion = 4;

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

// The head of ResNet and DenseNet.
void AddPooledHead(const Value& x, int64_t classes, GraphBuilder& builder) {
  builder.EnterLayer("head.pool");
  const Value features = builder.GlobalAveragePool("pool", x);
  builder.EnterLayer("head.classifier");
  builder.CrossEntropyLoss("loss", builder.Linear("classifier", features, classes));
}

// Channels between the two convolutions of a dense layer, in terms of its growth.
constexpr int64_t kBottleneck = 4;

Value AddDenseLayer(const Value& x, int64_t growth, GraphBuilder& builder) {
  Value y = builder.Relu("relu1", builder.BatchNorm("norm1", x));
  y = builder.Conv2d("conv1", y, {.output_channels = kBottleneck * growth});
  y = builder.Relu("relu2", builder.BatchNorm("norm2", y));
  y = builder.Conv2d("conv2", y, {.output_channels = growth, .kernel = 3});
  return builder.Concat("concat", {x, y}, 1);
}

// Halves channels and image.
Value AddTransition(const Value& x, GraphBuilder& builder) {
  const Value y = builder.Relu("relu", builder.BatchNorm("norm", x));
  const Value narrow = builder.Conv2d("conv", y, {.output_channels = x.shape[1] / 2});
  return builder.AveragePool("pool", narrow, {.kernel = 2, .stride = 2});
}

void AddDenseNetHead(const Value& x, int64_t classes, GraphBuilder& builder) {
  builder.EnterLayer("head.norm");
  AddPooledHead(builder.Relu("relu", builder.BatchNorm("norm", x)), classes, builder);
}

}  // namespace

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

ZooKeys KeysOf(VggConfig& config) { return KeysOf(config.batch); }

OperatorGraph MakeModel(const std::string& display_name, const VggConfig& config) {
  GraphBuilder builder(display_name, config.batch.images, config.batch.bytes_per_element);
  builder.EnterLayer("block1");
  Value x = AddImages(config.batch, builder);
  for (std::size_t block = 0; block < kVggBlocks.size(); ++block) {
    builder.EnterLayer("block" + std::to_string(block + 1));
    x = AddVggBlock(x, kVggBlocks[block], builder);
  }
  builder.EnterLayer("head");
  AddVggHead(x, config.batch.classes, builder);
  return builder.Build();
}

ZooKeys KeysOf(ResNetConfig& config) { return KeysOf(config.batch); }

std::array<Value, 4> AddResNetFeatures(const ResNetConfig& config, GraphBuilder& builder) {
  std::array<Value, 4> features;
  Value x = AddLargeStem(config.batch, kFirstResNetWidth, builder);
  int64_t width = kFirstResNetWidth;
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
  AddPooledHead(AddResNetFeatures(config, builder).back(), config.batch.classes, builder);
  return builder.Build();
}

ZooKeys KeysOf(DenseNetConfig& config) { return KeysOf(config.batch); }

OperatorGraph MakeModel(const std::string& display_name, const DenseNetConfig& config) {
  GraphBuilder builder(display_name, config.batch.images, config.batch.bytes_per_element);
  Value x = AddLargeStem(config.batch, 2 * config.growth, builder);
  for (std::size_t block = 0; block < config.layers.size(); ++block) {
    const std::string number = std::to_string(block + 1);
    for (int layer = 0; layer < config.layers[block]; ++layer) {
      builder.EnterLayer("block" + number + "." + std::to_string(layer));
      x = AddDenseLayer(x, config.growth, builder);
    }
    if (block + 1 == config.layers.size()) break;
    builder.EnterLayer("transition" + number);
    x = AddTransition(x, builder);
  }
  AddDenseNetHead(x, config.batch.classes, builder);
  return builder.Build();
}

}  // namespace planwright
