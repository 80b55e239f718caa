// Costs a placement: the numbers of a Plan, by docs/cost-model.md sections 3 to 8.
//
// Throughput, on every interconnect and with every overlap: in the limit of many micro-batches, no schedule, GPIPE,
// ONE_F_ONE_B and PIPEDREAM_ASYNC, one stage per device or several, replication PER_STAGE and UNIFORM; with a number of
// micro-batches, synchronous steps of one stage per device, replication UNIFORM. PERIODIC: uniform, see CostPattern.
// MIN_LATENCY: host_staged, SERIAL, no schedule, no replication.
#ifndef PLANWRIGHT_CORE_COST_PLAN_COSTING_H_
#define PLANWRIGHT_CORE_COST_PLAN_COSTING_H_

#include "core/cost/terms/cost_table.h"
#include "core/cost/terms/memory_form.h"  // IWYU pragma: export
#include "core/model/plan.h"
#include "core/model/problem.h"

namespace planwright {

// The plan of `placement` with objective, stages, devices, links, estimate and warnings filled in; lower_bound, bounds
// and provenance are the caller's. Empty stages are dropped; operators are sorted.
// REQUIRES: `problem` is supported; the placement is feasible: every operator in exactly one stage (for
// INFERENCE BACKWARD operators may be left out; they are dropped), devices that support the operators of their stages,
// stages in pipeline order (MIN_LATENCY: see ScheduleForLatency). A stage on several devices is replicated: they are
// different, of one class, and hold no other stage unless that has the same replicas in the same order; its ring visits
// each of them once. PERIODIC: a pattern, and no empty stages. Complexity O(operators + tensor ends + devices + links
// log links) beside BackwardContiguity.
Plan CostPlan(const PlanningInput& input, const Placement& placement);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_PLAN_COSTING_H_
