// Whether the stages are consecutive in one linear order of the operators (docs/cost-model.md section 9).
#ifndef PLANWRIGHT_CORE_VERIFY_LINEAR_ORDER_H_
#define PLANWRIGHT_CORE_VERIFY_LINEAR_ORDER_H_

#include "core/base/violations.h"
#include "core/model/graph.h"
#include "core/model/problem.h"
#include "core/verify/facts/assignment.h"

namespace planwright {

// PERIODIC takes the stages in the order given: forward passes run from the first to the last, backward passes from the
// last to the first. Adds a violation for every tensor that goes against its pass, and returns whether there is none.
// In a graph that lists its gradients along their activations (ListsGradientsForward) they go against their listed
// direction. REQUIRES: a whole structure. Complexity O(tensor ends).
bool CheckLinearOrder(const OperatorGraph& graph, const ResolvedProblem& problem, const Assignment& assignment,
                      Violations& violations);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_LINEAR_ORDER_H_
