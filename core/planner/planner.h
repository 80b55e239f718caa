// The facade of core: validate -> choose an algorithm -> search -> verify -> Plan.
//
// One gate: solvers see valid input only, and no plan leaves that core/verify did not pass. Exceptions of oneTBB and
// bad_alloc are caught here and nowhere else.
#ifndef PLANWRIGHT_CORE_PLANNER_PLANNER_H_
#define PLANWRIGHT_CORE_PLANNER_PLANNER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"
#include "core/model/problem.h"
#include "core/model/validator.h"
#include "core/planner/observer.h"
#include "core/verify/verify.h"

namespace planwright {

struct PlanRequest {
  const OperatorGraph& graph;
  const Cluster& cluster;
  const PlanningProblem& problem;
  const SolverOptions& options;
  // A plan that an earlier search made, to go on from: the new one is never worse. Left out where it breaks a rule of
  // the problem, and under MIN_DEVICES. nullptr: none.
  const Placement* warm_start = nullptr;
};

// What MakePlan would refuse before it searches. INVALID_ARGUMENT (ViolationsOf).
absl::Status CheckRequest(const PlanRequest& request, const ModelLimits& model_limits);

// Makes a plan. The same request gives the same plan for any arena unless the clock or a stop request cut the search
// off (stop_reason says so). A stop request with an incumbent is an answer (CANCELLED), not an error.
// `observer` outlives the call; its methods may be called from any thread of the arena, one at a time.
// Errors: INVALID_ARGUMENT (ViolationsOf), FAILED_PRECONDITION (InfeasibilityOf: proven), DEADLINE_EXCEEDED
// (IsNoPlanFound), CANCELLED (stopped before any plan), RESOURCE_EXHAUSTED (memory), INTERNAL (a defect; where a
// plan was rejected by the verifier, IsRejectedPlan, and the message says why).
absl::StatusOr<Plan> MakePlan(const PlanRequest& request, const ModelLimits& model_limits, const SolveLimits& limits,
                              TaskArena& arena, PlannerObserver& observer);

// Judges a placement made by anyone, in every mode that the verifier knows (CheckJudged); see VerifyPlacement. Under
// PERIODIC a placement without a pattern gets one first (WithPattern). Looks at
// deadline and stop request of `limits` between its steps (validation, verification), each linear in the size of the
// request.
// Errors: INVALID_ARGUMENT, graph, cluster or problem are at fault; DEADLINE_EXCEEDED; CANCELLED; RESOURCE_EXHAUSTED.
absl::StatusOr<Verdict> EvaluatePlacement(const PlanRequest& request, const ModelLimits& model_limits,
                                          const Placement& placement, const SolveLimits& limits = SolveLimits());

// CANCELLED or DEADLINE_EXCEEDED where judging a placement is no longer wanted.
absl::Status CheckNotInterrupted(const SolveLimits& limits);

enum class ProgramFormat { kMps, kLp };
// The form that --algorithm=mip solves, or that of the paper's figure (printed_program.h).
enum class ProgramForm { kCompact, kPrinted };

// The integer program of the request (core/partition/mip) as text that other solvers read. The build need not have a
// solver. Errors: INVALID_ARGUMENT (ViolationsOf), also where --algorithm=mip or the figure does not cover the problem;
// RESOURCE_EXHAUSTED: it would be too large.
absl::StatusOr<std::string> WriteIntegerProgram(const PlanRequest& request, const ModelLimits& model_limits,
                                                ProgramFormat format, ProgramForm form);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_PLANNER_H_
