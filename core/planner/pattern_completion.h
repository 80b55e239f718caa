// Gives a placement that says nothing about time a periodic pattern, so that it can be judged under PERIODIC.
#ifndef PLANWRIGHT_CORE_PLANNER_PATTERN_COMPLETION_H_
#define PLANWRIGHT_CORE_PLANNER_PATTERN_COMPLETION_H_

#include "core/base/limits.h"
#include "core/cost/terms/cost_table.h"
#include "core/model/problem.h"

namespace planwright {

// Where the problem is PERIODIC and the placement has no pattern, the placement with one: the shortest that fits in
// memory where 1F1B* (one stage on each device) or a pattern search of bounded effort finds it, as if every device had
// the memory of the smallest in use; else one micro-batch after the other, which needs the least memory there is. A
// placement that cannot be read as a pipeline comes back as it is, for the verifier to say why: ids out of range,
// stages without devices, more stages than the devices may hold or than 4,096. REQUIRES: graph, cluster and problem are
// valid, uniform if PERIODIC. O(operators + tensor ends + stages^2) beside the search.
// Deterministic unless limits.deadline or limits.stop cut the search off.
Placement WithPattern(const PlanningInput& input, Placement placement, const SolveLimits& limits);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_PATTERN_COMPLETION_H_
