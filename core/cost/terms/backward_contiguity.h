// Whether the backward operators of each stage are contiguous among all of them (docs/cost-model.md section 8).
//
// A stage's backward set is contiguous when no path along BACKWARD operators leaves it and enters it again. Such a path
// runs through a cycle of stages, so stages that can be ordered are contiguous; only the others are searched.
// Complexity O(operators + tensor ends), times the number of stages that cannot be ordered (none in usual plans).
#ifndef PLANWRIGHT_CORE_COST_TERMS_BACKWARD_CONTIGUITY_H_
#define PLANWRIGHT_CORE_COST_TERMS_BACKWARD_CONTIGUITY_H_

#include <vector>

#include "core/cost/terms/stage_map.h"
#include "core/model/graph.h"
#include "core/model/plan.h"

namespace planwright {

// One answer for each stage.
std::vector<bool> BackwardContiguity(const OperatorGraph& graph, const std::vector<Stage>& stages,
                                     const StageMap& stage_of);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_TERMS_BACKWARD_CONTIGUITY_H_
