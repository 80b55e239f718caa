#include "tests/property/simulation_claims.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/model/validator.h"
#include "core/planner/plan_simulation.h"
#include "core/verify/verify.h"
#include "tests/property/naive_model.h"
#include "tests/support/mode_instance.h"

namespace planwright {
namespace {

// Where stages wait for each other both ways on the way back, 1F1B has no order for them.
bool HasNoOrder(const absl::Status& status) { return absl::StrContains(status.message(), "plan.stages: cannot run"); }

// What the simulator has no answer to; nullopt: it runs.
std::optional<Finding> Refusal(const absl::StatusOr<PlanSimulation>& simulation) {
  if (simulation.ok()) return std::nullopt;
  if (HasNoOrder(simulation.status())) return Finding();
  return Finding{Outcome::kUntrue, 0, simulation.status().ToString()};
}

constexpr int kAttempts = 10;
// Between the quarters of so many rounds a pipeline that never flushes runs nearly as it always will.
constexpr int32_t kRounds = 512;
constexpr double kDifference = 0.05;

bool IsAsynchronous(ScheduleKind schedule) { return schedule == ScheduleKind::kPipedreamAsync; }

// The instance without anything that keeps placements from running; nullopt: it is no pipeline.
std::optional<Instance> RunnableUnder(ScheduleKind schedule, Instance instance, RandomStream& random) {
  PlanningProblem& problem = instance.problem;
  if (problem.objective == Objective::kMinLatency || problem.split != Split::kContiguous) return std::nullopt;
  PlanningProblem open;
  open.workload = problem.workload;
  open.memory_model = problem.memory_model;
  open.replication = problem.replication;
  open.allreduce.factor = problem.allreduce.factor;
  open.allreduce.ring = problem.allreduce.ring;
  open.overlap = std::array{Overlap::kSerial, Overlap::kOverlapped, Overlap::kFullDuplex}[random.Below(3)];
  open.schedule = schedule;
  problem = std::move(open);
  for (DeviceClass& device_class : instance.cluster.device_classes) device_class.memory_bytes.reset();
  return instance;
}

// A random placement that may run, with every number; nullopt: none of a few attempts.
std::optional<Plan> RandomPlan(const Instance& instance, RandomStream& random) {
  const ResolvedProblem problem = ResolveProblem(instance.graph, instance.problem);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Placement placement = MakeModePlacement(instance, random);
    const Verdict verdict = VerifyPlacement({instance.graph, instance.cluster, problem}, placement);
    if (verdict.violations.empty() && !verdict.costed->stages.empty()) return verdict.costed;
  }
  return std::nullopt;
}

// A number for which the quarters of the run hold whole rounds of all replicas.
int32_t MicroBatchesOfRun(const Plan& plan) {
  int32_t round = 1;
  for (const Stage& stage : plan.stages) round = std::lcm(round, static_cast<int32_t>(stage.replicas.size()));
  return kRounds * round;
}

absl::StatusOr<PlanSimulation> Simulate(const Instance& instance, const Plan& plan) {
  SimulationSettings settings;
  if (IsAsynchronous(instance.problem.schedule)) settings.micro_batches = MicroBatchesOfRun(plan);
  return SimulatePlacement({instance.graph, instance.cluster, instance.problem, SolverOptions()}, ModelLimits(),
                           PlacementOf(plan), settings);
}

std::string TextOf(const Instance& instance, const Plan& plan) {
  std::string text = absl::StrCat("overlap ", static_cast<int>(instance.problem.overlap), ", ",
                                  InterconnectName(instance.cluster.interconnect), ", micro-batches ",
                                  instance.problem.micro_batches.value_or(0), ", stages");
  for (const Stage& stage : plan.stages) {
    absl::StrAppend(
        &text, " {",
        absl::StrJoin(stage.operators, ",", [](std::string* out, OperatorId op) { absl::StrAppend(out, op.index()); }),
        "}@",
        absl::StrJoin(stage.replicas, ",",
                      [](std::string* out, const Replica& replica) { absl::StrAppend(out, replica.device.index()); }),
        "x", stage.in_flight_micro_batches, "+", stage.transfer_slots);
  }
  return text;
}

bool AreLinksAlike(const Instance& instance) {
  const NaiveModel model(instance);
  for (std::size_t a = 0; a < model.num_devices(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (model.LinkBetween(a, b).bandwidth != model.LinkBetween(1, 0).bandwidth) return false;
      if (model.LinkBetween(a, b).latency != model.LinkBetween(1, 0).latency) return false;
    }
  }
  return true;
}

// The mean time between the ends of two micro-batches, over half of the run, which is a number of whole rounds.
Picoseconds SteadyPace(const PlanSimulation& simulation) {
  std::vector<Picoseconds> ends(static_cast<std::size_t>(simulation.settings.micro_batches));
  for (std::size_t task = 0; task < simulation.list.tasks.size(); ++task) {
    Picoseconds& end = ends[static_cast<std::size_t>(simulation.list.tasks[task].micro_batch)];
    end = std::max(end, simulation.timeline.ends[task]);
  }
  std::sort(ends.begin(), ends.end());
  const std::size_t quarter = ends.size() / 4;
  return (ends[3 * quarter] - ends[quarter]) / static_cast<int64_t>(2 * quarter);
}

// Whether half of a run is no longer than its micro-batches and those that fill the pipeline may take: what was ahead
// of the pace when it began need not be so at its end.
bool KeepsPace(const Plan& plan, const PlanSimulation& simulation) {
  const Stage& first = plan.stages.front();
  const auto fill = static_cast<int64_t>(first.in_flight_micro_batches) * static_cast<int64_t>(first.replicas.size());
  const int64_t half = simulation.settings.micro_batches / 2;
  return half * SteadyPace(simulation) <= (half + fill) * plan.objective;
}

// Whether the closed form knows nothing of what a tensor makes stages wait for: one that goes to a later stage on the
// way back, so that stages wait for earlier ones in both passes; under GPIPE one that a forward pass sends and the
// backward pass of another stage receives, which is counted as part of the forward phase.
bool GoesAgainstThePhases(const OperatorGraph& graph, const std::vector<std::size_t>& stage_of, ScheduleKind schedule,
                          OperatorId producer, OperatorId consumer) {
  const std::size_t from = stage_of[producer.index()];
  const std::size_t to = stage_of[consumer.index()];
  if (graph.operators[producer.index()].pass == Pass::kBackward) return from < to;
  const bool changes_pass = graph.operators[consumer.index()].pass == Pass::kBackward;
  return schedule == ScheduleKind::kGpipe && changes_pass && from != to;
}

bool AnyGoesAgainstThePhases(const Instance& instance, const Plan& plan) {
  const OperatorGraph& graph = instance.graph;
  std::vector<std::size_t> stage_of(graph.operators.size());
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
    for (const OperatorId op : plan.stages[stage].operators) stage_of[op.index()] = stage;
  }
  return std::any_of(graph.tensors.begin(), graph.tensors.end(), [&](const Tensor& tensor) {
    return std::any_of(tensor.consumers.begin(), tensor.consumers.end(), [&](OperatorId consumer) {
      return GoesAgainstThePhases(graph, stage_of, instance.problem.schedule, tensor.producer, consumer);
    });
  });
}

// Simulated, of a micro-batch.
double SimulatedTime(const Instance& instance, const Plan& plan, const PlanSimulation& simulation) {
  if (IsAsynchronous(instance.problem.schedule)) return static_cast<double>(SteadyPace(simulation).count());
  const bool is_uniform = instance.problem.replication == Replication::kUniform;
  const std::size_t copies = is_uniform ? plan.stages.front().replicas.size() : 1;
  return static_cast<double>(simulation.report.step_time.count()) /
         static_cast<double>(*instance.problem.micro_batches * static_cast<int64_t>(copies));
}

}  // namespace

Finding ClosedFormBoundsSimulation(ScheduleKind schedule, const Instance& instance, RandomStream& random) {
  std::optional<Instance> runnable = RunnableUnder(schedule, instance, random);
  if (!runnable.has_value()) return {};
  if (runnable->problem.replication == Replication::kPerStage && !AreLinksAlike(*runnable)) return {};
  if (!IsAsynchronous(schedule)) runnable->problem.micro_batches = static_cast<int32_t>(random.Between(1, 16));
  const std::optional<Plan> plan = RandomPlan(*runnable, random);
  if (!plan.has_value() || AnyGoesAgainstThePhases(*runnable, *plan)) return {};
  const absl::StatusOr<PlanSimulation> simulation = Simulate(*runnable, *plan);
  if (const std::optional<Finding> refusal = Refusal(simulation)) return *refusal;
  const bool never_flushes = IsAsynchronous(schedule);
  const int64_t bound = never_flushes ? plan->objective.count() : plan->estimate.step_time.count();
  const int64_t took = never_flushes ? SteadyPace(*simulation).count() : simulation->report.step_time.count();
  if (took <= bound || (never_flushes && KeepsPace(*plan, *simulation))) return {Outcome::kHeld};
  return {Outcome::kWorse, static_cast<double>(took - bound) / static_cast<double>(std::max<int64_t>(bound, 1)),
          absl::StrCat("simulated ", took, ", closed form ", bound, "; ", TextOf(*runnable, *plan))};
}

Finding ObjectiveRanksAsSimulation(ScheduleKind schedule, const Instance& instance, RandomStream& random) {
  std::optional<Instance> runnable = RunnableUnder(schedule, instance, random);
  if (!runnable.has_value()) return {};
  if (!IsAsynchronous(schedule)) {
    runnable->problem.micro_batches = static_cast<int32_t>(8 * runnable->cluster.devices.size());
  }
  const std::optional<Plan> plans[2] = {RandomPlan(*runnable, random), RandomPlan(*runnable, random)};
  if (!plans[0].has_value() || !plans[1].has_value()) return {};
  double times[2] = {0, 0};
  for (int i = 0; i < 2; ++i) {
    const absl::StatusOr<PlanSimulation> simulation = Simulate(*runnable, *plans[i]);
    if (const std::optional<Finding> refusal = Refusal(simulation)) return *refusal;
    times[i] = SimulatedTime(*runnable, *plans[i], *simulation);
  }
  const int faster = times[0] <= times[1] ? 0 : 1;
  const double difference = times[1 - faster] / std::max(times[faster], 1.0) - 1;
  if (difference <= kDifference) return {};
  if (plans[faster]->objective < plans[1 - faster]->objective) return {Outcome::kHeld};
  return {Outcome::kWorse, difference,
          absl::StrCat("simulated ", times[faster], " and ", times[1 - faster], ", objectives ",
                       plans[faster]->objective.count(), " and ", plans[1 - faster]->objective.count(), "; ",
                       TextOf(*runnable, *plans[faster]), "; ", TextOf(*runnable, *plans[1 - faster]))};
}

}  // namespace planwright
