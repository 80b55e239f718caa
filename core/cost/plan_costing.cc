#include "core/cost/plan_costing.h"

#include <algorithm>
#include <utility>

#include "core/base/index.h"
#include "core/base/known.h"
#include "core/base/units.h"
#include "core/cost/chain/periodic_costing.h"
#include "core/cost/device_load.h"
#include "core/cost/latency_schedule.h"
#include "core/cost/pipeline_fill.h"
#include "core/cost/plan_warnings.h"
#include "core/cost/terms/backward_contiguity.h"
#include "core/cost/terms/stage_map.h"
#include "core/cost/terms/traffic.h"
#include "core/cost/terms/transfer.h"
#include "core/model/device_selection.h"

namespace planwright {
namespace {

std::vector<OperatorId> KeptOperators(const OperatorGraph& graph, const ResolvedProblem& problem,
                                      std::vector<OperatorId> operators) {
  if (problem.workload == Workload::kInference) {
    std::erase_if(operators, [&](OperatorId op) { return graph.operators[op.index()].pass == Pass::kBackward; });
  }
  std::sort(operators.begin(), operators.end());
  return operators;
}

// The ring as it is placed; where it is not, in the order of the copies or of the devices, as the problem has it.
std::vector<DeviceId> RingOf(const ResolvedProblem& problem, const Placement::Stage& placed) {
  if (placed.devices.size() == 1) return {};
  if (!placed.ring.empty()) return placed.ring;
  std::vector<DeviceId> ring = placed.devices;
  if (problem.allreduce.ring == AllReduce::Ring::kFree) std::sort(ring.begin(), ring.end());
  return ring;
}

std::vector<Stage> MakeStages(const OperatorGraph& graph, const ResolvedProblem& problem, const Placement& placement) {
  std::vector<Stage> stages;
  for (const Placement::Stage& placed : placement.stages) {
    std::vector<OperatorId> operators = KeptOperators(graph, problem, placed.operators);
    if (operators.empty()) continue;
    Stage& stage = stages.emplace_back();
    stage.operators = std::move(operators);
    stage.ring_order = RingOf(problem, placed);
    for (const DeviceId device : placed.devices) {
      stage.replicas.push_back({.device = device, .copy = static_cast<int32_t>(stage.replicas.size())});
    }
  }
  return stages;
}

DeviceClassId ClassOf(const Cluster& cluster, const Stage& stage) {
  return cluster.devices[stage.replicas.front().device.index()].device_class;
}

// What a device does, all its stages together, which have the same replicas.
struct DeviceWork {
  MicroBatchWork work;
  int64_t parameter_bytes = 0;
  // The first of them, and how many there are.
  std::size_t first_stage = 0;
  std::size_t num_stages = 0;
};

// The slowest device of each phase decides.
PhaseLoads GreatestLoads(const std::vector<PhaseLoads>& loads) {
  PhaseLoads greatest;
  for (const PhaseLoads& load : loads) {
    greatest.main = std::max(greatest.main, load.main);
    greatest.backward = std::max(greatest.backward, load.backward);
  }
  return greatest;
}

// Fills in the numbers of every stage and gathers what each device does.
class StageCosting {
 public:
  StageCosting(const OperatorGraph& graph, const Cluster& cluster, const CostTable& costs, Plan& plan)
      : graph_(graph),
        cluster_(cluster),
        costs_(costs),
        plan_(plan),
        turns_(TransferTurns::Of(plan.problem, RulesOf(cluster.interconnect).pay_once)),
        devices_(cluster.devices.size()) {}

  // REQUIRES: in ascending order, each stage once.
  void Cost(std::size_t index, const BorderTraffic& traffic) {
    Stage& stage = plan_.stages[index];
    const int64_t parameter_bytes = ParameterBytes(graph_, stage.operators);
    stage.allreduce = AllReduce(parameter_bytes, stage.ring_order);
    const MicroBatchWork compute = ComputeOf(stage);
    stage.compute = compute.forward.compute + compute.backward.compute;
    for (std::size_t i = 0; i < stage.replicas.size(); ++i) {
      const MicroBatchWork work = CostReplica(compute, traffic.replicas[i], stage, i);
      stage.transfer_slots = std::max(stage.transfer_slots, turns_.SlotsOf(work));
      DeviceWork& device = devices_[stage.replicas[i].device.index()];
      device.work += work;
      device.parameter_bytes += parameter_bytes;
      if (device.num_stages++ == 0) device.first_stage = index;
    }
  }

  // REQUIRES: every stage is costed.
  void CountMemory(const Traffic& traffic) {
    FillFromEnd fill(turns_);
    for (std::size_t i = plan_.stages.size(); i > 0; --i) {
      Stage& stage = plan_.stages[i - 1];
      const auto replicas = static_cast<int32_t>(stage.replicas.size());
      stage.in_flight_micro_batches = InFlightMicroBatches(plan_.problem, fill.HeldBy(replicas), replicas);
      stage.memory_bytes = StageMemoryBytes(graph_, plan_.problem, stage.operators,
                                            traffic.stages[i - 1].boundary_bytes, stage.in_flight_micro_batches);
      fill.Add({replicas, stage.transfer_slots});
    }
  }

  // REQUIRES: every stage is costed; the number of micro-batches is set.
  Picoseconds TimeOfStep() const {
    std::vector<StageTurns> stages = Mapped(plan_.stages, [&](const Stage& stage) {
      return StageTurns{static_cast<int32_t>(stage.replicas.size()), stage.transfer_slots};
    });
    const StepTurns turns = TurnsOfStep(plan_.problem, turns_, stages);
    std::vector<PhaseLoads> phases;
    Picoseconds allreduce{0};
    for (const DeviceWork& device : devices_) {
      if (device.num_stages == 0) continue;
      const PhaseLoads undivided = UndividedLoads(device.work);
      const int32_t replicas = ReplicasOf(device);
      phases.push_back({turns.TimeOf(undivided.main, replicas), turns.TimeOf(undivided.backward, replicas)});
      allreduce = std::max(allreduce, AllReduceOf(device));
    }
    return Picoseconds(SaturatingAdd(GreatestLoads(phases).total().count(), allreduce.count()));
  }

  std::vector<PhaseLoads> DeviceLoads() const {
    return Mapped(devices_, [&](const DeviceWork& device) {
      return device.num_stages == 0 ? PhaseLoads() : LoadsOfDevice(device);
    });
  }

 private:
  Picoseconds AllReduce(int64_t parameter_bytes, const std::vector<DeviceId>& ring) const {
    if (ring.empty() || !ReducesGradients(plan_.problem)) return Picoseconds(0);
    return AllReduceTime(parameter_bytes, static_cast<int32_t>(ring.size()), RingSpeed(costs_.network(), ring),
                         plan_.problem.allreduce.factor);
  }

  MicroBatchWork ComputeOf(const Stage& stage) const {
    MicroBatchWork work;
    const DeviceClassId device_class = ClassOf(cluster_, stage);
    for (const OperatorId op : stage.operators) {
      const OperatorTime& time = costs_.time(op, device_class);
      work.forward.compute += time.forward;
      work.backward.compute += time.backward;
    }
    return work;
  }

  // The stage shows the numbers of its most loaded replica, the first of them. Returns what the replica would do if it
  // did every micro-batch.
  MicroBatchWork CostReplica(MicroBatchWork work, const ReplicaTraffic& traffic, Stage& stage, std::size_t index) {
    work.forward.in = traffic.forward.in;
    work.forward.out = traffic.forward.out;
    work.backward.in = traffic.backward.in;
    work.backward.out = traffic.backward.out;
    const auto replicas = static_cast<int32_t>(stage.replicas.size());
    stage.replicas[index].load = LoadsOfReplica(work, replicas, stage.allreduce).total();
    const Picoseconds undivided = LoadsOf(work, plan_.problem.schedule, plan_.problem.overlap).total();
    if (index == 0 || undivided > stage.load) {
      stage.load = undivided;
      stage.communication_in = work.forward.in + work.backward.in;
      stage.communication_out = work.forward.out + work.backward.out;
    }
    return work;
  }

  // Returns the time to all-reduce the gradients of all its stages together, along the ring of the first.
  Picoseconds AllReduceOf(const DeviceWork& device) const {
    if (device.num_stages == 0) return Picoseconds(0);
    const Stage& stage = plan_.stages[device.first_stage];
    return device.num_stages == 1 ? stage.allreduce : AllReduce(device.parameter_bytes, stage.ring_order);
  }

  PhaseLoads UndividedLoads(const MicroBatchWork& work) const {
    return LoadsOf(work, plan_.problem.schedule, plan_.problem.overlap);
  }

  int32_t ReplicasOf(const DeviceWork& device) const {
    return static_cast<int32_t>(plan_.stages[device.first_stage].replicas.size());
  }

  PhaseLoads LoadsOfDevice(const DeviceWork& device) const {
    return LoadsOfReplica(device.work, ReplicasOf(device), AllReduceOf(device));
  }

  PhaseLoads LoadsOfReplica(const MicroBatchWork& work, int32_t replicas, Picoseconds allreduce) const {
    const ResolvedProblem& problem = plan_.problem;
    const PhaseLoads undivided = UndividedLoads(work);
    if (!problem.micro_batches.has_value()) {
      return ReplicaLoads(undivided, replicas, allreduce, ReductionRuleOf(problem));
    }
    return {.main = ShareOfStep(problem, undivided, replicas, allreduce)};
  }

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  const CostTable& costs_;
  Plan& plan_;
  const TransferTurns turns_;
  std::vector<DeviceWork> devices_;
};

// Memory of a device that holds several stages: of all their operators together (docs/cost-model.md section 12).
// Subgraphs of MIN_LATENCY count each for itself.
int64_t MemoryOfStages(const OperatorGraph& graph, const Plan& plan, const std::vector<StageId>& stages,
                       const Traffic& traffic) {
  if (plan.problem.objective == Objective::kMinLatency) {
    int64_t memory_bytes = 0;
    for (const StageId stage : stages) memory_bytes += plan.stages[stage.index()].memory_bytes;
    return memory_bytes;
  }
  std::vector<OperatorId> operators;
  int64_t boundary_bytes = 0;
  for (const StageId id : stages) {
    const Stage& stage = plan.stages[id.index()];
    operators.insert(operators.end(), stage.operators.begin(), stage.operators.end());
    boundary_bytes += traffic.stages[id.index()].boundary_bytes;
  }
  return StageMemoryBytes(graph, plan.problem, operators, boundary_bytes,
                          plan.stages[stages.front().index()].in_flight_micro_batches);
}

// All devices of the cluster with their stages.
std::vector<DeviceUsage> ListDevices(const Cluster& cluster, const std::vector<Stage>& stages) {
  std::vector<DeviceUsage> usages(cluster.devices.size());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    for (const Replica& replica : stages[i].replicas) usages[replica.device.index()].stages.emplace_back(i);
  }
  for (std::size_t i = 0; i < usages.size(); ++i) {
    usages[i].device = DeviceId(i);
    usages[i].memory_limit_bytes = UsableMemoryBytes(cluster, DeviceId(i));
  }
  return usages;
}

void FillDevices(const OperatorGraph& graph, const Traffic& traffic, const std::vector<PhaseLoads>& loads, Plan& plan) {
  for (DeviceUsage& usage : plan.devices) {
    usage.load = loads[usage.device.index()].total();
    if (usage.stages.size() == 1) usage.memory_bytes = plan.stages[usage.stages.front().index()].memory_bytes;
    if (usage.stages.size() > 1) usage.memory_bytes = MemoryOfStages(graph, plan, usage.stages, traffic);
  }
}

// Devices that the problem does not select are no business of a plan, unless it uses them all the same.
void EraseUnselected(const Cluster& cluster, const DeviceSelection& selection, std::vector<DeviceUsage>& usages) {
  const std::vector<DeviceId> selected = SelectedDevices(cluster, selection);
  std::erase_if(usages, [&](const DeviceUsage& usage) {
    return usage.stages.empty() && !std::binary_search(selected.begin(), selected.end(), usage.device);
  });
}

std::vector<ScheduledTask> SubgraphTasks(const OperatorGraph& graph, const Cluster& cluster, const Plan& plan,
                                         const LatencySchedule& schedule) {
  std::vector<ScheduledTask> tasks;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const DeviceId device = plan.stages[i].replicas.front().device;
    if (cluster.class_of(device).kind == DeviceKind::kCpu) continue;
    tasks.push_back({.operation = "subgraph",
                     .stage = StageId(i),
                     .pass = graph.operators[plan.stages[i].operators.front().index()].pass,
                     .resource = cluster.devices[device.index()].name,
                     .start = schedule.starts[i]});
  }
  return tasks;
}

// Whatever follows from loads: without a pattern. REQUIRES: the problem, the stages and the devices are there.
void CostLoads(const OperatorGraph& graph, const Cluster& cluster, const CostTable& costs, const StageMap& stage_of,
               Plan& plan) {
  Traffic traffic = MeasureTraffic(graph, cluster, costs.network(), plan.problem, plan.stages, stage_of);
  StageCosting costing(graph, cluster, costs, plan);
  for (std::size_t i = 0; i < plan.stages.size(); ++i) costing.Cost(i, traffic.stages[i]);
  costing.CountMemory(traffic);
  const std::vector<PhaseLoads> loads = costing.DeviceLoads();
  FillDevices(graph, traffic, loads, plan);
  plan.links = std::move(traffic.links);
  if (plan.problem.objective == Objective::kMinLatency) {
    const LatencySchedule schedule = ScheduleForLatency(graph, cluster, costs, plan.stages);
    plan.objective = schedule.makespan;
    plan.tasks = SubgraphTasks(graph, cluster, plan, schedule);
  } else if (plan.problem.micro_batches.has_value() && !plan.stages.empty()) {
    plan.estimate.step_time = costing.TimeOfStep();
    const auto replicas = static_cast<int32_t>(plan.stages.front().replicas.size());
    plan.objective =
        Picoseconds(CeilDivide(plan.estimate.step_time.count(), MicroBatchesOfStep(plan.problem, replicas)));
  } else {
    plan.objective = GreatestLoads(loads).total();
  }
}

// Share of the time of the devices in use that they are idle; CPUs may do more than one thing at a time for
// MIN_LATENCY, so that it is 0 at least.
double IdleShare(const std::vector<DeviceUsage>& usages, Picoseconds objective) {
  if (objective == Picoseconds(0)) return 0;
  Picoseconds busy{0};
  int64_t in_use = 0;
  for (const DeviceUsage& usage : usages) {
    busy += usage.load;
    if (!usage.stages.empty()) ++in_use;
  }
  const double available = static_cast<double>(in_use) * static_cast<double>(objective.count());
  return std::max(0.0, 1 - static_cast<double>(busy.count()) / available);
}

int32_t CountEstimates(const Cluster& cluster, const CostTable& costs, const std::vector<Stage>& stages) {
  int32_t count = 0;
  for (const Stage& stage : stages) {
    const DeviceClassId device_class = ClassOf(cluster, stage);
    count += static_cast<int32_t>(std::count_if(stage.operators.begin(), stage.operators.end(),
                                                [&](OperatorId op) { return costs.time(op, device_class).estimated; }));
  }
  return count;
}

Estimate MakeEstimate(const OperatorGraph& graph, const Cluster& cluster, const CostTable& costs, const Plan& plan) {
  Estimate estimate = plan.estimate;
  if (plan.objective > Picoseconds(0)) {
    estimate.micro_batches_per_second = kPicosecondsPerSecond / static_cast<double>(plan.objective.count());
  }
  estimate.samples_per_second = estimate.micro_batches_per_second * static_cast<double>(graph.samples_per_micro_batch);
  estimate.bubble_fraction = IdleShare(plan.devices, plan.objective);
  for (const DeviceUsage& usage : plan.devices) {
    estimate.peak_memory_bytes = std::max(estimate.peak_memory_bytes, usage.memory_bytes);
  }
  estimate.estimated_operators = CountEstimates(cluster, costs, plan.stages);
  return estimate;
}

}  // namespace

Plan CostPlan(const PlanningInput& input, const Placement& placement) {
  Plan plan;
  plan.problem = input.problem;
  plan.stages = MakeStages(input.graph, input.problem, placement);
  plan.devices = ListDevices(input.cluster, plan.stages);
  const StageMap stage_of(input.graph.operators.size(), plan.stages);
  if (input.problem.schedule == ScheduleKind::kPeriodic) {
    CostPattern(input.graph, input.cluster, input.costs, Known(placement.pattern), plan);
  } else {
    CostLoads(input.graph, input.cluster, input.costs, stage_of, plan);
  }
  const std::vector<bool> contiguous = BackwardContiguity(input.graph, plan.stages, stage_of);
  for (std::size_t i = 0; i < plan.stages.size(); ++i) plan.stages[i].backward_contiguous = contiguous[i];
  EraseUnselected(input.cluster, input.problem.devices_to_use, plan.devices);
  plan.estimate = MakeEstimate(input.graph, input.cluster, input.costs, plan);
  plan.warnings = PlanWarnings(input.graph, input.cluster, input.costs, plan);
  return plan;
}

}  // namespace planwright
