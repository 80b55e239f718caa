#include <optional>
#include <string>
#include <vector>

#include "core/base/index.h"
#include "core/zoo/models/graph_builder.h"
#include "core/zoo/models/image_models.h"

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

// The 5 x 5 convolution of the auxiliary classifier needs 17 x 17 pixels before its pooling.
constexpr int64_t kSmallestInceptionImage = 299;
constexpr Pooling kHalving = {.kernel = 3, .stride = 2, .padded = false};

using Branch = std::vector<Convolution>;

// Square, the image's size kept.
Convolution Square(int64_t channels, int64_t kernel) { return {.output_channels = channels, .kernel = kernel}; }
// 3 x 3 without padding; stride 2 halves the image.
Convolution Valid(int64_t channels, int64_t stride) {
  return {.output_channels = channels, .kernel = 3, .stride = stride, .padded = false};
}
Convolution Row(int64_t channels, int64_t width) {
  return {.output_channels = channels, .kernel = 1, .kernel_width = width};
}
Convolution Column(int64_t channels, int64_t height) {
  return {.output_channels = channels, .kernel = height, .kernel_width = 1};
}

Value AddBranch(const std::string& name, Value x, const Branch& branch, GraphBuilder& builder) {
  for (std::size_t i = 0; i < branch.size(); ++i) {
    x = AddConvNormRelu(name + std::to_string(i) + "_", x, branch[i], builder);
  }
  return x;
}

std::vector<Value> AddBranches(const Value& x, const std::vector<Branch>& branches, GraphBuilder& builder) {
  return MappedNumbers(branches.size(), [&](std::size_t i) {
    return AddBranch("branch" + std::to_string(i) + "_", x, branches[i], builder);
  });
}

// Branches beside an average pooling with a 1 x 1 convolution: the image keeps its size.
Value AddMixed(const Value& x, const std::vector<Branch>& branches, int64_t pool_channels, GraphBuilder& builder) {
  std::vector<Value> outputs = AddBranches(x, branches, builder);
  const Value pooled = builder.AveragePool("pool", x, {.kernel = 3});
  outputs.push_back(AddConvNormRelu("pool_", pooled, Square(pool_channels, 1), builder));
  return builder.Concat("concat", outputs, 1);
}

// Branches with stride 2 beside a maximum pooling: the image is halved.
Value AddReduction(const Value& x, const std::vector<Branch>& branches, GraphBuilder& builder) {
  std::vector<Value> outputs = AddBranches(x, branches, builder);
  outputs.push_back(builder.MaxPool("pool", x, kHalving));
  return builder.Concat("concat", outputs, 1);
}

// As AddMixed, for the last blocks: two branches end in a 1 x 3 and a 3 x 1 convolution side by side.
Value AddWideMixed(const Value& x, GraphBuilder& builder) {
  constexpr int64_t kHalf = 384;
  std::vector<Value> outputs = {AddBranch("single", x, {Square(320, 1)}, builder)};
  const std::vector<Branch> stems = {{Square(kHalf, 1)}, {Square(448, 1), Square(kHalf, 3)}};
  for (const Value& stem : AddBranches(x, stems, builder)) {
    const std::string side = outputs.size() == 1 ? "branch0_" : "branch1_";
    outputs.push_back(AddConvNormRelu(side + "row_", stem, Row(kHalf, 3), builder));
    outputs.push_back(AddConvNormRelu(side + "column_", stem, Column(kHalf, 3), builder));
  }
  const Value pooled = builder.AveragePool("pool", x, {.kernel = 3});
  outputs.push_back(AddConvNormRelu("pool_", pooled, Square(192, 1), builder));
  return builder.Concat("concat", outputs, 1);
}

// Blocks on 35 x 35, 17 x 17 and 8 x 8 pixels (with images of 299), in the paper's figures 5, 6 and 7.
std::vector<Branch> FineBranches() {
  return {{Square(64, 1)}, {Square(48, 1), Square(64, 5)}, {Square(64, 1), Square(96, 3), Square(96, 3)}};
}
std::vector<Branch> MiddleBranches(int64_t width) {
  return {{Square(192, 1)},
          {Square(width, 1), Row(width, 7), Column(192, 7)},
          {Square(width, 1), Column(width, 7), Row(width, 7), Column(width, 7), Row(192, 7)}};
}
std::vector<Branch> FirstReduction() { return {{Valid(384, 2)}, {Square(64, 1), Square(96, 3), Valid(96, 2)}}; }
std::vector<Branch> SecondReduction() {
  return {{Square(192, 1), Valid(320, 2)}, {Square(192, 1), Row(192, 7), Column(192, 7), Valid(192, 2)}};
}

Value AddInceptionStem(const ImageBatch& batch, GraphBuilder& builder) {
  int layer = 0;
  const auto enter_next = [&builder, &layer] { builder.EnterLayer("stem." + std::to_string(layer++)); };
  enter_next();
  Value x = AddConvNormRelu("", AddImages(batch, builder), Valid(32, 2), builder);
  for (const std::vector<Convolution>& convolutions :
       {std::vector{Valid(32, 1), Square(64, 3)}, std::vector{Square(80, 1), Valid(192, 1)}}) {
    for (const Convolution& convolution : convolutions) {
      enter_next();
      x = AddConvNormRelu("", x, convolution, builder);
    }
    enter_next();
    x = builder.MaxPool("pool", x, kHalving);
  }
  return x;
}

// The loss of a classifier half-way, which keeps gradients alive in the layers below.
Value AddAuxiliaryLoss(const Value& x, int64_t classes, GraphBuilder& builder) {
  builder.EnterLayer("auxiliary");
  const Value pooled = builder.AveragePool("pool", x, {.kernel = 5, .stride = 3, .padded = false});
  const Convolution whole = {.output_channels = 768, .kernel = 5, .padded = false};
  const Value y = AddBranch("", pooled, {Square(128, 1), whole}, builder);
  const Value logits = builder.Linear("classifier", builder.GlobalAveragePool("global_pool", y), classes);
  return builder.Scale("scale", builder.CrossEntropyLoss("loss", logits));
}

void AddInceptionHead(const Value& x, const std::optional<Value>& auxiliary_loss, int64_t classes,
                      GraphBuilder& builder) {
  builder.EnterLayer("head.pool");
  const Value pooled = builder.GlobalAveragePool("pool", x);
  builder.EnterLayer("head.classifier");
  const Value features = builder.Dropout("dropout", pooled);
  const Value loss = builder.CrossEntropyLoss("main_loss", builder.Linear("classifier", features, classes));
  if (auxiliary_loss.has_value()) builder.Add("loss", {loss, *auxiliary_loss});
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

ZooKeys KeysOf(InceptionConfig& config) {
  ZooKeys keys;
  AddImageKeys(kSmallestInceptionImage, config.batch, keys);
  keys.AddChoice<bool>("auxiliary", {{"yes", true}, {"no", false}}, config.auxiliary);
  return keys;
}

OperatorGraph MakeModel(const std::string& display_name, const InceptionConfig& config) {
  GraphBuilder builder(display_name, config.batch.images, config.batch.bytes_per_element);
  Value x = AddInceptionStem(config.batch, builder);
  int mixed = 0;
  const auto enter_next = [&builder, &mixed] { builder.EnterLayer("mixed" + std::to_string(mixed++)); };
  for (const int64_t pool_channels : {32, 64, 64}) {
    enter_next();
    x = AddMixed(x, FineBranches(), pool_channels, builder);
  }
  enter_next();
  x = AddReduction(x, FirstReduction(), builder);
  for (const int64_t width : {128, 160, 160, 192}) {
    enter_next();
    x = AddMixed(x, MiddleBranches(width), 192, builder);
  }
  std::optional<Value> auxiliary_loss;
  if (config.auxiliary) auxiliary_loss = AddAuxiliaryLoss(x, config.batch.classes, builder);
  enter_next();
  x = AddReduction(x, SecondReduction(), builder);
  for (int block = 0; block < 2; ++block) {
    enter_next();
    x = AddWideMixed(x, builder);
  }
  AddInceptionHead(x, auxiliary_loss, config.batch.classes, builder);
  return builder.Build();
}

}  // namespace planwright
