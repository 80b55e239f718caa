#include "core/planner/joint/joint_request.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/infeasibility.h"
#include "core/base/status_macros.h"
#include "core/base/violations.h"
#include "core/joint/baselines/joint_baselines.h"
#include "core/joint/cost/training_cluster.h"
#include "core/joint/cost/transformer_pricer.h"
#include "core/joint/plan/joint_planning.h"
#include "core/joint/plan/settings.h"
#include "core/model/device_selection.h"
#include "core/planner/joint/plan_assembly.h"
#include "core/verify/joint/joint_verifier.h"

namespace planwright {
namespace {

absl::StatusOr<TrainingCluster> TrainingClusterOf(const Cluster& cluster, const PlanningProblem& problem) {
  const DeviceSelection& selection = problem.devices_to_use;
  std::vector<DeviceId> devices = SelectedDevices(cluster, selection);
  const auto most = static_cast<std::size_t>(selection.max_devices.value_or(static_cast<int32_t>(devices.size())));
  // Nodes are alike, so the first ones are as good as any.
  if (devices.size() > most) devices.resize(most);
  absl::StatusOr<TrainingCluster> training = MakeTrainingCluster(cluster, devices, problem.memory_model.reserved_bytes);
  if (training.status().code() != absl::StatusCode::kInvalidArgument) return training;
  Violations violations;
  violations.Add("cluster.interconnect", std::string(training.status().message()));
  return violations.ToStatus();
}

class JointRequestRun {
 public:
  JointRequestRun(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                  const SolverOptions& options, TrainingCluster training)
      : graph_(graph),
        cluster_(cluster),
        problem_(problem),
        options_(options),
        training_(std::move(training)),
        pricer_(*graph.transformer, cluster, training_.inside, training_.between) {
    problem_.joint = ResolveJoint(*problem.joint, *graph.transformer, training_);
  }

  absl::StatusOr<Plan> Run(const SolveLimits& limits, const std::function<void(const Plan&)>& on_incumbent) {
    const JointQuestion question{pricer_,
                                 cluster_,
                                 training_,
                                 *problem_.joint,
                                 problem_.memory_model.reserved_bytes,
                                 options_.relative_gap > 0 ? options_.relative_gap : kJointGap};
    absl::Status incumbent_status;
    const auto report = [&](const JointAnswer& answer) {
      if (!incumbent_status.ok()) return;
      const absl::StatusOr<Plan> plan = VerifiedPlan(answer);
      incumbent_status = plan.status();
      if (plan.ok()) on_incumbent(*plan);
    };
    ASSIGN_OR_RETURN(const JointAnswer answer, PlanJointly(question, limits, report));
    RETURN_IF_ERROR(incumbent_status);
    ASSIGN_OR_RETURN(Plan plan, VerifiedPlan(answer));
    NoteEnd(limits, answer, plan);
    AddBaselines(question, limits, plan);
    return plan;
  }

 private:
  absl::StatusOr<Plan> VerifiedPlan(const JointAnswer& answer) const {
    Plan plan = AssembleJointPlan({graph_, cluster_, problem_, options_, pricer_, answer});
    Violations violations;
    VerifyJointPlan(graph_, cluster_, pricer_, plan, violations);
    if (violations.empty()) return plan;
    return RejectedPlanError(
        absl::StrCat("the verifier rejected the plan, please report this: ", violations.ToStatus().message()));
  }

  void AddBaselines(const JointQuestion& question, const SolveLimits& limits, Plan& plan) const {
    // Those would use all devices.
    if (problem_.objective == Objective::kMinDevices) return;
    const BaselineQuestion asked{question.pricer, question.training, question.settings, question.reserved_bytes};
    for (JointBaseline& baseline : JointBaselines(asked, limits)) {
      plan.baselines.push_back(
          {.algorithm = std::move(baseline.algorithm),
           .objective = baseline.plan.has_value() ? std::optional(baseline.plan->step) : std::nullopt,
           .reason = std::move(baseline.reason),
           .admissible = false});
      plan.baselines.back().admissible =
          plan.baselines.back().objective.has_value() && plan.baselines.back().reason.empty();
    }
  }

  static void NoteEnd(const SolveLimits& limits, const JointAnswer& answer, Plan& plan) {
    Provenance& provenance = plan.provenance;
    if (provenance.proven_optimal) {
      provenance.stop_reason = StopReason::kOptimal;
    } else if (answer.is_interrupted) {
      provenance.stop_reason = limits.stop.stop_requested() ? StopReason::kCancelled : StopReason::kTimeLimit;
    } else {
      provenance.stop_reason = RelativeGap(plan.objective, plan.lower_bound) <= kJointGap * (1 + 1e-9)
                                   ? StopReason::kGapReached
                                   : StopReason::kExhausted;
    }
  }

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  PlanningProblem problem_;
  const SolverOptions& options_;
  const TrainingCluster training_;
  const TransformerPricer pricer_;
};

}  // namespace

absl::StatusOr<Plan> MakeJointPlan(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                                   const SolverOptions& options, const SolveLimits& limits,
                                   const std::function<void(const Plan&)>& on_incumbent) {
  ASSIGN_OR_RETURN(TrainingCluster training, TrainingClusterOf(cluster, problem));
  return JointRequestRun(graph, cluster, problem, options, std::move(training)).Run(limits, on_incumbent);
}

}  // namespace planwright
