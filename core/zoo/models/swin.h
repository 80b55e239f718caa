// Swin Transformer (Liu, Lin, Cao, Hu, Wei, Zhang, Lin, Guo: Hierarchical Vision Transformer using Shifted Windows,
// 2021), as its authors released it for classifying images.
#ifndef PLANWRIGHT_CORE_ZOO_MODELS_SWIN_H_
#define PLANWRIGHT_CORE_ZOO_MODELS_SWIN_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "core/model/graph.h"
#include "core/zoo/keys/keys.h"
#include "core/zoo/models/convnet.h"

namespace planwright {

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

#endif  // PLANWRIGHT_CORE_ZOO_MODELS_SWIN_H_
