// Loads and everything that follows from them (docs/cost-model.md sections 3 to 7).
#ifndef PLANWRIGHT_CORE_VERIFY_COSTING_H_
#define PLANWRIGHT_CORE_VERIFY_COSTING_H_

#include "core/model/plan.h"
#include "core/model/problem.h"
#include "core/verify/facts/assignment.h"

namespace planwright {

// The plan of `assignment`, with bounds and provenance empty. A stage states the numbers of its most loaded replica,
// the first among equals. REQUIRES: host_staged, uniform or hierarchy; a whole structure. Complexity that of
// ChargeTensors and of BackwardContiguity, and O(operators + cost entries).
Plan CostAssignment(const ResolvedInput& input, const Assignment& assignment);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_COSTING_H_
