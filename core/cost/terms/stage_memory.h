// Memory of a stage (docs/cost-model.md section 7).
#ifndef PLANWRIGHT_CORE_COST_TERMS_STAGE_MEMORY_H_
#define PLANWRIGHT_CORE_COST_TERMS_STAGE_MEMORY_H_

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// Memory of operators that share a device as one stage, under the resolved memory model (memory_form.h).
// `operators`: those that the workload keeps. `boundary_bytes`: sum of the sizes of the tensors that cross the border
// of the stage, in or out, each tensor once. Complexity O(operators).
int64_t StageMemoryBytes(const OperatorGraph& graph, const ResolvedProblem& problem,
                         const std::vector<OperatorId>& operators, int64_t boundary_bytes, int32_t in_flight);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_TERMS_STAGE_MEMORY_H_
