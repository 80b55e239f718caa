// A request to MakePlan as tests of the planner build it.
#ifndef PLANWRIGHT_TESTS_CORE_PLANNER_PLANNER_REQUEST_H_
#define PLANWRIGHT_TESTS_CORE_PLANNER_PLANNER_REQUEST_H_

#include "absl/status/statusor.h"
#include "core/planner/planner.h"
#include "tests/support/builders.h"

namespace planwright {

struct PlannerRequest {
  OperatorGraph graph;
  Cluster cluster = MakeCluster(2, 1);
  PlanningProblem problem;
  SolverOptions options;
  SolveLimits limits;
};

inline absl::StatusOr<Plan> Make(const PlannerRequest& request, PlannerObserver& observer, int threads = 1) {
  TaskArena arena(threads);
  return MakePlan({request.graph, request.cluster, request.problem, request.options}, ModelLimits(), request.limits,
                  arena, observer);
}

inline absl::StatusOr<Plan> Make(const PlannerRequest& request, int threads = 1) {
  PlannerObserver observer;
  return Make(request, observer, threads);
}

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_CORE_PLANNER_PLANNER_REQUEST_H_
