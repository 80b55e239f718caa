// Whether the stages form a pipeline (docs/cost-model.md section 8). NON_CONTIGUOUS lets a device hold several, and
// those of all devices together must have an order too.
#ifndef PLANWRIGHT_CORE_VERIFY_PIPELINE_H_
#define PLANWRIGHT_CORE_VERIFY_PIPELINE_H_

#include "core/base/violations.h"
#include "core/model/graph.h"
#include "core/model/problem.h"
#include "core/verify/facts/assignment.h"

namespace planwright {

// Brings the stages into pipeline order: the order they have if it is one, else the first by smallest operator id.
// Where none exists the order stays, and a violation names a cycle of stages and its tensors.
// Complexity O(tensor ends log + stages log).
// REQUIRES: the structure is whole.
void PutInPipelineOrder(const OperatorGraph& graph, const ResolvedProblem& problem, Assignment& assignment,
                        Violations& violations);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_PIPELINE_H_
