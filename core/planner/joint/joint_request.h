// A request with JointSettings on its way through the facade: search, assemble, verify.
#ifndef PLANWRIGHT_CORE_PLANNER_JOINT_JOINT_REQUEST_H_
#define PLANWRIGHT_CORE_PLANNER_JOINT_JOINT_REQUEST_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"
#include "core/model/problem.h"
#include "core/model/task_list.h"
#include "core/verify/verify.h"

namespace planwright {

// Plans that are better by less than this share are not sought unless the request says otherwise.
inline constexpr double kJointGap = 1e-4;

// The problem with its joint settings resolved as well (ResolveJoint): what a plan states that it was made for.
// Unchanged without joint settings, where no row of devices follows, and where graph, cluster or problem break a rule
// of the validator: cached plans are looked for by it before anything is refused. O(graph + cluster).
ResolvedProblem WithJointDefaults(const ResolvedInput& input);

// What of `problem`, as it was asked, and `options` the joint search does not read, and what of the graph makes no
// difference on the cluster, each in a sentence.
std::vector<std::string> SaidInVain(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                                    const SolverOptions& options);

// The plan that the joint search makes; times of the provenance are left to the caller. The problem has joint settings.
// `on_incumbent` hears of each better plan until a stop request, verified, without the bounds and comparisons of the
// finished search. Errors: those of PlanJointly; INVALID_ARGUMENT (ViolationsOf) for an interconnect that the search
// does not know and where no accelerator may be used; INTERNAL (IsRejectedPlan).
absl::StatusOr<Plan> MakeJointPlan(const ResolvedInput& input, const SolverOptions& options, const SolveLimits& limits,
                                   const std::function<void(const Plan&)>& on_incumbent);

// Judges the choices of `placement.joint` and its places, made by anyone, and costs them. The problem has joint
// settings. Errors: INVALID_ARGUMENT for an interconnect that the search does not know and where no accelerator may be
// used.
absl::StatusOr<Verdict> EvaluateJointPlacement(const ResolvedInput& input, const Placement& placement);

struct JointStep {
  TaskList list;
  // With collectives on links; else 0.
  int64_t layers_per_task = 0;
};

// The step of `plan`, which EvaluateJointPlacement has costed, task by task: a resource for each stage, "gpu0 x 8" of
// eight ranks; with collectives on links those are behind the stages. Errors: INVALID_ARGUMENT (ViolationsOf) where the
// ranks of a stage are not consecutive on nodes in pipeline order, the step has more than 1,000,000 tasks, or
// collectives should be on links where replicas take turns.
absl::StatusOr<JointStep> JointStepTasks(const ResolvedInput& input, const Plan& plan, bool on_links);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_JOINT_JOINT_REQUEST_H_
