// Loads, memory and everything that follows from them (cost-model.md sections 3 to 7), one tensor at a time.
#ifndef PLANWRIGHT_CORE_VERIFY_COSTING_H_
#define PLANWRIGHT_CORE_VERIFY_COSTING_H_

#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"
#include "core/model/problem.h"
#include "core/verify/assignment.h"

namespace planwright {

// The plan of `assignment`, with bounds and provenance empty.
// REQUIRES: host_staged or uniform; every operator is on a class that can run it.
// Complexity O((operators + tensor ends) log + cost entries), and that of BackwardContiguity.
Plan CostAssignment(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                    const Assignment& assignment);

// Adds a violation for every device that holds more than its memory. REQUIRES: CostAssignment made `plan`.
void CheckMemory(const Cluster& cluster, const Assignment& assignment, const Plan& plan, Violations& violations);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_COSTING_H_
