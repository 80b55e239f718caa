// Which operators must share a device (docs/cost-model.md section 8).
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
// LAYER, by an equal layer share a device. Labels 0, 1, ... by smallest operator. O(operators).
std::vector<int32_t> ColocationUnions(const OperatorGraph& graph, const ResolvedProblem& problem);

// For granularity LAYER the operators of equal non-empty layer have one label; otherwise each has its own. Labels as
// above.
std::vector<int32_t> LayerUnions(const OperatorGraph& graph, const ResolvedProblem& problem);

// Whether the graph lists its gradients along the activations that they belong to instead of against them, as the layer
// graphs published with device-placement do: backward tensors join unions, and every two unions that one joins are
// joined by a forward tensor in the same direction, and by none in the other. Such a tensor goes back all the same.
// `union_of` as of ColocationUnions. O(tensor ends).
bool ListsGradientsForward(const OperatorGraph& graph, const std::vector<int32_t>& union_of);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MODEL_COLOCATION_H_
