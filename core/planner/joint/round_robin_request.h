// Requests whose stages have replicas that take whole micro-batches in turn (core/joint/roundrobin).
#ifndef PLANWRIGHT_CORE_PLANNER_JOINT_ROUND_ROBIN_REQUEST_H_
#define PLANWRIGHT_CORE_PLANNER_JOINT_ROUND_ROBIN_REQUEST_H_

#include <functional>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/joint/cost/training_cluster.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"
#include "core/model/problem.h"
#include "core/model/task_list.h"

namespace planwright {

// Whether that is what joint settings ask for: replication PER_STAGE beside one that does not divide micro-batches.
bool IsRoundRobin(const ResolvedProblem& problem);

// What such a request leaves open: the samples of the graph, no sharding, 1F1B.
JointSettings ResolveRoundRobin(const JointSettings& given, const OperatorGraph& graph,
                                const TrainingCluster& training);

// Verified. `on_incumbent` hears of each better plan. `problem` is resolved, its joint settings too; `training` has the
// devices that may be used. Errors: INVALID_ARGUMENT for several classes of these; FAILED_PRECONDITION
// (InfeasibilityOf: proven); DEADLINE_EXCEEDED (IsNoPlanFound), CANCELLED; INTERNAL (IsRejectedPlan).
absl::StatusOr<Plan> MakeRoundRobinPlan(const OperatorGraph& graph, const Cluster& cluster,
                                        const ResolvedProblem& problem, const TrainingCluster& training,
                                        const SolverOptions& options, const SolveLimits& limits,
                                        const std::function<void(const Plan&)>& on_incumbent);

// A step of `plan`, which is costed; a resource for each data rank of each stage. INVALID_ARGUMENT: too many tasks.
absl::StatusOr<TaskList> RoundRobinStepTasks(const Cluster& cluster, const Plan& plan);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_JOINT_ROUND_ROBIN_REQUEST_H_
