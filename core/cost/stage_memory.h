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

// Memory of operators that share a device as one stage, under the resolved memory model (memory_form.h).
// `operators`: those that the workload keeps. `boundary_bytes`: sum of the sizes of the tensors that cross the border
// of the stage, in or out, each tensor once. Complexity O(operators).
int64_t StageMemoryBytes(const OperatorGraph& graph, const PlanningProblem& problem,
                         const std::vector<OperatorId>& operators, int64_t boundary_bytes, int32_t in_flight);

// Micro-batches that a stage keeps what it stored of, `stages_behind` counting those after it (docs/cost-model.md 9):
//   micro_batches M set    ONE_F_ONE_B min(stages_behind + 1, M), otherwise M
//   unset                  ONE_F_ONE_B and PIPEDREAM_ASYNC stages_behind + 1, otherwise 1
int32_t InFlightMicroBatches(const PlanningProblem& problem, std::size_t stages_behind);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_STAGE_MEMORY_H_
