// Semantic FPN: the semantic branch of Panoptic Feature Pyramid Networks (Kirillov, Girshick, He, Dollar 2019,
// section 3.2) on a ResNet. A pyramid of four feature maps is merged into one of a quarter of the image, which gives a
// class to every pixel. Normalisation is that of batches, as in MMSegmentation, whose parameters are published; the
// paper normalises groups of channels, with as many parameters.
#ifndef PLANWRIGHT_CORE_ZOO_MODELS_SEMANTIC_FPN_H_
#define PLANWRIGHT_CORE_ZOO_MODELS_SEMANTIC_FPN_H_

#include <string>

#include "absl/status/status.h"
#include "core/model/graph.h"
#include "core/zoo/keys/keys.h"
#include "core/zoo/models/convnet.h"

namespace planwright {

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

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_MODELS_SEMANTIC_FPN_H_
