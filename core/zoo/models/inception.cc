#include "core/zoo/models/inception.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/zoo/models/graph_builder.h"

namespace planwright {
namespace {

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

Value AddInceptionBranch(const std::string& name, Value x, const Branch& branch, GraphBuilder& builder) {
  for (std::size_t i = 0; i < branch.size(); ++i) {
    x = AddConvNormRelu(name + std::to_string(i) + "_", x, branch[i], builder);
  }
  return x;
}

std::vector<Value> AddBranches(const Value& x, const std::vector<Branch>& branches, GraphBuilder& builder) {
  std::vector<Value> outputs;
  outputs.reserve(branches.size());
  for (std::size_t i = 0; i < branches.size(); ++i) {
    outputs.push_back(AddInceptionBranch("branch" + std::to_string(i) + "_", x, branches[i], builder));
  }
  return outputs;
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
  std::vector<Value> outputs = {AddInceptionBranch("single", x, {Square(320, 1)}, builder)};
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

Value AddStem(const ImageBatch& batch, GraphBuilder& builder) {
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
  const Value y = AddInceptionBranch("", pooled, {Square(128, 1), whole}, builder);
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

ZooKeys KeysOf(InceptionConfig& config) {
  ZooKeys keys;
  AddImageKeys(kSmallestInceptionImage, config.batch, keys);
  keys.AddChoice<bool>("auxiliary", {{"yes", true}, {"no", false}}, config.auxiliary);
  return keys;
}

OperatorGraph MakeModel(const std::string& display_name, const InceptionConfig& config) {
  GraphBuilder builder(display_name, config.batch.images, config.batch.bytes_per_element);
  Value x = AddStem(config.batch, builder);
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
