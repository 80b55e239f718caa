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
#include "core/joint/cost/pair_links.h"
#include "core/joint/cost/step_tasks.h"
#include "core/joint/cost/training_cluster.h"
#include "core/joint/operators/operator_settings.h"
#include "core/joint/place/network_cluster.h"
#include "core/joint/plan/fewest_devices.h"
#include "core/joint/plan/joint_planning.h"
#include "core/joint/plan/network_planning.h"
#include "core/joint/plan/settings.h"
#include "core/model/device_selection.h"
#include "core/planner/joint/graph_prices.h"
#include "core/planner/joint/plan_assembly.h"
#include "core/planner/joint/plan_row.h"
#include "core/planner/joint/round_robin_request.h"
#include "core/verify/joint/joint_costing.h"
#include "core/verify/joint/joint_verifier.h"
#include "core/verify/joint/round_robin_costing.h"

namespace planwright {
namespace {

absl::StatusOr<TrainingCluster> TrainingClusterOf(const Cluster& cluster, const ResolvedProblem& problem) {
  const DeviceSelection& selection = problem.devices_to_use;
  absl::StatusOr<TrainingCluster> training = (IsNetwork(cluster) ? MakeNetworkCluster : MakeTrainingCluster)(
      cluster, SelectedDevices(cluster, selection), problem.memory_model.reserved_bytes);
  if (training.ok() && selection.max_devices.has_value()) return FirstDevices(*training, *selection.max_devices);
  if (training.status().code() != absl::StatusCode::kInvalidArgument) return training;
  Violations violations;
  violations.Add("cluster.interconnect", std::string(training.status().message()));
  return violations.ToStatus();
}

JointSettings ResolveFor(const OperatorGraph& graph, const ResolvedProblem& problem, const TrainingCluster& training) {
  if (graph.transformer.has_value()) return ResolveJoint(*problem.joint, *graph.transformer, training);
  if (IsRoundRobin(problem)) return ResolveRoundRobin(*problem.joint, graph, training);
  return ResolveOperatorJoint(*problem.joint, graph, training);
}

// Prices, settings and places of a request.
class JointRequestRun {
 public:
  JointRequestRun(const ResolvedInput& input, TrainingCluster training)
      : cluster_(input.cluster),
        problem_(input.problem),
        training_(std::move(training)),
        prices_(input, training_),
        graph_(prices_.graph()) {
    problem_.joint = ResolveFor(input.graph, input.problem, training_);
  }

  absl::StatusOr<Plan> Run(const SolverOptions& options, const SolveLimits& limits,
                           const std::function<void(const Plan&)>& on_incumbent) {
    RETURN_IF_ERROR(CheckStart());
    const std::optional<JointStart> start = StartOf();
    const JointQuestion question{pricer(),
                                 cluster_,
                                 training_,
                                 *problem_.joint,
                                 problem_.memory_model.reserved_bytes,
                                 options.relative_gap > 0 ? options.relative_gap : kJointGap,
                                 start.has_value() ? &*start : nullptr,
                                 problem_.devices_to_use.max_devices.has_value()};
    absl::Status incumbent_status;
    const auto report = [&](const JointAnswer& answer) {
      if (!incumbent_status.ok()) return;
      const absl::StatusOr<Plan> plan = VerifiedPlan(answer, options);
      incumbent_status = plan.status();
      if (plan.ok()) on_incumbent(*plan);
    };
    const bool counts_devices = problem_.objective == Objective::kMinDevices;
    const auto plan_jointly = training_.pairs == nullptr ? PlanJointly : PlanOnNetwork;
    ASSIGN_OR_RETURN(const JointAnswer answer,
                     (counts_devices ? PlanOnFewestDevices : plan_jointly)(question, limits, report));
    RETURN_IF_ERROR(incumbent_status);
    ASSIGN_OR_RETURN(Plan plan, VerifiedPlan(answer, options));
    NoteEnd(limits, answer, plan);
    AddBaselines(question, limits, plan);
    if (counts_devices) NoteDevices(answer, plan);
    if (start.has_value()) NoteStart(answer, plan);
    return plan;
  }

  Verdict Evaluate(const Placement& placement) const {
    Verdict verdict;
    verdict.costed = CostJointPlacement(graph_, cluster_, pricer(), problem_, placement, verdict.violations);
    const std::optional<double>& target = problem_.joint->target_tokens_per_second;
    if (verdict.costed.has_value() && target.has_value() && verdict.costed->joint->tokens_per_second < *target) {
      verdict.violations.Add("plan.joint.tokens_per_second", absl::StrCat("must reach the target of ", *target));
    }
    return verdict;
  }

  absl::StatusOr<TaskList> StepOf(const Plan& plan) const {
    constexpr int64_t kMostTasks = 1'000'000;
    Violations violations;
    if (MostStepTasks(*plan.joint) > kMostTasks) {
      violations.Add("plan.joint.micro_batches", absl::StrCat("must make at most ", kMostTasks, " tasks of a step"));
      return violations.ToStatus();
    }
    const auto num_stages = static_cast<int64_t>(plan.stages.size());
    if (plan.joint->chunks > 1 && plan.joint->micro_batches % num_stages != 0) {
      violations.Add("plan.joint.micro_batches", "must be a multiple of the stages where these are interleaved");
      return violations.ToStatus();
    }
    std::optional<PlanRow> placed = RowOfPlan(training_, plan);
    if (!placed.has_value()) {
      violations.Add("plan.stages", "must lie in blocks of whole nodes or inside one, in pipeline order");
      return violations.ToStatus();
    }
    const DeviceRow row(placed->training);
    CostJointPlan(pricer(), row, problem_.memory_model.reserved_bytes, placed->plan);
    std::vector<std::string> names;
    for (const Stage& stage : plan.stages) {
      const std::string& first = cluster_.devices[stage.replicas.front().device.index()].name;
      names.push_back(stage.replicas.size() == 1 ? first : absl::StrCat(first, " x ", stage.replicas.size()));
    }
    return StepTasks(pricer(), row, placed->plan, names);
  }

 private:
  const LayerPricer& pricer() const { return prices_.pricer(); }

  absl::StatusOr<Plan> VerifiedPlan(const JointAnswer& answer, const SolverOptions& options) const {
    Plan plan = AssembleJointPlan({graph_, cluster_, problem_, options, pricer(), answer});
    Violations violations;
    VerifyJointPlan(graph_, cluster_, pricer(), plan, violations);
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

  // Its layers are those of the graph, which only the division of the operators tells where there is no transformer.
  absl::Status CheckStart() const {
    Violations violations;
    const bool has_operators = problem_.start_from.has_value() && !graph_.transformer.has_value();
    if (has_operators && problem_.start_from->joint->layer_labels != pricer().labels()) {
      violations.Add("problem.start_from.joint.stages", "must have the layers into which the graph is divided");
    }
    return violations.ToStatus();
  }

  std::optional<JointStart> StartOf() const {
    if (!problem_.start_from.has_value()) return std::nullopt;
    JointStart start{*problem_.start_from->joint, {}};
    for (const Placement::Stage& stage : problem_.start_from->stages) {
      start.classes.emplace_back();
      if (!stage.devices.empty()) {
        start.classes.back() = cluster_.devices[stage.devices.front().index()].device_class;
      }
    }
    return start;
  }

  static void NoteStart(const JointAnswer& answer, Plan& plan) {
    const int64_t fits = answer.counters.at("start_fits");
    if (fits == 2) return;
    plan.warnings.emplace_back(fits == 1
                                   ? "problem.start_from does not fit as it is; the search began with its choices "
                                     "adapted to these devices"
                                   : "nothing of problem.start_from fits these devices and choices");
  }

  // What is proven of the number of devices.
  static void NoteDevices(const JointAnswer& answer, Plan& plan) {
    const int64_t allowed = answer.counters.at("devices_allowed");
    const int64_t needed = answer.counters.at("devices_needed");
    if (needed == allowed) return;
    plan.warnings.push_back(
        absl::StrCat("it is not proven that fewer devices do not do; ", needed, " are needed at least"));
  }

  const Cluster& cluster_;
  ResolvedProblem problem_;
  const TrainingCluster training_;
  const GraphPrices prices_;
  const OperatorGraph& graph_;
};

}  // namespace

ResolvedProblem WithJointDefaults(const ResolvedInput& input) {
  ResolvedProblem problem = input.problem;
  if (!problem.joint.has_value()) return problem;
  const absl::StatusOr<TrainingCluster> training = TrainingClusterOf(input.cluster, problem);
  if (training.ok()) problem.joint = ResolveFor(input.graph, problem, *training);
  return problem;
}

absl::StatusOr<Plan> MakeJointPlan(const ResolvedInput& input, const SolverOptions& options, const SolveLimits& limits,
                                   const std::function<void(const Plan&)>& on_incumbent) {
  ASSIGN_OR_RETURN(TrainingCluster training, TrainingClusterOf(input.cluster, input.problem));
  if (IsRoundRobin(input.problem)) {
    return MakeRoundRobinPlan(input.graph, input.cluster, WithJointDefaults(input), training, options, limits);
  }
  return JointRequestRun(input, std::move(training)).Run(options, limits, on_incumbent);
}

absl::StatusOr<Verdict> EvaluateJointPlacement(const ResolvedInput& input, const Placement& placement) {
  if (!placement.joint.has_value()) {
    Verdict verdict;
    verdict.violations.Add("plan.joint", "must be set: the problem has joint settings");
    return verdict;
  }
  ASSIGN_OR_RETURN(TrainingCluster training, TrainingClusterOf(input.cluster, input.problem));
  if (IsRoundRobin(input.problem)) {
    Verdict verdict;
    verdict.costed =
        CostRoundRobinPlacement(input.graph, input.cluster, WithJointDefaults(input), placement, verdict.violations);
    return verdict;
  }
  return JointRequestRun(input, std::move(training)).Evaluate(placement);
}

absl::StatusOr<TaskList> JointStepTasks(const ResolvedInput& input, const Plan& plan) {
  if (IsRoundRobin(input.problem)) {
    Violations violations;
    violations.Add("plan.problem.replication", "must not be PER_STAGE: a step of replicas in turn is not simulated");
    return violations.ToStatus();
  }
  ASSIGN_OR_RETURN(TrainingCluster training, TrainingClusterOf(input.cluster, input.problem));
  return JointRequestRun(input, std::move(training)).StepOf(plan);
}

}  // namespace planwright
