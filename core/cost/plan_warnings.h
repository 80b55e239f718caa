// What a person should know before trusting the numbers of a plan.
#ifndef PLANWRIGHT_CORE_COST_PLAN_WARNINGS_H_
#define PLANWRIGHT_CORE_COST_PLAN_WARNINGS_H_

#include <string>
#include <vector>

#include "core/cost/terms/cost_table.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"

namespace planwright {

// Warnings for a plan whose problem, stages, devices and estimate are filled in:
//   - operators whose times are estimates;
//   - transfers implausibly short or long beside operators, which smells of a wrong unit: the ratio of the median
//     positive transfer time of consumed tensors to the median positive operator time is outside [1e-4, 1e2];
//   - transfer times of tensors that a hierarchy ignores;
//   - training without any backward time;
//   - granularity LAYER for a graph without layers;
//   - more operators on CPUs at a time than there are CPUs (MIN_LATENCY);
//   - memory limits that nothing counts against, and accelerators without a limit.
// Complexity O(operators + tensors + devices).
std::vector<std::string> PlanWarnings(const OperatorGraph& graph, const Cluster& cluster, const CostTable& costs,
                                      const Plan& plan);

// What a plan's memory model leaves out although training takes it, and what it would come to: the placement of `plan`
// costed again under the same problem with
//   - the optimizer of the preset adam_mixed, where no optimizer counts;
//   - the schedule ONE_F_ONE_B, where the problem has neither schedule nor micro_batches, so that one micro-batch in
//     flight counts: contiguous stages, one on each device;
//   - both, where both hold.
// Lists those that make the fullest device, of those with a limit where any in use has one, fuller than it is. Empty
// for INFERENCE and under DECLARED memory, which counts what operators say once, whatever runs. REQUIRES: the problem,
// stages, tasks and estimate of `plan` are filled in, and its placement keeps the rules of CostPlan. Complexity: that
// of three times CostPlan.
std::vector<UncountedMemory> UncountedMemoryOf(const OperatorGraph& graph, const Cluster& cluster,
                                               const CostTable& costs, const Plan& plan);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_PLAN_WARNINGS_H_
