// Plans by the planner itself, in this process; fails where the answer is not as it should be.
#include <iostream>

#include "core/planner/planner.h"
#include "core/zoo/zoo.h"

int main() {
  const auto graph = planwright::MakeZooModel("gpt-125m");
  const auto cluster = planwright::MakeZooCluster("pcie:2");
  if (!graph.ok() || !cluster.ok()) return 1;
  const planwright::PlanningProblem problem;
  const planwright::SolverOptions options;
  planwright::TaskArena arena(2);
  planwright::PlannerObserver observer;
  const auto plan = planwright::MakePlan({*graph, *cluster, problem, options}, planwright::ModelLimits(),
                                         planwright::SolveLimits(), arena, observer);
  if (!plan.ok()) {
    std::cerr << plan.status() << "\n";
    return 1;
  }
  std::cout << plan->objective.count() << " ps, at least " << plan->lower_bound.count() << " ps\n";
  return plan->lower_bound.count() > 0 && plan->objective >= plan->lower_bound ? 0 : 1;
}
