#include "core/model/joint.h"

namespace planwright {

std::string_view NameOf(LayerRecomputation recomputation) {
  switch (recomputation) {
    case LayerRecomputation::kNone:
      return "none";
    case LayerRecomputation::kSelective:
      return "selective";
    case LayerRecomputation::kFull:
      return "full";
  }
  return "";
}

std::string_view NameOf(Sharding sharding) {
  switch (sharding) {
    case Sharding::kNone:
      return "none";
    case Sharding::kOptimizer:
      return "optimizer";
    case Sharding::kGradients:
      return "gradients";
    case Sharding::kParameters:
      return "parameters";
  }
  return "";
}

std::string_view NameOf(PipelineOrder order) {
  return order == PipelineOrder::kOneFOneB ? "ONE_F_ONE_B" : "INTERLEAVED";
}

}  // namespace planwright
