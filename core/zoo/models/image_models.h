// Models that see images.
#ifndef PLANWRIGHT_CORE_ZOO_MODELS_IMAGE_MODELS_H_
#define PLANWRIGHT_CORE_ZOO_MODELS_IMAGE_MODELS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "core/model/graph.h"
#include "core/zoo/keys/keys.h"
#include "core/zoo/models/graph_builder.h"

namespace planwright {

// Networks of convolutions, and what all networks of the zoo that see images have in common: one micro-batch of RGB
// images, mostly square.
//
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

// VGG-16, configuration D (Simonyan, Zisserman: Very Deep Convolutional Networks for Large-Scale Image Recognition,
// 2015).
struct VggConfig {
  ImageBatch batch = {};
};

ZooKeys KeysOf(VggConfig& config);

// One operator per tensor operation. Layers are labelled "block1", ..., "block5", "head". 41 operators. Images of other
// sizes than 224 are pooled to 7 x 7 before the head, as in torchvision.
OperatorGraph MakeModel(const std::string& display_name, const VggConfig& config);

// ResNet (He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition, 2016) of bottleneck blocks, in the form
// that trainers use, called v1.5: a block that halves the image does so in its 3 x 3 convolution, not in the 1 x 1
// before it.
struct ResNetConfig {
  // Blocks of the four layers; the default is ResNet-50.
  std::array<int, 4> blocks = {3, 4, 6, 3};
  ImageBatch batch = {};
};

ZooKeys KeysOf(ResNetConfig& config);

// The network up to its last block, as features for another head: the outputs of the four layers, each half as high and
// wide as the one before it, the first a quarter of the image.
std::array<Value, 4> AddResNetFeatures(const ResNetConfig& config, GraphBuilder& builder);

// One operator per tensor operation, 16 and 10 per block. Layers are labelled "stem.conv", "stem.norm", "stem.relu",
// "stem.pool", one for each block "layer1.0", ..., "layer4.2", and "head.pool", "head.classifier".
OperatorGraph MakeModel(const std::string& display_name, const ResNetConfig& config);

// DenseNet-121 (Huang, Liu, van der Maaten, Weinberger: Densely Connected Convolutional Networks, 2017).
struct DenseNetConfig {
  // Dense layers of the four blocks.
  std::array<int, 4> layers = {6, 12, 24, 16};
  // Channels that a dense layer adds.
  int64_t growth = 32;
  ImageBatch batch = {};
};

ZooKeys KeysOf(DenseNetConfig& config);

// One operator per tensor operation. A dense layer appends its channels to a copy of all before. Layers are labelled
// "stem.conv", "stem.norm", "stem.relu", "stem.pool", "block1.0", ..., "block4.15", "transition1", ..., "transition3",
// "head.norm", "head.pool", "head.classifier".
OperatorGraph MakeModel(const std::string& display_name, const DenseNetConfig& config);

// Inception-v3 (Szegedy, Vanhoucke, Ioffe, Shlens, Wojna: Rethinking the Inception Architecture for Computer Vision,
// 2016) as torchvision builds it, with the auxiliary classifier that training uses, unless it is left out.
struct InceptionConfig {
  // With the auxiliary classifier. Without it the layers are a chain.
  bool auxiliary = true;
  ImageBatch batch = {.image_size = 299};
};

ZooKeys KeysOf(InceptionConfig& config);

// One operator per tensor operation. Layers are labelled "stem.0", ..., "stem.6" (convolutions with their normalisation
// and ReLU, and poolings), "mixed0", ..., "mixed10", "auxiliary", "head.pool", "head.classifier". The total loss is the
// main one plus 0.4 of the auxiliary one.
OperatorGraph MakeModel(const std::string& display_name, const InceptionConfig& config);

// Semantic FPN: the semantic branch of Panoptic Feature Pyramid Networks (Kirillov, Girshick, He, Dollar 2019,
// section 3.2) on a ResNet. A pyramid of four feature maps is merged into one of a quarter of the image, which gives a
// class to every pixel. Normalisation is that of batches, as in MMSegmentation, whose parameters are published; the
// paper normalises groups of channels, with as many parameters.
//
// The default is a crop of the Cityscapes images with their 19 classes, as the paper trains with.
struct SemanticFpnConfig {
  ResNetConfig backbone = {.blocks = {3, 4, 23, 3},
                           .batch = {.classes = 19, .images = 2, .image_size = 512, .image_width = 1'024}};
};

ZooKeys KeysOf(SemanticFpnConfig& config);

// INVALID_ARGUMENT: height and width are no multiples of 32, so that the maps of the pyramid would not fit each other.
absl::Status CheckConfig(const std::string& subject, const SemanticFpnConfig& config);

// One operator per tensor operation. Layers are those of the ResNet up to its last block, then of the pyramid from the
// coarsest map to the finest "pyramid.p5", ..., "pyramid.p2", of the branches "head.p2", ..., "head.p5", and
// "head.sum", "head.classifier".
OperatorGraph MakeModel(const std::string& display_name, const SemanticFpnConfig& config);

// Swin Transformer (Liu, Lin, Cao, Hu, Wei, Zhang, Lin, Guo: Hierarchical Vision Transformer using Shifted Windows,
// 2021), as its authors released it for classifying images.
//
// The default is Swin-T.
struct SwinConfig {
  // Blocks and heads of the four stages; a head has 32 channels, so the first number of heads gives the width.
  std::array<int, 4> blocks = {2, 2, 6, 2};
  std::array<int64_t, 4> heads = {3, 6, 12, 24};
  // Tokens of a side of a window, in which tokens attend to each other.
  int64_t window = 7;
  ImageBatch batch = {};
};

ZooKeys KeysOf(SwinConfig& config);

// INVALID_ARGUMENT: the image is no multiple of 32 windows, so that the coarsest tokens would not fill them.
absl::Status CheckConfig(const std::string& subject, const SwinConfig& config);

// One operator per tensor operation; the attention is unfused, as in the released code. Layers are labelled
// "embedding", "stage1.0", ..., "stage4.1" for the blocks, "merge1", ..., "merge3" for what halves the image, and
// "head". Windows of every second block are shifted; the mask that keeps the ends of the image apart is part of its
// softmax. Dropped paths are left out: they cost nothing where they are kept.
OperatorGraph MakeModel(const std::string& display_name, const SwinConfig& config);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_MODELS_IMAGE_MODELS_H_
