// Costs a placement: the numbers of a Plan, by cost-model.md sections 3 to 8.
//
// Covers what core/planner/capabilities covers: host_staged and uniform, SERIAL, no replication, steady state.
#ifndef PLANWRIGHT_CORE_COST_PLAN_COSTING_H_
#define PLANWRIGHT_CORE_COST_PLAN_COSTING_H_

#include "core/cost/cost_table.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"
#include "core/model/problem.h"

namespace planwright {

// The plan of `placement` with objective, stages, devices, links, estimate and warnings filled in; lower_bound, bounds
// and provenance are the caller's. Empty stages are dropped; operators are sorted.
// REQUIRES: `problem` is resolved and supported; the placement is feasible: every operator in exactly one stage (for
// INFERENCE BACKWARD operators may be left out; they are dropped), one device per stage that supports its operators,
// stages in pipeline order.
// Complexity O(operators + tensor ends + classes).
Plan CostPlan(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
              const CostTable& costs, const Placement& placement);

// Memory of operators that share a device as one stage, under the resolved memory model (cost-model.md section 7).
// `boundary_bytes`: sum of the sizes of the tensors that cross the border of the stage, each direction counted.
int64_t StageMemoryBytes(const OperatorGraph& graph, const PlanningProblem& problem,
                         const std::vector<OperatorId>& operators, int64_t boundary_bytes, int32_t in_flight);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_PLAN_COSTING_H_
