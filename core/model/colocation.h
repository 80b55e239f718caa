// Which operators must share a device (cost-model.md section 8).
#ifndef PLANWRIGHT_CORE_MODEL_COLOCATION_H_
#define PLANWRIGHT_CORE_MODEL_COLOCATION_H_

#include <cstdint>
#include <vector>

#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// Label of an operator that takes no part: a BACKWARD one for INFERENCE.
inline constexpr int32_t kDropped = -1;

// The union of every operator: operators linked by forward_operator, by an equal colocation_group or, for granularity
// LAYER, by an equal layer share a device. Labels 0, 1, ... by smallest operator. REQUIRES: `problem` is resolved.
// O(operators).
std::vector<int32_t> ColocationUnions(const OperatorGraph& graph, const PlanningProblem& problem);

// For granularity LAYER the operators of equal non-empty layer have one label; otherwise each has its own. Labels and
// REQUIRES as above.
std::vector<int32_t> LayerUnions(const OperatorGraph& graph, const PlanningProblem& problem);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MODEL_COLOCATION_H_
