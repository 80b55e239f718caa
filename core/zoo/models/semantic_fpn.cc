#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/zoo/models/graph_builder.h"
#include "core/zoo/models/image_models.h"

namespace planwright {
namespace {

constexpr int64_t kPyramidChannels = 256;
constexpr int64_t kHeadChannels = 128;
// How many times the image is as wide as the finest map, and as the coarsest.
constexpr int64_t kFinest = 4;
constexpr int64_t kCoarsest = 32;

using Pyramid = std::array<Value, 4>;

// "p2" for the finest map.
std::string MapName(std::size_t map) { return absl::StrCat("p", map + 2); }

// From the coarsest map down: what comes from above is enlarged and added to a 1 x 1 convolution of the backbone's
// features. Every sum is smoothed by a 3 x 3 convolution.
Pyramid AddPyramid(const std::array<Value, 4>& features, GraphBuilder& builder) {
  Pyramid pyramid;
  Value above;
  for (std::size_t map = features.size(); map-- > 0;) {
    builder.EnterLayer("pyramid." + MapName(map));
    Value merged = builder.Conv2d("lateral", features[map], {.output_channels = kPyramidChannels, .bias = true});
    if (map + 1 < features.size()) merged = builder.Add("add", {merged, builder.Upsample("top_down", above, 2)});
    const Convolution smooth = {.output_channels = kPyramidChannels, .kernel = 3, .bias = true};
    pyramid[map] = builder.Conv2d("smooth", merged, smooth);
    above = merged;
  }
  return pyramid;
}

// As many 3 x 3 convolutions, each followed by an enlargement, as take the map to the size of the finest; that one has
// a convolution alone.
Value AddPyramidBranch(const Value& x, std::size_t enlargements, GraphBuilder& builder) {
  Value y = x;
  for (std::size_t step = 0; step < std::max<std::size_t>(1, enlargements); ++step) {
    const std::string prefix = absl::StrCat(step, "_");
    y = AddConvNormRelu(prefix, y, {.output_channels = kHeadChannels, .kernel = 3}, builder);
    if (step < enlargements) y = builder.Upsample(prefix + "upsample", y, 2);
  }
  return y;
}

Value AddPyramidHead(const Pyramid& pyramid, int64_t classes, GraphBuilder& builder) {
  std::vector<Value> branches;
  for (std::size_t map = 0; map < pyramid.size(); ++map) {
    builder.EnterLayer("head." + MapName(map));
    branches.push_back(AddPyramidBranch(pyramid[map], map, builder));
  }
  builder.EnterLayer("head.sum");
  const Value sum = builder.Add("add", branches);
  builder.EnterLayer("head.classifier");
  const Value logits = builder.Conv2d("classifier", sum, {.output_channels = classes, .bias = true});
  return builder.CrossEntropyLoss("loss", builder.Upsample("upsample", logits, kFinest));
}

}  // namespace

ZooKeys KeysOf(SemanticFpnConfig& config) {
  ImageBatch& batch = config.backbone.batch;
  ZooKeys keys;
  keys.AddWhole("batch", 1, kMaxImages, batch.images);
  keys.AddWhole("height", kCoarsest, kMaxImageSize, batch.image_size);
  keys.AddWhole("width", kCoarsest, kMaxImageSize, batch.image_width, "height");
  keys.AddWhole("classes", 1, 1'024, batch.classes);
  AddDtypeKey(batch.bytes_per_element, keys);
  return keys;
}

absl::Status CheckConfig(const std::string& subject, const SemanticFpnConfig& config) {
  const ImageBatch& batch = config.backbone.batch;
  const int64_t width = batch.image_width.value_or(batch.image_size);
  if (batch.image_size % kCoarsest == 0 && width % kCoarsest == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(subject, ": height and width must be multiples of ", kCoarsest,
                                                 ", are ", batch.image_size, " and ", width));
}

OperatorGraph MakeModel(const std::string& display_name, const SemanticFpnConfig& config) {
  const ImageBatch& batch = config.backbone.batch;
  GraphBuilder builder(display_name, batch.images, batch.bytes_per_element);
  AddPyramidHead(AddPyramid(AddResNetFeatures(config.backbone, builder), builder), batch.classes, builder);
  return builder.Build();
}

}  // namespace planwright
