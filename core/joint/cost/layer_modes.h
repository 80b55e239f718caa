// The mode that a layer runs in where one is wanted for many.
#ifndef PLANWRIGHT_CORE_JOINT_COST_LAYER_MODES_H_
#define PLANWRIGHT_CORE_JOINT_COST_LAYER_MODES_H_

#include <optional>
#include <vector>

#include "core/joint/cost/layer_price.h"
#include "core/model/joint.h"

namespace planwright {

// `wanted` where the layer has it; else the next mode that keeps more, else the next one that keeps less, of those in
// `allowed`, or of all where the layer has none of these. nullopt: it has none at all. As StageTable::TimeInModePs.
std::optional<LayerRecomputation> ModeOf(const LayerPrice& price, LayerRecomputation wanted,
                                         const std::vector<LayerRecomputation>& allowed);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_COST_LAYER_MODES_H_
