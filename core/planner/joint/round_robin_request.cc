#include "core/planner/joint/round_robin_request.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/infeasibility.h"
#include "core/base/interruption.h"
#include "core/base/known.h"
#include "core/base/status_macros.h"
#include "core/base/units.h"
#include "core/base/violations.h"
#include "core/joint/operators/operator_settings.h"
#include "core/joint/roundrobin/round_robin_instance.h"
#include "core/joint/roundrobin/round_robin_search.h"
#include "core/joint/roundrobin/turn_tasks.h"
#include "core/model/device_selection.h"
#include "core/model/support.h"
#include "core/planner/joint/plan_assembly.h"
#include "core/verify/joint/joint_verifier.h"
#include "core/verify/joint/round_robin_costing.h"

namespace planwright {
namespace {

constexpr char kRoundRobinAlgorithm[] = "round_robin_search";
__extension__ using Wide = __int128;

int64_t Quotient(Wide value, Wide divisor) { return static_cast<int64_t>((value + divisor - 1) / divisor); }

// What the search found, in the words of a plan.
class Assembly {
 public:
  // `devices`: those that have the most memory first.
  Assembly(const OperatorGraph& graph, const Cluster& cluster, const ResolvedProblem& problem,
           const std::vector<DeviceId>& devices, const RoundRobinInstance& instance, const RoundRobinOutcome& outcome)
      : graph_(graph),
        cluster_(cluster),
        problem_(problem),
        devices_(devices),
        instance_(instance),
        outcome_(outcome),
        settings_(Known(problem.joint)),
        stages_(Known(outcome.stages)),
        stage_of_(instance.size(), 0) {}

  Plan Run() {
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      for (const int32_t op : stages_[s].operators) stage_of_[static_cast<std::size_t>(op)] = s;
    }
    joint_.per_stage = true;
    joint_.micro_batch_samples = settings_.micro_batch_samples.front();
    joint_.micro_batches = instance_.micro_batches;
    joint_.step = Picoseconds(outcome_.load_ps);
    joint_.step_bound = Picoseconds(outcome_.bound_ps);
    for (std::size_t s = 0; s < stages_.size(); ++s) AddStage(s);
    AddReplicas();
    AddInFlight();
    AddDeviceUsage(cluster_, problem_, plan_);
    AddEstimate();
    plan_.problem = problem_;
    plan_.objective = joint_.step;
    plan_.lower_bound = joint_.step_bound;
    if (outcome_.bound_ps > 0) {
      plan_.bounds.push_back(
          {.value = joint_.step_bound, .method = kRoundRobinAlgorithm, .scope = BoundScope::kProblem});
    }
    plan_.joint = std::move(joint_);
    return std::move(plan_);
  }

 private:
  const RoundRobinOperator& PricedOf(const RoundRobinStage& stage, int32_t op) const {
    const auto degree =
        std::find(instance_.tensor_degrees.begin(), instance_.tensor_degrees.end(), stage.tensor_degree);
    const auto& operators = instance_.operators[static_cast<std::size_t>(degree - instance_.tensor_degrees.begin())];
    return Known(operators[static_cast<std::size_t>(op)]);
  }

  void AddStage(std::size_t number) {
    const RoundRobinStage& found = stages_[number];
    JointStage& joint = joint_.stages.emplace_back();
    Stage& stage = plan_.stages.emplace_back();
    joint.degrees = {.tensor = found.tensor_degree, .context = 1, .expert = 1, .data = found.data_degree};
    JointChunk& chunk = joint.chunks.emplace_back();
    chunk.first_layer = static_cast<int32_t>(joint_.layer_labels.size());
    for (const int32_t op : found.operators) AddOperator(found, op, chunk, joint, stage);
    std::sort(stage.operators.begin(), stage.operators.end());
    AddTransfers(number, found, joint);
    joint.memory.reserved = problem_.memory_model.reserved_bytes;
    stage.compute = joint.forward + joint.backward;
    stage.communication_in = joint.received;
    stage.communication_out = joint.transfers - joint.received;
    stage.load = stage.compute + joint.transfers;
    const Wide reduced = Wide{4} * (found.data_degree - 1) * parameter_bytes_ * 1'000'000'000'000;
    joint.step_end =
        Picoseconds(Quotient(reduced, Wide{found.data_degree} * instance_.micro_batches * instance_.bytes_per_second));
    stage.allreduce = joint.step_end;
  }

  // Stages that need the most memory take the first devices.
  void AddReplicas() {
    std::vector<std::size_t> order(stages_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return stages_[a].memory < stages_[b].memory; });
    int32_t slot = 0;
    for (const std::size_t s : order) {
      Stage& stage = plan_.stages[s];
      JointStage& joint = joint_.stages[s];
      joint.first_slot = slot;
      const Picoseconds share(Quotient(stage.load.count(), joint.degrees.data) + joint.step_end.count());
      for (int64_t rank = 0; rank < joint.degrees.devices(); ++rank) {
        const DeviceId device = devices_[static_cast<std::size_t>(slot)];
        stage.replicas.push_back({.device = device, .copy = static_cast<int32_t>(rank), .load = share});
        ++slot;
      }
    }
  }

  void AddOperator(const RoundRobinStage& found, int32_t op, JointChunk& chunk, JointStage& joint, Stage& stage) {
    const OperatorId id = instance_.ids[static_cast<std::size_t>(op)];
    const RoundRobinOperator& priced = PricedOf(found, op);
    const bool is_again = std::find(found.again.begin(), found.again.end(), op) != found.again.end();
    const RoundRobinOperator::Again* const again = is_again ? &Known(priced.again) : nullptr;
    joint_.layer_labels.push_back(graph_.operators[id.index()].name);
    chunk.recomputation.push_back(is_again ? LayerRecomputation::kFull : LayerRecomputation::kNone);
    stage.operators.push_back(id);
    joint.forward += Picoseconds(priced.forward_ps);
    joint.backward += Picoseconds(priced.backward_ps + (again != nullptr ? again->extra_ps : 0));
    joint.measured_layers += graph_.operators[id.index()].variants.empty() ? 0 : 1;
    if (stage.operators.size() == 1) parameter_bytes_ = 0;
    parameter_bytes_ += priced.parameter_bytes;
    joint.memory.parameters += priced.versions_bytes;
    joint.memory.gradients += priced.gradients_bytes;
    joint.memory.optimizer += priced.optimizer_bytes;
    // Counts one micro-batch, until those in flight are known.
    joint.memory.activations += again != nullptr ? again->kept_bytes : priced.kept_bytes;
    joint.memory.workspace += again != nullptr ? again->workspace_bytes : priced.workspace_bytes;
  }

  void AddTransfers(std::size_t number, const RoundRobinStage& found, JointStage& joint) const {
    const auto degree =
        std::find(instance_.tensor_degrees.begin(), instance_.tensor_degrees.end(), found.tensor_degree);
    const auto& bytes = instance_.edge_bytes[static_cast<std::size_t>(degree - instance_.tensor_degrees.begin())];
    Wide received = 0;
    Wide sent = 0;
    for (std::size_t edge = 0; edge < instance_.edges.size(); ++edge) {
      const std::size_t from = stage_of_[static_cast<std::size_t>(instance_.edges[edge].from)];
      const std::size_t to = stage_of_[static_cast<std::size_t>(instance_.edges[edge].to)];
      if (from == to) continue;
      if (to == number) received += bytes[edge].entering;
      if (from == number) sent += bytes[edge].leaving;
    }
    const auto time = [&](Wide moved) {
      return Picoseconds(Quotient(2 * moved * 1'000'000'000'000, instance_.bytes_per_second));
    };
    joint.received = time(received);
    joint.transfers = time(received + sent);
  }

  // A stage has as many in flight as data ranks from it on, over its own.
  void AddInFlight() {
    int64_t ranks = 0;
    for (std::size_t s = plan_.stages.size(); s-- > 0;) {
      JointStage& joint = joint_.stages[s];
      ranks += joint.degrees.data;
      joint.in_flight = static_cast<int32_t>(Quotient(ranks, joint.degrees.data));
      joint.memory.activations *= joint.in_flight;
      plan_.stages[s].in_flight_micro_batches = joint.in_flight;
      plan_.stages[s].memory_bytes = joint.memory.total();
    }
  }

  void AddEstimate() {
    Estimate& estimate = plan_.estimate;
    const auto load = static_cast<double>(std::max<int64_t>(outcome_.load_ps, 1));
    estimate.step_time = Picoseconds(
        static_cast<int64_t>(std::min<Wide>(Wide{outcome_.load_ps} * instance_.micro_batches, Wide{int64_t{1} << 62})));
    estimate.micro_batches_per_second = kPicosecondsPerSecond / load;
    estimate.samples_per_second = estimate.micro_batches_per_second * static_cast<double>(joint_.micro_batch_samples);
    joint_.tokens_per_second =
        estimate.samples_per_second * static_cast<double>(settings_.tokens_per_sample.value_or(0));
    std::vector<double> busy_ps;
    busy_ps.reserve(plan_.stages.size());
    for (const Stage& stage : plan_.stages) {
      busy_ps.push_back(static_cast<double>(stage.replicas.front().load.count()));
    }
    AddDeviceEstimate(busy_ps, load, plan_);
    estimate.estimated_operators = 0;
  }

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  const ResolvedProblem& problem_;
  const std::vector<DeviceId>& devices_;
  const RoundRobinInstance& instance_;
  const RoundRobinOutcome& outcome_;
  const JointSettings& settings_;
  const std::vector<RoundRobinStage>& stages_;
  // By operator of the instance.
  std::vector<std::size_t> stage_of_;
  // Parameters of the stage at hand.
  int64_t parameter_bytes_ = 0;
  JointPlan joint_;
  Plan plan_;
};

// Also where a limit to their number leaves one class: another one may do better.
absl::Status CheckOneClass(const Cluster& cluster, const ResolvedProblem& problem) {
  std::set<DeviceClassId> classes;
  for (const DeviceId device : SelectedDevices(cluster, problem.devices_to_use)) {
    const DeviceClassId device_class = cluster.devices[device.index()].device_class;
    if (cluster.device_classes[device_class.index()].kind == DeviceKind::kAccelerator) classes.insert(device_class);
  }
  Violations violations;
  if (classes.size() > 1) {
    violations.Add("cluster.device_classes", "must be one of the accelerators where replicas take turns");
  }
  return violations.ToStatus();
}

// As many as `training` has, those that have the most memory, the most first: which of them else makes no difference.
std::vector<DeviceId> DevicesByMemory(const Cluster& cluster, const ResolvedProblem& problem,
                                      const TrainingCluster& training) {
  std::vector<DeviceId> devices;
  const DeviceClassId used = training.classes.front().device_class;
  for (const DeviceId device : SelectedDevices(cluster, problem.devices_to_use)) {
    if (cluster.devices[device.index()].device_class == used) devices.push_back(device);
  }
  const auto memory = [&](DeviceId device) { return UsableMemoryBytes(cluster, device).value_or(int64_t{1} << 61); };
  std::stable_sort(devices.begin(), devices.end(), [&](DeviceId a, DeviceId b) { return memory(a) > memory(b); });
  devices.resize(training.devices.size());
  return devices;
}

// Why no pipeline has as many stages as are asked for; nullopt: some may.
std::optional<Shortage> TooManyStages(const RoundRobinInstance& instance) {
  const int64_t stages = instance.num_stages.value_or(1);
  const auto operators = static_cast<int64_t>(instance.size());
  if (stages > operators) {
    return Shortage{.resource = "operators",
                    .subject = "",
                    .description = absl::StrCat(stages, " stages need as many operators, and there are ", operators)};
  }
  if (stages <= instance.devices) return std::nullopt;
  return Shortage{.resource = "devices",
                  .subject = "",
                  .description = absl::StrCat(stages, " stages of at least 1 device are ", stages,
                                              " devices, and there are ", instance.devices)};
}

// What the optimizer counts for, where that is why nothing fits; empty: it counts for nothing. `without`: the instance
// without it.
std::string OptimizerText(const ResolvedProblem& problem, const RoundRobinInstance& without,
                          const SolveLimits& limits) {
  // Any plan will do.
  constexpr double kWideGap = 0.99;
  const double factor = problem.memory_model.optimizer_bytes_per_parameter_byte;
  if (factor == 0) return "";
  const RoundRobinOutcome outcome = SearchRoundRobin(without, kWideGap, limits, [](const RoundRobinOutcome&) {});
  return absl::StrCat("; the optimizer counts ", factor, " times the parameters (problem.memory_model)",
                      outcome.stages.has_value() ? ", and without it they fit (--memory_preset=sgd)" : "");
}

absl::Status NoProof(const RoundRobinInstance& instance, const RoundRobinOutcome& outcome, const SolveLimits& limits) {
  if (limits.stop.stop_requested()) return absl::CancelledError("cancelled before a plan was found");
  constexpr char kNothing[] = "no plan was found, and none is proven impossible";
  if (outcome.is_interrupted) return NoPlanFoundError(kNothing, SpentLimit::kTime);
  if (instance.memories.size() == 1) return NoPlanFoundError(kNothing);
  return NoPlanFoundError(absl::StrCat(kNothing,
                                       ": of devices with several sizes of memory not every way to share them out was "
                                       "looked at; fewer sizes may help (problem.devices_to_use), and so may more "
                                       "devices that have the most"));
}

absl::Status NoPlan(const RoundRobinInstance& instance, const RoundRobinOutcome& outcome, const SolveLimits& limits,
                    const std::function<std::string()>& why) {
  if (outcome.may_take_longer && !outcome.is_interrupted) {
    Violations violations;
    violations.Add("graph",
                   "must fit stages that take less than 320 hours for a micro-batch, which this search cannot");
    return violations.ToStatus();
  }
  if (outcome.is_proven) {
    Infeasibility infeasibility;
    if (std::optional<Shortage> stages = TooManyStages(instance); stages.has_value()) {
      infeasibility.Add(*std::move(stages));
    } else {
      infeasibility.Add({.resource = "memory",
                         .subject = "",
                         .description = absl::StrCat("no contiguous stages fit the devices that may be used, whatever "
                                                     "is computed again",
                                                     why())});
    }
    return InfeasibleError(infeasibility);
  }
  return NoProof(instance, outcome, limits);
}

StopReason WhyStopped(const RoundRobinOutcome& outcome, const SolverOptions& options, const SolveLimits& limits) {
  if (outcome.bound_ps == outcome.load_ps) return StopReason::kOptimal;
  if (outcome.is_interrupted) {
    return limits.stop.stop_requested() ? StopReason::kCancelled : StopReason::kTimeLimit;
  }
  const double gap = RelativeGap(Picoseconds(outcome.load_ps), Picoseconds(outcome.bound_ps));
  return gap <= options.relative_gap * (1 + 1e-9) ? StopReason::kGapReached : StopReason::kExhausted;
}

void Note(const RoundRobinOutcome& outcome, const SolverOptions& options, const SolveLimits& limits,
          Provenance& provenance) {
  provenance.algorithm = kRoundRobinAlgorithm;
  provenance.algorithm_version = "2";
  provenance.seed = options.seed;
  provenance.proven_optimal = outcome.bound_ps == outcome.load_ps;
  provenance.counters = outcome.counters;
  provenance.stop_reason = WhyStopped(outcome, options, limits);
}

absl::StatusOr<Plan> Verified(const OperatorGraph& graph, const Cluster& cluster, Plan plan) {
  Violations violations;
  VerifyRoundRobinPlan(graph, cluster, plan, violations);
  if (violations.empty()) return plan;
  return RejectedPlanError(
      absl::StrCat("the verifier rejected the plan, please report this: ", violations.ToStatus().message()));
}

}  // namespace

bool IsRoundRobin(const ResolvedProblem& problem) {
  return problem.joint.has_value() && problem.replication == Replication::kPerStage && !problem.joint->per_stage;
}

JointSettings ResolveRoundRobin(const JointSettings& given, const OperatorGraph& graph,
                                const TrainingCluster& training) {
  JointSettings settings = given;
  if (settings.micro_batch_samples.empty()) settings.micro_batch_samples = {graph.samples_per_micro_batch};
  settings.shardings = {Sharding::kNone};
  settings.context_degrees = {1};
  settings.expert_degrees = {1};
  // Stages may differ in them.
  if (settings.tensor_degrees.empty()) settings.tensor_degrees = TensorDegreesOf(graph, DegreesOf::kAny);
  return ResolveOperatorJoint(settings, graph, training);
}

absl::StatusOr<Plan> MakeRoundRobinPlan(const OperatorGraph& graph, const Cluster& cluster,
                                        const ResolvedProblem& problem, const TrainingCluster& training,
                                        const SolverOptions& options, const SolveLimits& limits,
                                        const std::function<void(const Plan&)>& on_incumbent) {
  const absl::Status is_one_class = CheckOneClass(cluster, problem);
  if (!is_one_class.ok()) return is_one_class;
  const std::vector<DeviceId> devices = DevicesByMemory(cluster, problem, training);
  const RoundRobinInstance instance = MakeRoundRobinInstance(graph, cluster, problem, devices);
  RETURN_IF_ERROR(WhatIsTooMuch(instance).ToStatus());
  // The search has its own looks at the clock, and keeps what it has.
  const InterruptionScope scope(nullptr);
  const auto plan_of = [&](const RoundRobinOutcome& outcome) {
    Plan plan = Assembly(graph, cluster, problem, devices, instance, outcome).Run();
    Note(outcome, options, limits, plan.provenance);
    return Verified(graph, cluster, std::move(plan));
  };
  absl::Status incumbent_status;
  const RoundRobinOutcome outcome =
      SearchRoundRobin(instance, options.relative_gap, limits, [&](const RoundRobinOutcome& found) {
        if (!incumbent_status.ok()) return;
        const absl::StatusOr<Plan> plan = plan_of(found);
        incumbent_status = plan.status();
        if (plan.ok()) on_incumbent(*plan);
      });
  RETURN_IF_ERROR(incumbent_status);
  if (outcome.stages.has_value()) return plan_of(outcome);
  return NoPlan(instance, outcome, limits, [&] {
    ResolvedProblem lighter = problem;
    lighter.memory_model.optimizer_bytes_per_parameter_byte = 0;
    return OptimizerText(problem, MakeRoundRobinInstance(graph, cluster, lighter, devices), limits);
  });
}

absl::StatusOr<TaskList> RoundRobinStepTasks(const Cluster& cluster, const Plan& plan) {
  constexpr int64_t kMostTasks = 1'000'000;
  const JointPlan& joint = Known(plan.joint);
  Violations violations;
  if (MostTurnTasks(joint) > kMostTasks) {
    violations.Add("plan.joint.micro_batches", absl::StrCat("must make at most ", kMostTasks, " tasks of a step"));
  }
  int64_t replicas = 0;
  for (const JointStage& stage : joint.stages) replicas += stage.degrees.data;
  // What the simulator can add up.
  if (SaturatingMultiply(SaturatingMultiply(plan.objective.count(), joint.micro_batches), replicas) >= kMaxQuantity) {
    violations.Add("plan.joint.micro_batches",
                   "must make steps of less than 2^62 picoseconds on all replicas together");
  }
  if (!violations.empty()) return violations.ToStatus();
  std::vector<std::vector<std::string>> names;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Degrees& degrees = joint.stages[s].degrees;
    std::vector<std::string>& ranks = names.emplace_back();
    for (int32_t rank = 0; rank < degrees.data; ++rank) {
      const Replica& first =
          plan.stages[s].replicas[static_cast<std::size_t>(rank) * static_cast<std::size_t>(degrees.tensor)];
      const std::string& name = cluster.devices[first.device.index()].name;
      ranks.push_back(degrees.tensor == 1 ? name : absl::StrCat(name, " x ", degrees.tensor));
    }
  }
  return TurnTasks(joint, names);
}

}  // namespace planwright
