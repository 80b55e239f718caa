// What is planned, on what, and at what cost: the values that every search takes together.
#ifndef PLANWRIGHT_CORE_COST_TERMS_PLANNING_INPUT_H_
#define PLANWRIGHT_CORE_COST_TERMS_PLANNING_INPUT_H_

#include "core/cost/terms/cost_table.h"
#include "core/model/problem.h"

namespace planwright {

struct PlanningInput : ResolvedInput {
  // The costs of `graph` on `cluster`, for the workload of `problem`.
  const CostTable& costs;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_TERMS_PLANNING_INPUT_H_
