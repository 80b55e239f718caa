#include "core/zoo/models/vgg.h"

#include <array>
#include <string>

#include "core/zoo/models/graph_builder.h"

namespace planwright {
namespace {

constexpr int64_t kSmallestVggImage = 32;

struct Block {
  int convolutions = 0;
  int64_t channels = 0;
};
constexpr std::array<Block, 5> kBlocks = {{{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}}};

Value AddBlock(Value x, const Block& block, GraphBuilder& builder) {
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

}  // namespace

ZooKeys KeysOf(VggConfig& config) {
  ZooKeys keys;
  AddImageKeys(kSmallestVggImage, config.batch, keys);
  return keys;
}

OperatorGraph MakeModel(const std::string& display_name, const VggConfig& config) {
  GraphBuilder builder(display_name, config.batch.images, config.batch.bytes_per_element);
  builder.EnterLayer("block1");
  Value x = AddImages(config.batch, builder);
  for (std::size_t block = 0; block < kBlocks.size(); ++block) {
    builder.EnterLayer("block" + std::to_string(block + 1));
    x = AddBlock(x, kBlocks[block], builder);
  }
  builder.EnterLayer("head");
  AddVggHead(x, config.batch.classes, builder);
  return builder.Build();
}

}  // namespace planwright
