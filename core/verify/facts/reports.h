// What a plan reports beside what it costs.
#ifndef PLANWRIGHT_CORE_VERIFY_FACTS_REPORTS_H_
#define PLANWRIGHT_CORE_VERIFY_FACTS_REPORTS_H_

#include <vector>

#include "core/model/graph.h"
#include "core/model/plan.h"
#include "core/model/problem.h"
#include "core/verify/facts/assignment.h"

namespace planwright {

// Whether the backward part of a stage is contiguous too; a report, not a constraint (docs/cost-model.md section 8).
// By stage: whether no path along BACKWARD operators leaves its BACKWARD operators and comes back to them.
// Complexity O((operators + tensor ends) x ceil(stages / 64)).
std::vector<bool> BackwardContiguity(const OperatorGraph& graph, const ResolvedProblem& problem,
                                     const Assignment& assignment);

// Predictions for people that follow from the objective and the devices of a plan.
// Fills in the rates, the idle share and the peak memory of `plan`, whose objective and devices are there.
void FillEstimate(const OperatorGraph& graph, Plan& plan);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_FACTS_REPORTS_H_
