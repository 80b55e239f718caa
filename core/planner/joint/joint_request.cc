#include "core/planner/joint/joint_request.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/infeasibility.h"
#include "core/base/interruption.h"
#include "core/base/known.h"
#include "core/base/quantity_text.h"
#include "core/base/status_macros.h"
#include "core/base/violations.h"
#include "core/joint/baselines/joint_baselines.h"
#include "core/joint/cost/pair_links.h"
#include "core/joint/cost/training_cluster.h"
#include "core/joint/cost/training_efficiency.h"
#include "core/joint/operators/operator_settings.h"
#include "core/joint/place/network_cluster.h"
#include "core/joint/plan/device_mixes.h"
#include "core/joint/plan/fewest_devices.h"
#include "core/joint/plan/joint_planning.h"
#include "core/joint/plan/network_planning.h"
#include "core/joint/plan/other_layers.h"
#include "core/joint/plan/settings.h"
#include "core/joint/step/link_uses.h"
#include "core/joint/step/step_tasks.h"
#include "core/model/device_selection.h"
#include "core/model/validator.h"
#include "core/planner/joint/graph_prices.h"
#include "core/planner/joint/plan_assembly.h"
#include "core/planner/joint/plan_row.h"
#include "core/planner/joint/round_robin_request.h"
#include "core/verify/joint/joint_costing.h"
#include "core/verify/joint/joint_verifier.h"
#include "core/verify/joint/round_robin_costing.h"

namespace planwright {
namespace {

// Of devices, or of nodes that differ in size or memory.
bool HasSeveralClasses(const TrainingCluster& training) { return training.classes.size() > 1; }

absl::StatusOr<TrainingCluster> TrainingClusterOf(const Cluster& cluster, const ResolvedProblem& problem) {
  const DeviceSelection& selection = problem.devices_to_use;
  absl::StatusOr<TrainingCluster> training = (IsNetwork(cluster) ? MakeNetworkCluster : MakeTrainingCluster)(
      cluster, SelectedDevices(cluster, selection), problem.memory_model.reserved_bytes);
  if (training.ok() && IsRoundRobin(problem)) training = WithLikeMemory(*training, AssumedMemory::kLeast);
  // Where it matters which devices are left out, the search chooses them.
  const bool is_cut = training.ok() && selection.max_devices.has_value() && training->pairs == nullptr &&
                      (IsRoundRobin(problem) || !HasSeveralClasses(*training));
  if (is_cut) return FirstDevices(*training, *selection.max_devices);
  if (training.ok()) return training;
  const bool is_unknown = training.status().code() == absl::StatusCode::kInvalidArgument;
  Violations violations;
  violations.Add(is_unknown ? "cluster.interconnect" : "problem.devices_to_use",
                 std::string(training.status().message()));
  return violations.ToStatus();
}

// How many devices a plan may take whose classes the search chooses; 0: any number.
int64_t MostTotalOf(const TrainingCluster& training, const ResolvedProblem& problem) {
  const std::optional<int32_t>& most = problem.devices_to_use.max_devices;
  const bool is_less = most.has_value() && std::cmp_less(*most, training.devices.size());
  return is_less && HasSeveralClasses(training) ? *most : 0;
}

// As many devices as plans may take.
TrainingCluster AllowedOf(const TrainingCluster& training, const ResolvedProblem& problem) {
  const std::optional<int32_t>& most = problem.devices_to_use.max_devices;
  const bool is_less = most.has_value() && std::cmp_less(*most, training.devices.size());
  return is_less ? FirstDevices(training, *most) : training;
}

// The most devices that plans on a network of one class may take; empty: all.
std::vector<int64_t> MostDevicesOf(const TrainingCluster& training, const ResolvedProblem& problem) {
  const std::optional<int32_t>& most = problem.devices_to_use.max_devices;
  if (training.pairs == nullptr || !most.has_value() || HasSeveralClasses(training)) return {};
  return CountsByClass(training, *most);
}

JointSettings ResolveFor(const OperatorGraph& graph, const ResolvedProblem& problem, const TrainingCluster& all) {
  // Of whichever classes devices are chosen, the choices are those of all.
  const TrainingCluster training = HasSeveralClasses(all) ? all : AllowedOf(all, problem);
  const JointSettings& asked = Known(problem.joint);
  if (graph.transformer.has_value()) return ResolveJoint(asked, *graph.transformer, training);
  if (IsRoundRobin(problem)) return ResolveRoundRobin(asked, graph, training);
  return ResolveOperatorJoint(asked, graph, training);
}

// What a limit to the devices leaves out, asked where nothing fits.
std::optional<AllDevices> AllDevicesOf(const ResolvedInput& input) {
  if (!input.problem.devices_to_use.max_devices.has_value()) return std::nullopt;
  ResolvedProblem unlimited = input.problem;
  unlimited.devices_to_use.max_devices.reset();
  absl::StatusOr<TrainingCluster> training = TrainingClusterOf(input.cluster, unlimited);
  if (!training.ok()) return std::nullopt;
  JointSettings settings = ResolveFor(input.graph, unlimited, *training);
  return AllDevices{*std::move(training), std::move(settings)};
}

// The problem with its joint settings resolved as well, of what is valid.
ResolvedProblem WithDefaultsOn(const ResolvedInput& input, const TrainingCluster& training) {
  ResolvedProblem problem = input.problem;
  problem.joint = ResolveFor(input.graph, input.problem, training);
  return problem;
}

// What ended a search early, which nothing but these does.
StopReason WhyInterrupted(const SolveLimits& limits) {
  const std::optional<Interruption> why = CheckInterruption(limits);
  if (!why.has_value()) return StopReason::kMemoryLimit;
  return *why == Interruption::kCancelled ? StopReason::kCancelled : StopReason::kTimeLimit;
}

void NoteStop(const SolveLimits& limits, bool is_interrupted, Plan& plan) {
  Provenance& provenance = plan.provenance;
  if (provenance.proven_optimal) {
    provenance.stop_reason = StopReason::kOptimal;
  } else if (is_interrupted) {
    provenance.stop_reason = WhyInterrupted(limits);
  } else {
    provenance.stop_reason = RelativeGap(plan.objective, plan.lower_bound) <= kJointGap * (1 + 1e-9)
                                 ? StopReason::kGapReached
                                 : StopReason::kExhausted;
  }
}

int64_t DevicesOf(const JointPlan& plan) {
  int64_t devices = 0;
  for (const JointStage& stage : plan.stages) devices += stage.degrees.devices();
  return devices;
}

// Prices, settings and places of a request.
class JointRequestRun {
 public:
  JointRequestRun(const ResolvedInput& input, TrainingCluster training, OperatorLayers layers)
      : cluster_(input.cluster),
        problem_(WithDefaultsOn(input, training)),
        settings_(Known(problem_.joint)),
        training_(std::move(training)),
        all_(AllDevicesOf(input)),
        prices_(input, training_, std::move(layers)),
        graph_(prices_.graph()) {}

  absl::StatusOr<Plan> Run(const SolverOptions& options, const SolveLimits& limits,
                           const std::function<void(const Plan&)>& on_incumbent) {
    RETURN_IF_ERROR(CheckStart());
    // The search has its own looks at the clock, and keeps what it has.
    const InterruptionScope scope(nullptr);
    const std::optional<JointStart> start = StartOf();
    const JointQuestion question = QuestionOf(options, start.has_value() ? &*start : nullptr);
    absl::Status incumbent_status;
    const auto report = [&](const JointAnswer& answer) {
      // After a stop request the last one is the answer, which comes at once.
      if (!incumbent_status.ok() || limits.stop.stop_requested()) return;
      JointAnswer known = answer;
      // Of some of the devices it says nothing.
      if (problem_.objective == Objective::kMinDevices || question.most_total > 0) known.plan.step_bound = {};
      const absl::StatusOr<Plan> plan = VerifiedPlan(known, options);
      incumbent_status = plan.status();
      if (plan.ok()) on_incumbent(*plan);
    };
    const bool counts_devices = problem_.objective == Objective::kMinDevices;
    const auto plan_on_all = training_.pairs == nullptr ? PlanJointly : PlanOnNetwork;
    const auto plan_jointly = question.most_total > 0 ? PlanOnMix : plan_on_all;
    ASSIGN_OR_RETURN(const JointAnswer answer,
                     (counts_devices ? PlanOnFewestDevices : plan_jointly)(question, limits, report));
    RETURN_IF_ERROR(incumbent_status);
    ASSIGN_OR_RETURN(Plan plan, VerifiedPlan(answer, options));
    if (counts_devices) NoteDevices(answer, plan);
    NoteStop(limits, answer.is_interrupted, plan);
    AddBaselines(question, question.most_total > 0 ? answer.training : AllowedOf(training_, problem_), limits, plan);
    // What was left out meanwhile is nothing to give others who ask the same.
    if (limits.stop.stop_requested()) NoteStop(limits, true, plan);
    if (start.has_value()) NoteStart(answer, plan);
    NoteExchanges(plan);
    NoteMeasured(plan);
    return plan;
  }

  OtherLayers LookBehind(const Plan& known, const SolverOptions& options, const SolveLimits& limits) const {
    const JointPlan& joint = Known(known.joint);
    return LookAtOtherLayers(QuestionOf(options, nullptr), joint.step.count(), joint.simulated_step.count(), limits);
  }

  Verdict Evaluate(const Placement& placement) const {
    Verdict verdict;
    verdict.costed = CostJointPlacement(graph_, cluster_, pricer(), problem_, placement, verdict.violations);
    const std::optional<double>& target = settings_.target_tokens_per_second;
    if (verdict.costed.has_value() && target.has_value() && Known(verdict.costed->joint).tokens_per_second < *target) {
      verdict.violations.Add("plan.joint.tokens_per_second", absl::StrCat("must reach the target of ", *target));
    }
    return verdict;
  }

  absl::StatusOr<JointStep> StepOf(const Plan& plan, bool on_links) const {
    const JointPlan& joint = Known(plan.joint);
    if (MostStepTasks(joint) > kMostTasks) return TooManyTasks("");
    Violations violations;
    const auto num_stages = static_cast<int64_t>(plan.stages.size());
    if (joint.chunks > 1 && joint.micro_batches % num_stages != 0) {
      violations.Add("plan.joint.micro_batches", "must be a multiple of the stages where these are interleaved");
      return violations.ToStatus();
    }
    const TrainingCluster& all = all_.has_value() ? all_->training : training_;
    std::optional<PlanRow> placed = RowOfPlan(WithLikeMemory(all, AssumedMemory::kLeast), plan);
    if (!placed.has_value()) placed = RowOfOwnDevices(plan);
    if (!placed.has_value()) {
      violations.Add("plan.stages", "must lie in blocks of whole nodes or inside one, in pipeline order");
      return violations.ToStatus();
    }
    const DeviceRow row(placed->training);
    CostJointPlan(pricer(), row, problem_.memory_model.reserved_bytes, placed->plan);
    const std::vector<std::string> names = StageNames(plan);
    if (!on_links) return JointStep{StepTasks(pricer(), row, placed->plan, names), 0};
    const std::optional<StageLinkUses> uses = LinkUsesOf(cluster_, row, placed->plan);
    if (!uses.has_value()) {
      violations.Add("collectives", absl::StrCat("must be in passes where the exchanges of stages use more than ",
                                                 kMostLinkUses, " links, each exchange counted by itself"));
      return violations.ToStatus();
    }
    // A timeline of the wanted size is one that viewers open.
    std::optional<StepOnLinks> step =
        StepTasksOnLinks(pricer(), row, placed->plan, names, *uses, {.wanted = kMostTasks / 4, .most = kMostTasks});
    if (!step.has_value()) return TooManyTasks(", those of collectives among them");
    return JointStep{std::move(step->list), step->layers_per_task};
  }

 private:
  static constexpr int64_t kMostTasks = 1'000'000;

  static absl::Status TooManyTasks(const char* which) {
    Violations violations;
    violations.Add("plan.joint.micro_batches",
                   absl::StrCat("must make at most ", kMostTasks, " tasks of a step", which));
    return violations.ToStatus();
  }

  // Of nodes that have no devices but those of the plan: where a limit leaves devices of each idle, a stage takes as
  // many of several.
  std::optional<PlanRow> RowOfOwnDevices(const Plan& plan) const {
    if (training_.pairs != nullptr) return std::nullopt;
    std::vector<DeviceId> own;
    for (const Stage& stage : plan.stages) {
      for (const Replica& replica : stage.replicas) own.push_back(replica.device);
    }
    std::sort(own.begin(), own.end());
    const absl::StatusOr<TrainingCluster> nodes =
        MakeTrainingCluster(cluster_, own, problem_.memory_model.reserved_bytes);
    if (!nodes.ok()) return std::nullopt;
    return RowOfPlan(WithLikeMemory(*nodes, AssumedMemory::kLeast), plan);
  }

  std::vector<std::string> StageNames(const Plan& plan) const {
    std::vector<std::string> names;
    for (const Stage& stage : plan.stages) {
      const std::string& first = cluster_.devices[stage.replicas.front().device.index()].name;
      names.push_back(stage.replicas.size() == 1 ? first : absl::StrCat(first, " x ", stage.replicas.size()));
    }
    return names;
  }

  const LayerPricer& pricer() const { return prices_.pricer(); }

  JointQuestion QuestionOf(const SolverOptions& options, const JointStart* start) const {
    const bool is_part = problem_.devices_to_use.max_devices.has_value() && MostTotalOf(training_, problem_) == 0;
    const bool has_others = is_part && all_.has_value() && training_.pairs == nullptr;
    return {.pricer = pricer(),
            .cluster = cluster_,
            .training = training_,
            .settings = settings_,
            .reserved_bytes = problem_.memory_model.reserved_bytes,
            .relative_gap = options.relative_gap > 0 ? options.relative_gap : kJointGap,
            .start = start,
            .is_part = is_part,
            .whole = has_others ? &all_->training : nullptr,
            .part_counts =
                has_others ? CountsByClass(all_->training, std::ssize(training_.devices)) : std::vector<int64_t>(),
            .most_total = MostTotalOf(training_, problem_),
            .most_devices = MostDevicesOf(training_, problem_),
            .all = all_.has_value() ? &*all_ : nullptr};
  }

  absl::StatusOr<Plan> VerifiedPlan(const JointAnswer& answer, const SolverOptions& options) const {
    Plan plan = AssembleJointPlan({graph_, cluster_, problem_, options, pricer(), answer});
    Violations violations;
    VerifyJointPlan(graph_, cluster_, pricer(), plan, violations);
    if (violations.empty()) return plan;
    return RejectedPlanError(
        absl::StrCat("the verifier rejected the plan, please report this: ", violations.ToStatus().message()));
  }

  void AddBaselines(const JointQuestion& question, const TrainingCluster& training, const SolveLimits& limits,
                    Plan& plan) const {
    // Baselines would use all devices.
    if (problem_.objective == Objective::kMinDevices) return;
    const TrainingCluster allowed = WithLikeMemory(training, AssumedMemory::kLeast);
    const bool is_cut_off = plan.provenance.stop_reason == StopReason::kCancelled;
    const BaselineQuestion asked{question.pricer, allowed, question.settings, question.reserved_bytes};
    for (const JointBaseline& baseline : JointBaselines(asked, limits, is_cut_off)) {
      const std::string devices =
          baseline.plan.has_value() ? OnDevicesText(DevicesOf(*baseline.plan), std::ssize(allowed.devices)) : "";
      const bool has_both = !devices.empty() && !baseline.reason.empty();
      plan.baselines.push_back(
          {.algorithm = baseline.algorithm,
           .objective = baseline.plan.has_value() ? std::optional(baseline.plan->step) : std::nullopt,
           .reason = absl::StrCat(devices, has_both ? "; " : "", baseline.reason),
           .admissible = baseline.plan.has_value() && baseline.reason.empty()});
    }
  }

  // Its layers are those of the graph, which only the division of the operators tells where there is no transformer.
  absl::Status CheckStart() const {
    Violations violations;
    const std::optional<Placement>& start = problem_.start_from;
    const bool has_operators = !graph_.transformer.has_value();
    if (start.has_value() && has_operators && Known(start->joint).layer_labels != pricer().labels()) {
      violations.Add("problem.start_from.joint.stages", "must have the layers into which the graph is divided");
    }
    return violations.ToStatus();
  }

  std::optional<JointStart> StartOf() const {
    if (!problem_.start_from.has_value()) return std::nullopt;
    JointStart start{Known(problem_.start_from->joint), {}, {}};
    for (const Placement::Stage& stage : problem_.start_from->stages) {
      start.devices.push_back(stage.devices);
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

  // What only Piper's objective counts.
  void NoteExchanges(Plan& plan) const {
    for (const Operator& op : graph_.operators) {
      const auto has_some = [](const OperatorVariant& variant) { return !variant.boundary_exchanges.empty(); };
      if (std::none_of(op.variants.begin(), op.variants.end(), has_some)) continue;
      plan.warnings.emplace_back(
          "boundary_exchanges of variants count only where replicas take turns (replication PER_STAGE)");
      return;
    }
  }

  // What rows of a profile that do not count, or cannot be, would hide.
  void NoteMeasured(Plan& plan) const {
    if (!graph_.transformer.has_value() || graph_.transformer->measured_layers.empty()) return;
    const JointPlan& joint = Known(plan.joint);
    int64_t measured = 0;
    for (const JointStage& stage : joint.stages) measured += stage.measured_layers;
    if (measured == 0) {
      const Degrees& degrees = joint.stages.front().degrees;
      plan.warnings.push_back(absl::StrCat(
          "no layer of the plan was measured: graph.transformer.measured_layers has no row for its degrees "
          "(tensor ",
          degrees.tensor, ", context ", degrees.context, ", expert ", degrees.expert, ") and micro-batches (",
          CountedText(joint.micro_batch_samples, "sample"), "), so that its times are estimates"));
    } else if (joint.peak_share_in_use > 1) {
      plan.warnings.emplace_back(
          "the devices would do more than their peak: are the times of graph.transformer.measured_layers milliseconds "
          "of whole passes?");
    }
  }

  // What is proven of the number of devices.
  static void NoteDevices(const JointAnswer& answer, Plan& plan) {
    const int64_t allowed = answer.counters.at("devices_allowed");
    const int64_t needed = answer.counters.at("devices_needed");
    if (needed == allowed) return;
    plan.provenance.proven_optimal = false;
    plan.warnings.push_back(absl::StrCat("it is not proven that fewer devices do not do; ", needed,
                                         needed == 1 ? " is needed at least" : " are needed at least"));
  }

  const Cluster& cluster_;
  ResolvedProblem problem_;
  const JointSettings& settings_;
  const TrainingCluster training_;
  const std::optional<AllDevices> all_;
  const GraphPrices prices_;
  const OperatorGraph& graph_;
};

// The one whose layers a plan has; the first where none has them.
OperatorLayers DivisionFor(const ResolvedInput& input, const std::vector<std::string>& labels) {
  std::vector<OperatorLayers> divisions = DivisionsOf(input);
  const auto found = std::find_if(divisions.begin(), divisions.end(),
                                  [&](const OperatorLayers& division) { return division.labels == labels; });
  return std::move(found == divisions.end() ? divisions.front() : *found);
}

// The best plan over the divisions of the graph into layers.
class DivisionSearch {
 public:
  DivisionSearch(const ResolvedInput& input, const TrainingCluster& training, const SolverOptions& options,
                 const SolveLimits& limits, const std::function<void(const Plan&)>& on_incumbent)
      : input_(input),
        training_(training),
        options_(options),
        limits_(limits),
        on_incumbent_(on_incumbent),
        divisions_(DivisionsOf(input)) {}

  absl::StatusOr<Plan> Run() {
    PutStartFirst();
    // Elsewhere one division is enough to answer.
    if (input_.problem.objective == Objective::kMinDevices || training_.pairs != nullptr) divisions_.resize(1);
    absl::StatusOr<Plan> best = PlanOf(divisions_.front(), input_.problem);
    if (!best.ok() && !InfeasibilityOf(best.status()).has_value()) return best;
    for (std::size_t number = 1; number < divisions_.size(); ++number) LookAt(divisions_[number], best);
    if (best.ok() && divisions_.size() > 1) TakeBounds(*best);
    return best;
  }

 private:
  void PutStartFirst() {
    if (!input_.problem.start_from.has_value()) return;
    const std::vector<std::string>& labels = Known(input_.problem.start_from->joint).layer_labels;
    const auto has_labels = [&](const OperatorLayers& division) { return division.labels == labels; };
    std::stable_partition(divisions_.begin(), divisions_.end(), has_labels);
  }

  absl::StatusOr<Plan> PlanOf(const OperatorLayers& division, const ResolvedProblem& problem) {
    return JointRequestRun({input_.graph, input_.cluster, problem}, training_, division)
        .Run(options_, limits_, [&](const Plan& plan) {
          if (best_reported_.has_value() && plan.objective >= *best_reported_) return;
          best_reported_ = plan.objective;
          on_incumbent_(divisions_.size() == 1 ? plan : WithoutBounds(plan));
        });
  }

  // Of one division among others they say nothing.
  static Plan WithoutBounds(Plan plan) {
    plan.lower_bound = Known(plan.joint).step_bound = {};
    plan.bounds.clear();
    return plan;
  }

  // A better plan replaces the best one.
  void LookAt(const OperatorLayers& division, absl::StatusOr<Plan>& best) {
    ResolvedProblem problem = input_.problem;
    problem.start_from.reset();
    // Where devices are chosen as well, all together say little of what some may do.
    const bool is_some = MostTotalOf(training_, problem) > 0;
    if (best.ok() && !is_some) {
      const OtherLayers other = JointRequestRun({input_.graph, input_.cluster, problem}, training_, division)
                                    .LookBehind(*best, options_, limits_);
      is_interrupted_ = is_interrupted_ || other.is_interrupted;
      bound_ps_ = std::min(bound_ps_, other.step_bound_ps);
      simulated_bound_ps_ = std::min(simulated_bound_ps_, other.simulated_bound_ps);
      if (!other.has_better) return;
    }
    absl::StatusOr<Plan> plan = PlanOf(division, problem);
    if (best.ok() && is_some) NoteBounds(plan);
    if (!plan.ok() || (best.ok() && plan->objective >= best->objective)) return;
    if (best.ok()) {
      plan->warnings.insert(plan->warnings.begin(), best->warnings.begin(), best->warnings.end());
      plan->problem.start_from = best->problem.start_from;
      bound_ps_ = std::min(bound_ps_, best->lower_bound.count());
      simulated_bound_ps_ = std::min(simulated_bound_ps_, Known(best->joint).simulated_bound.count());
    }
    best = std::move(plan);
  }

  // Of a division that was searched for itself. Where nothing fits, no plan of it is better.
  void NoteBounds(const absl::StatusOr<Plan>& plan) {
    if (InfeasibilityOf(plan.status()).has_value()) return;
    bound_ps_ = std::min(bound_ps_, plan.ok() ? plan->lower_bound.count() : 0);
    simulated_bound_ps_ = std::min(simulated_bound_ps_, plan.ok() ? Known(plan->joint).simulated_bound.count() : 0);
    is_interrupted_ = is_interrupted_ || !plan.ok();
  }

  // Lowers the bounds of the plan to those of all divisions.
  void TakeBounds(Plan& plan) {
    JointPlan& joint = Known(plan.joint);
    joint.step_bound = std::min(joint.step_bound, Picoseconds(bound_ps_));
    joint.simulated_bound = std::min(joint.simulated_bound, Picoseconds(simulated_bound_ps_));
    plan.lower_bound = joint.step_bound;
    for (Bound& bound : plan.bounds) bound.value = std::min(bound.value, plan.lower_bound);
    if (plan.lower_bound == Picoseconds(0)) plan.bounds.clear();
    plan.provenance.proven_optimal = joint.simulated_step == joint.simulated_bound;
    plan.provenance.counters["linear_orders"] = static_cast<int64_t>(divisions_.size());
    const StopReason was = plan.provenance.stop_reason;
    const bool was_interrupted =
        was == StopReason::kTimeLimit || was == StopReason::kCancelled || was == StopReason::kMemoryLimit;
    NoteStop(limits_, is_interrupted_ || was_interrupted, plan);
  }

  const ResolvedInput& input_;
  const TrainingCluster& training_;
  const SolverOptions& options_;
  const SolveLimits& limits_;
  const std::function<void(const Plan&)>& on_incumbent_;
  std::vector<OperatorLayers> divisions_;
  std::optional<Picoseconds> best_reported_;
  // The least bounds of the divisions whose plan is not the best one.
  int64_t bound_ps_ = kMaxQuantity;
  int64_t simulated_bound_ps_ = kMaxQuantity;
  bool is_interrupted_ = false;
};

// Whether it says no more than what is counted for transformers anyway, as a resolved problem may.
bool IsUsualMemory(const MemoryModel& memory) {
  const double optimizer = memory.optimizer_bytes_per_parameter_byte.value_or(0);
  return memory.kind != MemoryModel::Kind::kDeclared && (memory.preset.empty() || memory.preset == "adam_mixed") &&
         memory.weight_versions.value_or(1) == 1 && memory.gradient_copies.value_or(1) == 1 &&
         (optimizer == 0 || optimizer == 6);
}

void AddForeignOptions(const SolverOptions& options, std::vector<std::string>& in_vain) {
  if (options.explain) {
    in_vain.emplace_back(
        "beside problem.joint, options.explain (--explain) adds nothing: joint.worth says what each choice is worth, "
        "and joint.equal_stages what simple plans reach");
  }
  if (options.work_limit.has_value()) {
    in_vain.emplace_back(
        "beside problem.joint, options.work_limit (--work_limit) does not count: options.time_limit (--time_limit) "
        "ends the search, and options.relative_gap (--gap) says how much better plans are sought");
  }
  const std::pair<bool, const char*> of_algorithms[] = {
      {options.ideal_limit.has_value(), "ideal_limit"},
      {options.clusters.has_value(), "clusters"},
      {options.clustering_alpha.has_value(), "clustering_alpha"},
      {options.refinement_steps.has_value(), "refinement_steps"},
  };
  for (const auto& [is_set, name] : of_algorithms) {
    if (!is_set) continue;
    in_vain.push_back(absl::StrCat("beside problem.joint, options.", name, " (--", name,
                                   ") does not count: it is of other algorithms"));
  }
}

void AddForeignSettings(const PlanningProblem& problem, std::vector<std::string>& in_vain) {
  const AllReduce& allreduce = problem.allreduce;
  const AllReduce usual;
  const std::pair<bool, const char*> of_gradients[] = {
      {allreduce.factor != usual.factor, "factor (--allreduce)"},
      {allreduce.charge != usual.charge, "charge (--allreduce_charge)"},
      {allreduce.amortize_over_micro_batches, "amortize_over_micro_batches (--amortize_allreduce)"},
      {allreduce.ring != usual.ring, "ring (--ring)"},
  };
  for (const auto& [is_set, name] : of_gradients) {
    if (!is_set) continue;
    in_vain.push_back(absl::StrCat("beside problem.joint, problem.allreduce.", name,
                                   " does not count: what ranks exchange follows from degrees and sharding"));
  }
  if (problem.require_contiguous_backward) {
    in_vain.emplace_back(
        "beside problem.joint, problem.require_contiguous_backward (--require_contiguous_backward) does not count: "
        "every stage passes runs of layers, both ways");
  }
  if (problem.max_subgraphs_per_device.value_or(1) != 1) {
    in_vain.emplace_back(
        "beside problem.joint, problem.max_subgraphs_per_device (--max_subgraphs_per_device) does not count: it is of "
        "MIN_LATENCY");
  }
}

bool ObeysRules(const ResolvedInput& input) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  const ModelLimits limits{kAny, kAny, kAny, kAny};
  Violations violations;
  ValidateGraph(input.graph, limits, violations);
  ValidateCluster(input.cluster, limits, violations);
  if (violations.empty()) {
    ValidateProblem(input.graph, input.cluster, AsPosed(input.problem), SolverOptions(), violations);
  }
  return violations.empty();
}

}  // namespace

ResolvedProblem WithJointDefaults(const ResolvedInput& input) {
  if (!input.problem.joint.has_value() || !ObeysRules(input)) return input.problem;
  const absl::StatusOr<TrainingCluster> training = TrainingClusterOf(input.cluster, input.problem);
  return training.ok() ? WithDefaultsOn(input, *training) : input.problem;
}

std::vector<std::string> SaidInVain(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                                    const SolverOptions& options) {
  std::vector<std::string> in_vain;
  if (!problem.joint.has_value()) return in_vain;
  AddForeignOptions(options, in_vain);
  AddForeignSettings(problem, in_vain);
  if (graph.transformer.has_value() && !IsUsualMemory(problem.memory_model)) {
    in_vain.emplace_back(
        "beside problem.joint, problem.memory_model counts for transformers in its reserved_bytes alone: parameters, "
        "gradients and optimizer are those of Adam in mixed precision (docs/training-costs.md, section 5)");
  }
  if (graph.transformer.has_value() && !graph.transformer->stores_scores &&
      problem.joint->recomputation == std::vector{LayerRecomputation::kSelective}) {
    in_vain.emplace_back(
        "problem.joint.recomputation SELECTIVE computes the scores of attention again, of which this model's fused "
        "attention keeps none: nothing is computed again (FULL is what saves memory)");
  }
  if (graph.transformer.has_value() && graph.transformer->eight_bit_products) {
    std::set<DeviceClassId> classes;
    for (const DeviceId device : SelectedDevices(cluster, problem.devices_to_use)) {
      classes.insert(cluster.devices[device.index()].device_class);
    }
    for (const DeviceClassId number : classes) {
      const DeviceClass& device_class = cluster.device_classes[number.index()];
      const bool has_none =
          device_class.kind == DeviceKind::kAccelerator && TrainingEfficiencyOf(device_class).eight_bit_gain <= 1;
      if (!has_none) continue;
      in_vain.push_back(absl::StrCat("products in 8 bits take as long as others on ", device_class.name,
                                     " (training.eight_bit_gain), which may have none: trainers refuse them there"));
    }
  }
  return in_vain;
}

absl::StatusOr<Plan> MakeJointPlan(const ResolvedInput& input, const SolverOptions& options, const SolveLimits& limits,
                                   const std::function<void(const Plan&)>& on_incumbent) {
  ASSIGN_OR_RETURN(const TrainingCluster training, TrainingClusterOf(input.cluster, input.problem));
  if (IsRoundRobin(input.problem)) {
    return MakeRoundRobinPlan(input.graph, input.cluster, WithDefaultsOn(input, training), training, options, limits,
                              on_incumbent);
  }
  return DivisionSearch(input, training, options, limits, on_incumbent).Run();
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
    verdict.costed = CostRoundRobinPlacement(input.graph, input.cluster, WithDefaultsOn(input, training), placement,
                                             verdict.violations);
    return verdict;
  }
  OperatorLayers layers = DivisionFor(input, placement.joint->layer_labels);
  return JointRequestRun(input, std::move(training), std::move(layers)).Evaluate(placement);
}

absl::StatusOr<JointStep> JointStepTasks(const ResolvedInput& input, const Plan& plan, bool on_links) {
  if (IsRoundRobin(input.problem)) {
    if (!on_links) {
      ASSIGN_OR_RETURN(TaskList list, RoundRobinStepTasks(input.cluster, plan));
      return JointStep{std::move(list), 0};
    }
    Violations violations;
    violations.Add("collectives", "must be IN_PASSES where replicas take turns");
    return violations.ToStatus();
  }
  ASSIGN_OR_RETURN(TrainingCluster training, TrainingClusterOf(input.cluster, input.problem));
  OperatorLayers layers = DivisionFor(input, Known(plan.joint).layer_labels);
  return JointRequestRun(input, std::move(training), std::move(layers)).StepOf(plan, on_links);
}

}  // namespace planwright
