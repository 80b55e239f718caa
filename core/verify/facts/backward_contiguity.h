// Whether the backward part of a stage is contiguous too; a report, not a constraint (docs/cost-model.md section 8).
#ifndef PLANWRIGHT_CORE_VERIFY_FACTS_BACKWARD_CONTIGUITY_H_
#define PLANWRIGHT_CORE_VERIFY_FACTS_BACKWARD_CONTIGUITY_H_

#include <vector>

#include "core/model/graph.h"
#include "core/model/problem.h"
#include "core/verify/facts/assignment.h"

namespace planwright {

// By stage: whether no path along BACKWARD operators leaves its BACKWARD operators and comes back to them.
// Complexity O((operators + tensor ends) x ceil(stages / 64)).
std::vector<bool> BackwardContiguity(const OperatorGraph& graph, const ResolvedProblem& problem,
                                     const Assignment& assignment);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_FACTS_BACKWARD_CONTIGUITY_H_
