// What a plan states against what it is.
#ifndef PLANWRIGHT_CORE_VERIFY_COMPARISON_H_
#define PLANWRIGHT_CORE_VERIFY_COMPARISON_H_

#include "core/base/violations.h"
#include "core/model/plan.h"

namespace planwright {

// Adds every number of `stated` that differs from `fresh`, the same placement costed anew.
void CompareNumbers(const Plan& stated, const Plan& fresh, Violations& violations);

// Adds what is wrong among the bounds, the lower bound, the claim of optimality and the reason to stop, given the
// objective that the plan really has.
void CheckBounds(const Plan& plan, Picoseconds objective, Violations& violations);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_COMPARISON_H_
