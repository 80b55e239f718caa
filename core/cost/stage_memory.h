// Memory of a stage (cost-model.md section 7).
#ifndef PLANWRIGHT_CORE_COST_STAGE_MEMORY_H_
#define PLANWRIGHT_CORE_COST_STAGE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// Memory of operators that share a device as one stage, under the resolved memory model.
//   DECLARED    sum of memory_bytes.
//   COMPONENTS  ceil(parameter_bytes x (weight_versions + gradient_copies + optimizer))
//               + in_flight x activation_bytes (TRAINING only) + largest workspace_bytes + 2 x boundary_bytes
//               + reserved_bytes.
// `operators`: those that the workload keeps. `boundary_bytes`: sum of the sizes of the tensors that cross the border
// of the stage, in or out, each tensor once. Complexity O(operators).
int64_t StageMemoryBytes(const OperatorGraph& graph, const PlanningProblem& problem,
                         const std::vector<OperatorId>& operators, int64_t boundary_bytes, int32_t in_flight);

// ceil(parameter_bytes x (weight_versions + gradient_copies + optimizer)): parameters, their versions, gradients and
// optimizer state. REQUIRES: COMPONENTS, resolved.
int64_t ParameterStateBytes(int64_t parameter_bytes, const MemoryModel& memory);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_STAGE_MEMORY_H_
