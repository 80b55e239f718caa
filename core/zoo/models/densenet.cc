#include "core/zoo/models/densenet.h"

#include <string>

#include "core/zoo/models/graph_builder.h"

namespace planwright {
namespace {

constexpr int64_t kSmallestDenseNetImage = 32;
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
  const Value y = builder.Relu("relu", builder.BatchNorm("norm", x));
  builder.EnterLayer("head.pool");
  const Value features = builder.GlobalAveragePool("pool", y);
  builder.EnterLayer("head.classifier");
  builder.CrossEntropyLoss("loss", builder.Linear("classifier", features, classes));
}

}  // namespace

ZooKeys KeysOf(DenseNetConfig& config) {
  ZooKeys keys;
  AddImageKeys(kSmallestDenseNetImage, config.batch, keys);
  return keys;
}

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
