// Which function runs which algorithm.
#ifndef PLANWRIGHT_CORE_PLANNER_ALGORITHMS_SOLVERS_H_
#define PLANWRIGHT_CORE_PLANNER_ALGORITHMS_SOLVERS_H_

#include "core/model/problem.h"
#include "core/partition/search/search.h"

namespace planwright {

// REQUIRES: a row of Capabilities() has both.
SolveFunction SolverOf(Algorithm algorithm, ScheduleKind schedule);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_ALGORITHMS_SOLVERS_H_
