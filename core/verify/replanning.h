// What a plan says of how it differs from the placement that its problem starts from.
#ifndef PLANWRIGHT_CORE_VERIFY_REPLANNING_H_
#define PLANWRIGHT_CORE_VERIFY_REPLANNING_H_

#include "core/base/violations.h"
#include "core/model/plan.h"

namespace planwright {

// Adds a violation unless the plan says it exactly where there is such a placement, counts right the stages some device
// of which did not hold all of their operators there, and is no slower than the problem tolerates.
// REQUIRES: ids in range. Complexity O((operators + replicas of operators) log).
void CheckReplanning(const Plan& plan, Violations& violations);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_REPLANNING_H_
