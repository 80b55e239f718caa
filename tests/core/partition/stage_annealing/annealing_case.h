// An instance as a search gets it.
#ifndef PLANWRIGHT_TESTS_CORE_PARTITION_STAGE_ANNEALING_ANNEALING_CASE_H_
#define PLANWRIGHT_TESTS_CORE_PARTITION_STAGE_ANNEALING_ANNEALING_CASE_H_

#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/cost/plan_costing.h"
#include "core/cost/terms/cost_table.h"
#include "core/partition/search/search.h"
#include "core/partition/stage_annealing/stage_annealing.h"
#include "core/verify/verify.h"
#include "tests/support/random_instance.h"

namespace planwright {

// Refers to itself: stays where it is.
class AnnealingCase {
 public:
  explicit AnnealingCase(Instance posed)
      : instance(std::move(posed)),
        problem(ResolveProblem(instance.graph, instance.problem)),
        costs(instance.graph, instance.cluster, problem.workload),
        request{instance.graph, instance.cluster, problem, costs, options, Algorithm::kStageAnnealing, {}} {}
  AnnealingCase(const AnnealingCase&) = delete;
  AnnealingCase& operator=(const AnnealingCase&) = delete;

  Picoseconds ObjectiveOf(const Placement& placement) const {
    return CostPlan({instance.graph, instance.cluster, problem, costs}, placement).objective;
  }
  bool IsFeasible(const Placement& placement) const {
    return VerifyPlacement({instance.graph, instance.cluster, problem}, placement).violations.empty();
  }

  absl::StatusOr<SearchOutcome> Solve(int threads = 1, const SolveLimits& limits = SolveLimits()) const {
    TaskArena arena(threads);
    SearchCallbacks callbacks;
    callbacks.objective = [this](const Placement& placement) { return ObjectiveOf(placement); };
    return SolveByStageAnnealing(request, limits, arena, callbacks.Silenced());
  }

  const Instance instance;
  const ResolvedProblem problem;
  const CostTable costs;
  SolverOptions options;
  SearchRequest request;
};

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_CORE_PARTITION_STAGE_ANNEALING_ANNEALING_CASE_H_
