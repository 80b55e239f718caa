// What is planned, on what, and at what cost: the values that every function over a whole problem takes together.
#ifndef PLANWRIGHT_CORE_COST_TERMS_PLANNING_INPUT_H_
#define PLANWRIGHT_CORE_COST_TERMS_PLANNING_INPUT_H_

#include "core/cost/terms/cost_table.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// Refers to values that outlive it. All of them are valid.
struct PlanningInput {
  const OperatorGraph& graph;
  const Cluster& cluster;
  // Resolved.
  const PlanningProblem& problem;
  // Those of `graph` on `cluster`, for the workload of `problem`.
  const CostTable& costs;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_TERMS_PLANNING_INPUT_H_
