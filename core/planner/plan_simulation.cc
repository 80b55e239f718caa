#include "core/planner/plan_simulation.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/index.h"
#include "core/base/interruption.h"
#include "core/base/known.h"
#include "core/base/quantity_text.h"
#include "core/base/status_macros.h"
#include "core/base/violations.h"
#include "core/cost/chain/periodic_costing.h"
#include "core/cost/pipeline_work.h"
#include "core/cost/plan_costing.h"
#include "core/cost/terms/cost_table.h"
#include "core/planner/joint/joint_request.h"
#include "core/schedule/pattern_unroll.h"
#include "core/schedule/task_list_builder.h"
#include "core/simulate/dynamic_simulator.h"
#include "core/simulate/flow_simulator.h"
#include "core/simulate/task_graph.h"

namespace planwright {
namespace {

constexpr int32_t kMicroBatchesPerStage = 4;

absl::Status ViolationAt(const char* path, std::string rule) {
  Violations violations;
  violations.Add(path, std::move(rule));
  return violations.ToStatus();
}

bool SharesDevices(const Placement& placement) {
  std::set<DeviceId> seen;
  for (const Placement::Stage& stage : placement.stages) {
    for (const DeviceId device : stage.devices) {
      if (!seen.insert(device).second) return true;
    }
  }
  return false;
}

bool IsReplicated(const Placement& placement) {
  return std::any_of(placement.stages.begin(), placement.stages.end(),
                     [](const Placement::Stage& stage) { return stage.devices.size() > 1; });
}

MemoryModel::Recomputation RecomputationOf(const PlanningProblem& problem, const SimulationSettings& settings) {
  return settings.recomputation.value_or(problem.memory_model.recomputation);
}

// A pattern is made for its recomputation: another one needs another pattern.
Placement PlacementOfRun(const PlanningProblem& problem, Placement placement, const SimulationSettings& settings) {
  if (RecomputationOf(problem, settings) != problem.memory_model.recomputation) placement.pattern.reset();
  return placement;
}

// What the simulator needs of the problem: how things are costed, and none of the constraints on where they are.
PlanningProblem ProblemOfRun(const PlanningProblem& problem, const Placement& placement,
                             const SimulationSettings& settings) {
  PlanningProblem run;
  run.workload = problem.workload;
  run.overlap = problem.overlap;
  run.allreduce = problem.allreduce;
  run.allreduce.amortize_over_micro_batches = false;
  run.memory_model = problem.memory_model;
  run.memory_model.recomputation = MemoryModel::Recomputation::kNone;
  run.split = SharesDevices(placement) ? Split::kNonContiguous : Split::kContiguous;
  run.replication = IsReplicated(placement) ? Replication::kPerStage : Replication::kNone;
  // UNIFORM may come to one replica, which reduces nothing.
  if (run.replication == Replication::kNone) run.allreduce = AllReduce();
  if (settings.schedule.value_or(problem.schedule) == ScheduleKind::kPeriodic) {
    run.schedule = ScheduleKind::kPeriodic;
    run.memory_model.recomputation = RecomputationOf(problem, settings);
    if (run.split == Split::kNonContiguous) {
      run.max_stages_per_device = static_cast<int32_t>(placement.stages.size());
    }
  }
  return run;
}

// Those of all copies of the pipeline, where the problem says how many one does.
int32_t DefaultMicroBatches(const PlanningProblem& problem, const Plan& plan) {
  if (!problem.micro_batches.has_value()) return kMicroBatchesPerStage * static_cast<int32_t>(plan.stages.size());
  const bool has_copies = problem.replication == Replication::kUniform && !plan.stages.empty();
  const int64_t copies = has_copies ? static_cast<int64_t>(plan.stages.front().replicas.size()) : 1;
  return static_cast<int32_t>(std::min<int64_t>(*problem.micro_batches * copies, std::numeric_limits<int32_t>::max()));
}

// `plan` is the placement, costed.
absl::StatusOr<ResolvedSettings> Resolve(const PlanningProblem& problem, const Plan& plan,
                                         const SimulationSettings& settings) {
  ResolvedSettings resolved{.schedule = settings.schedule.value_or(problem.schedule),
                            .micro_batches = settings.micro_batches.value_or(DefaultMicroBatches(problem, plan)),
                            .recomputation = RecomputationOf(problem, settings),
                            .contention = settings.contention.value_or(Contention::kExclusive),
                            .collectives = settings.collectives,
                            .order = settings.order};
  if (resolved.schedule == ScheduleKind::kSteadyState) {
    const bool training = plan.problem.workload == Workload::kTraining;
    resolved.schedule = training ? ScheduleKind::kOneFOneB : ScheduleKind::kGpipe;
  }
  if (settings.collectives != Collectives::kInPasses) {
    return ViolationAt("collectives", "must be IN_PASSES: only plans of the joint search have collectives in layers");
  }
  if (resolved.micro_batches < 1) {
    return ViolationAt("micro_batches", absl::StrCat("must be >= 1, is ", resolved.micro_batches));
  }
  if (resolved.schedule == ScheduleKind::kPeriodic && !resolved.order.empty()) {
    return ViolationAt("order", "must be empty under PERIODIC, whose pattern is the order");
  }
  return resolved;
}

// Why the plan cannot run as a pipeline in both directions; empty: it can.
std::string ObjectionToChimera(const Cluster& cluster, const Plan& plan) {
  std::set<DeviceId> devices;
  std::set<DeviceClassId> classes;
  for (const Stage& stage : plan.stages) {
    for (const Replica& replica : stage.replicas) {
      devices.insert(replica.device);
      classes.insert(cluster.devices[replica.device.index()].device_class);
    }
    if (stage.replicas.size() > 1) return "CHIMERA needs a plan without replicas";
  }
  if (plan.stages.size() % 2 != 0 || devices.size() != plan.stages.size() || classes.size() != 1) {
    return absl::StrCat(
        "CHIMERA needs an even number of stages, each on a device of its own, all of one class; the "
        "plan has ",
        plan.stages.size(), " stages on ", devices.size(), " devices of ", classes.size(),
        classes.size() == 1 ? " class" : " classes");
  }
  const Network network(cluster.interconnect);
  const bool has_bandwidth = network.SlowestLink().bandwidth_bytes_per_second.has_value();
  if (plan.problem.workload == Workload::kTraining && !has_bandwidth) {
    return "CHIMERA reduces gradients between devices: the interconnect needs bandwidth_bytes_per_second";
  }
  return "";
}

absl::StatusOr<TaskList> UnrolledPattern(const PlanRequest& request, const CostTable& costs, const Plan& plan,
                                         const ResolvedSettings& settings) {
  const std::optional<PeriodicPattern> pattern = PlacementOf(plan).pattern;
  if (!pattern.has_value()) return ViolationAt("plan.schedule", "states no pattern, and none could be found");
  std::vector<std::string> names = Mapped(request.cluster.devices, [&](const Device& device) { return device.name; });
  const auto [chain, devices, allocation] = ChainOfStages(request.graph, request.cluster, costs, plan);
  ASSIGN_OR_RETURN(TaskList list, UnrollPattern(chain, devices, allocation, *pattern, names, settings.micro_batches));
  for (TaskResource& resource : list.resources) {
    const bool is_device = resource.kind == TaskResource::Kind::kDevice;
    if (is_device) resource.initial_memory_bytes += plan.problem.memory_model.reserved_bytes;
  }
  return list;
}

// Positions of devices in PipelineWork.
absl::StatusOr<std::vector<GivenOrder>> OrdersOfRequest(const Cluster& cluster, const PipelineWork& work,
                                                        const ResolvedSettings& settings) {
  Violations violations;
  std::vector<GivenOrder> orders;
  for (std::size_t i = 0; i < settings.order.size(); ++i) {
    const auto& [id, passes] = settings.order[i];
    const auto device = std::find_if(work.devices.begin(), work.devices.end(),
                                     [&, id = id](const PipelineDevice& any) { return any.id == id; });
    if (device == work.devices.end()) {
      violations.Add(absl::StrCat("order[", i, "].device"),
                     absl::StrCat("the plan does not use ", cluster.devices[id.index()].name));
    }
    orders.push_back({static_cast<int32_t>(device - work.devices.begin()), passes});
  }
  RETURN_IF_ERROR(violations.ToStatus());
  return orders;
}

absl::StatusOr<TaskList> ListOf(const PlanRequest& request, const CostTable& costs, const Plan& plan,
                                const ResolvedSettings& settings) {
  if (settings.schedule == ScheduleKind::kPeriodic) return UnrolledPattern(request, costs, plan, settings);
  const bool both_ways = settings.schedule == ScheduleKind::kChimera;
  const std::string objection = both_ways ? ObjectionToChimera(request.cluster, plan) : "";
  if (!objection.empty()) return ViolationAt("schedule", objection);
  const PipelineWork work = both_ways ? MeasureBidirectionalWork(request.graph, request.cluster, costs, plan)
                                      : MeasurePipelineWork(request.graph, request.cluster, costs, plan);
  ScheduleSettings schedule{.kind = settings.schedule,
                            .micro_batches = settings.micro_batches,
                            .recompute = settings.recomputation == MemoryModel::Recomputation::kFull,
                            .alternates_links = settings.contention == Contention::kExclusive,
                            .order = {}};
  ASSIGN_OR_RETURN(schedule.order, OrdersOfRequest(request.cluster, work, settings));
  return BuildTaskList(work, schedule);
}

absl::Status CheckRuns(const TaskList& list, const ResolvedSettings& settings) {
  const std::vector<int32_t> cycle = FindCycle(list);
  if (cycle.empty()) return absl::OkStatus();
  return ViolationAt(settings.order.empty() ? "plan.stages" : "order",
                     absl::StrCat("cannot run: ", CycleText(list, cycle)));
}

bool IsAsynchronous(ScheduleKind schedule) {
  return schedule == ScheduleKind::kPipedreamAsync || schedule == ScheduleKind::kPeriodic;
}

std::vector<std::optional<int64_t>> MemoryLimits(const Cluster& cluster, const TaskList& list) {
  std::vector<std::optional<int64_t>> limits(list.resources.size());
  std::size_t device = 0;
  // Both are in the order of the cluster.
  for (std::size_t i = 0; i < limits.size() && list.resources[i].kind == TaskResource::Kind::kDevice; ++i) {
    while (cluster.devices[device].name != list.resources[i].name) ++device;
    limits[i] = UsableMemoryBytes(cluster, DeviceId(device));
  }
  return limits;
}

void AddMemoryWarnings(PlanSimulation& simulation) {
  for (std::size_t i = 0; i < simulation.memory_limits.size(); ++i) {
    const std::optional<int64_t>& limit = simulation.memory_limits[i];
    const int64_t peak_bytes = simulation.report.resources[i].peak_memory_bytes;
    if (!limit.has_value() || peak_bytes <= *limit) continue;
    simulation.warnings.push_back(absl::StrCat(simulation.list.resources[i].name, " needs ", SizeText(peak_bytes),
                                               " at its peak and has ", SizeText(*limit), ": ",
                                               MissingText(peak_bytes - *limit)));
  }
}

// What stands in for a schedule that neither the plan nor the request states, where the plan's memory counts otherwise.
void AddAssumption(const PlanningProblem& problem, const Plan& plan, const SimulationSettings& asked,
                   PlanSimulation& simulation) {
  const bool is_stated = asked.schedule.has_value() || problem.schedule != ScheduleKind::kSteadyState;
  const bool stores =
      plan.problem.workload == Workload::kTraining && plan.problem.memory_model.kind == MemoryModel::Kind::kComponents;
  if (is_stated || !stores) return;
  const int64_t most = std::min<int64_t>(std::ssize(plan.stages), simulation.settings.micro_batches);
  const std::string counted = problem.micro_batches.has_value()
                                  ? absl::StrCat("all ", *problem.micro_batches, ", as GPIPE has")
                                  : std::string("one, that of the steady state");
  simulation.warnings.push_back(absl::StrCat("the plan states no schedule, so that this is ONE_F_ONE_B with up to ",
                                             most, " micro-batches in flight in a stage; the plan's memory counts ",
                                             counted, ". Name a schedule to run another one"));
}

void AddScheduleWarnings(const OperatorGraph& graph, const Plan& plan, PlanSimulation& simulation) {
  const bool splits = std::any_of(graph.operators.begin(), graph.operators.end(), [](const Operator& op) {
    return std::any_of(op.costs.begin(), op.costs.end(),
                       [](const OperatorCost& cost) { return cost.backward_weight > Picoseconds(0); });
  });
  const ResolvedSettings& settings = simulation.settings;
  const bool training = plan.problem.workload == Workload::kTraining;
  if (settings.schedule == ScheduleKind::kZeroBubbleH1 && training && !splits) {
    simulation.warnings.emplace_back("no operator states backward_weight_ms, so ZERO_BUBBLE_H1 has nothing to delay");
  }
  if (settings.recomputation == MemoryModel::Recomputation::kFull &&
      plan.problem.memory_model.kind == MemoryModel::Kind::kDeclared) {
    simulation.warnings.emplace_back(
        "DECLARED memory does not depend on micro-batches in flight: recomputation saves "
        "none of it");
  }
}

absl::StatusOr<PlanSimulation> Run(const PlanRequest& request, const Plan& plan, const CostTable& costs,
                                   ResolvedSettings settings, const SolveLimits& limits) {
  PlanSimulation simulation;
  simulation.settings = std::move(settings);
  ASSIGN_OR_RETURN(simulation.list, ListOf(request, costs, plan, simulation.settings));
  RETURN_IF_ERROR(CheckRuns(simulation.list, simulation.settings));
  RETURN_IF_ERROR(CheckNotInterrupted(limits));
  simulation.timeline = SimulateTasks(simulation.list, simulation.settings.contention);
  simulation.report = ReportOn(simulation.list, simulation.timeline);
  if (IsAsynchronous(simulation.settings.schedule)) {
    simulation.period = SteadyPeriod(simulation.list, simulation.timeline, simulation.settings.micro_batches);
  }
  simulation.memory_limits = MemoryLimits(request.cluster, simulation.list);
  AddMemoryWarnings(simulation);
  AddScheduleWarnings(request.graph, plan, simulation);
  return simulation;
}

// What a plan of the joint search does not leave open.
absl::Status CheckJointSettings(const JointPlan& joint, const ResolvedSettings& resolved,
                                const SimulationSettings& asked) {
  Violations violations;
  if (asked.schedule.value_or(resolved.schedule) != resolved.schedule) {
    violations.Add("schedule", "must be unset or that of the plan");
  }
  if (asked.micro_batches.value_or(resolved.micro_batches) != resolved.micro_batches) {
    violations.Add("micro_batches", absl::StrCat("must be unset or those of the plan, ", joint.micro_batches));
  }
  if (asked.recomputation.value_or(resolved.recomputation) != resolved.recomputation) {
    violations.Add("recomputation", "must be unset: the plan says for each layer what is computed again");
  }
  if (!asked.order.empty()) violations.Add("order", "must be empty: the plan has its order");
  const bool on_links = asked.collectives == Collectives::kOnLinks;
  if (on_links && asked.contention.value_or(Contention::kFairShare) != Contention::kFairShare) {
    violations.Add("contention", "must be unset or FAIR_SHARE: collectives on links share them");
  }
  return violations.ToStatus();
}

ResolvedSettings JointSettingsOf(const JointPlan& joint, const SimulationSettings& asked) {
  ResolvedSettings resolved;
  resolved.schedule = ScheduleOf(joint.order);
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  resolved.micro_batches = static_cast<int32_t>(std::min(joint.micro_batches, kMost));
  bool recomputes = false;
  for (const JointStage& stage : joint.stages) {
    for (const JointChunk& chunk : stage.chunks) {
      for (const LayerRecomputation mode : chunk.recomputation) recomputes |= mode != LayerRecomputation::kNone;
    }
  }
  resolved.recomputation = recomputes ? MemoryModel::Recomputation::kFull : MemoryModel::Recomputation::kNone;
  resolved.collectives = asked.collectives;
  const bool on_links = asked.collectives == Collectives::kOnLinks;
  resolved.contention = asked.contention.value_or(on_links ? Contention::kFairShare : Contention::kExclusive);
  return resolved;
}

// Measurements of passes, and times that a graph states, do not say what of them ranks of a stage exchange inside.
void AddMeasuredWarning(const JointPlan& joint, PlanSimulation& simulation) {
  int64_t measured = 0;
  for (const JointStage& stage : joint.stages) {
    const Degrees& degrees = stage.degrees;
    const bool may_exchange = std::max({degrees.tensor, degrees.context, degrees.expert}) > 1;
    if (may_exchange) measured += stage.measured_layers;
  }
  if (measured == 0) return;
  const bool is_one = measured == 1;
  simulation.warnings.push_back(absl::StrCat("the times of ", measured, is_one ? " layer are" : " layers are",
                                             " those that were given: collectives inside ", is_one ? "its" : "their",
                                             " passes count as computation"));
}

absl::StatusOr<PlanSimulation> SimulateJointPlacement(const PlanRequest& request, const ModelLimits& model_limits,
                                                      const Placement& placement, const SimulationSettings& settings,
                                                      const SolveLimits& limits) {
  ASSIGN_OR_RETURN(const Verdict verdict, EvaluatePlacement(request, model_limits, placement, limits));
  if (!verdict.costed.has_value()) return verdict.violations.ToStatus();
  const Plan& plan = *verdict.costed;
  PlanSimulation simulation;
  const JointPlan& joint = Known(plan.joint);
  simulation.settings = JointSettingsOf(joint, settings);
  RETURN_IF_ERROR(CheckJointSettings(joint, simulation.settings, settings));
  const ResolvedProblem problem = ResolveProblem(request.graph, request.problem);
  const bool on_links = settings.collectives == Collectives::kOnLinks;
  ASSIGN_OR_RETURN(JointStep step, JointStepTasks({request.graph, request.cluster, problem}, plan, on_links));
  simulation.list = std::move(step.list);
  simulation.layers_per_task = step.layers_per_task;
  RETURN_IF_ERROR(CheckNotInterrupted(limits));
  if (on_links) {
    simulation.step_without_contention = joint.simulated_step;
    simulation.timeline = SimulateFlows(simulation.list);
  } else {
    simulation.timeline = SimulateTasks(simulation.list, simulation.settings.contention);
  }
  simulation.report = ReportOn(simulation.list, simulation.timeline);
  // Where replicas take turns each is a resource, elsewhere each stage.
  const auto is_device = [](const TaskResource& any) { return any.kind == TaskResource::Kind::kDevice; };
  const std::vector<TaskResource>& all = simulation.list.resources;
  const auto resources = static_cast<std::size_t>(std::count_if(all.begin(), all.end(), is_device));
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const auto ranks = static_cast<std::size_t>(joint.stages[s].degrees.data);
    const auto limit = UsableMemoryBytes(request.cluster, plan.stages[s].replicas.front().device);
    simulation.memory_limits.insert(simulation.memory_limits.end(), resources == plan.stages.size() ? 1 : ranks, limit);
  }
  simulation.memory_limits.resize(all.size());
  AddMemoryWarnings(simulation);
  if (on_links) AddMeasuredWarning(joint, simulation);
  return simulation;
}

}  // namespace

absl::StatusOr<PlanSimulation> SimulatePlacement(const PlanRequest& request, const ModelLimits& model_limits,
                                                 const Placement& placement, const SimulationSettings& settings,
                                                 const SolveLimits& limits) try {
  const InterruptionScope scope(&limits);
  if (request.problem.objective == Objective::kMinLatency) {
    return ViolationAt("problem.objective", "MIN_LATENCY runs one micro-batch, whose schedule is in the plan itself");
  }
  if (request.problem.joint.has_value()) {
    return SimulateJointPlacement(request, model_limits, placement, settings, limits);
  }
  const PlanningProblem run = ProblemOfRun(request.problem, placement, settings);
  ASSIGN_OR_RETURN(const Verdict verdict,
                   EvaluatePlacement({request.graph, request.cluster, run, request.options}, model_limits,
                                     PlacementOfRun(request.problem, placement, settings), limits));
  if (!verdict.costed.has_value()) return verdict.violations.ToStatus();
  const ResolvedProblem problem = ResolveProblem(request.graph, run);
  const CostTable costs(request.graph, request.cluster, problem.workload);
  const Plan plan = CostPlan({request.graph, request.cluster, problem, costs}, PlacementOf(*verdict.costed));
  ASSIGN_OR_RETURN(ResolvedSettings resolved, Resolve(request.problem, plan, settings));
  ASSIGN_OR_RETURN(PlanSimulation simulation, Run(request, plan, costs, std::move(resolved), limits));
  AddAssumption(request.problem, plan, settings, simulation);
  return simulation;
} catch (const Interrupted& interrupted) {
  return InterruptedError(interrupted.why(), "the plan was simulated");
}

}  // namespace planwright
