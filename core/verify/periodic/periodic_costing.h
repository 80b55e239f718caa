// What a periodic pattern costs (docs/cost-model.md sections 3, 7 and 9).
#ifndef PLANWRIGHT_CORE_VERIFY_PERIODIC_PERIODIC_COSTING_H_
#define PLANWRIGHT_CORE_VERIFY_PERIODIC_PERIODIC_COSTING_H_

#include <optional>

#include "core/base/violations.h"
#include "core/model/plan.h"
#include "core/model/problem.h"
#include "core/verify/facts/assignment.h"

namespace planwright {

// The plan of `assignment` under `pattern`, with bounds and provenance empty; violations of the pattern as CheckPattern
// adds them. nullopt: the pattern is too broken to cost. The objective is the period; transfers load links and no
// device. REQUIRES: a uniform interconnect; a whole structure in linear order, one device for each stage. Complexity
// that of CheckPattern, CutsOf and BackwardContiguity, and O(operators + cost entries).
std::optional<Plan> CostPeriodicAssignment(const ResolvedInput& input, const Assignment& assignment,
                                           const PeriodicPattern& pattern, Violations& violations);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_PERIODIC_PERIODIC_COSTING_H_
