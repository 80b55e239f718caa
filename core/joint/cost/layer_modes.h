// The mode that a layer runs in where one is wanted for many.
#ifndef PLANWRIGHT_CORE_JOINT_COST_LAYER_MODES_H_
#define PLANWRIGHT_CORE_JOINT_COST_LAYER_MODES_H_

#include <optional>
#include <vector>

#include "core/joint/cost/layer_price.h"
#include "core/model/joint.h"

namespace planwright {

// The modes of the layer that are in `allowed`; all that it has where these are none.
LayerModes AllowedModes(const LayerPrice& price, const std::vector<LayerRecomputation>& allowed);

// `wanted` where it is there; else the next mode that keeps more, else the next one that keeps less. nullopt: there is
// none at all.
std::optional<LayerRecomputation> ClosestMode(const LayerModes& modes, LayerRecomputation wanted);

// Of the modes that are allowed.
inline std::optional<LayerRecomputation> ModeOf(const LayerPrice& price, LayerRecomputation wanted,
                                                const std::vector<LayerRecomputation>& allowed) {
  return ClosestMode(AllowedModes(price, allowed), wanted);
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_COST_LAYER_MODES_H_
