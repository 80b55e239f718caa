// The tables of the zoo: each name is a configuration of one of a few architectures.
#ifndef PLANWRIGHT_CORE_ZOO_FAMILIES_H_
#define PLANWRIGHT_CORE_ZOO_FAMILIES_H_

#include <string_view>
#include <variant>
#include <vector>

#include "core/zoo/clusters/clusters.h"
#include "core/zoo/models/image_models.h"
#include "core/zoo/models/language_models.h"

namespace planwright {

using ModelConfig = std::variant<BertConfig, DenseNetConfig, GnmtConfig, InceptionConfig, ResNetConfig,
                                 SemanticFpnConfig, SwinConfig, TransformerConfig, VggConfig>;
using ClusterConfig =
    std::variant<CubeMeshConfig, DragonflyConfig, FatTreeConfig, GridConfig, NodesConfig, PcieConfig, RandomConfig>;

// `config` has the defaults of the keys.
template <typename Config>
struct Family {
  std::string_view name;
  std::string_view summary;
  Config config;
};

const std::vector<Family<ModelConfig>>& ModelFamilies();
const std::vector<Family<ClusterConfig>>& ClusterFamilies();

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_FAMILIES_H_
