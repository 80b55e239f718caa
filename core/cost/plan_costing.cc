#include "core/cost/plan_costing.h"

#include <algorithm>

#include "core/cost/backward_contiguity.h"
#include "core/cost/plan_warnings.h"
#include "core/cost/stage_map.h"
#include "core/cost/traffic.h"

namespace planwright {
namespace {

constexpr double kPicosecondsPerSecond = 1e12;

std::vector<OperatorId> KeptOperators(const OperatorGraph& graph, const PlanningProblem& problem,
                                      std::vector<OperatorId> operators) {
  if (problem.workload == Workload::kInference) {
    std::erase_if(operators, [&](OperatorId op) { return graph.operators[op.index()].pass == Pass::kBackward; });
  }
  std::sort(operators.begin(), operators.end());
  return operators;
}

std::vector<Stage> MakeStages(const OperatorGraph& graph, const PlanningProblem& problem, const Placement& placement) {
  std::vector<Stage> stages;
  for (const Placement::Stage& placed : placement.stages) {
    std::vector<OperatorId> operators = KeptOperators(graph, problem, placed.operators);
    if (operators.empty()) continue;
    Stage& stage = stages.emplace_back();
    stage.operators = std::move(operators);
    stage.replicas = {{.device = placed.devices.front()}};
  }
  return stages;
}

DeviceClassId ClassOf(const Cluster& cluster, const Stage& stage) {
  return cluster.devices[stage.replicas.front().device.index()].device_class;
}

// Micro-batches that a stage holds, `stages_behind` counting those after it (cost-model.md section 7).
int32_t InFlight(ScheduleKind schedule, std::size_t stages_behind) {
  return schedule == ScheduleKind::kSteadyState ? 1 : static_cast<int32_t>(stages_behind) + 1;
}

void CostStages(const OperatorGraph& graph, const Cluster& cluster, const CostTable& costs,
                const std::vector<StageTraffic>& traffic, Plan& plan) {
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    Stage& stage = plan.stages[i];
    const DeviceClassId device_class = ClassOf(cluster, stage);
    for (const OperatorId op : stage.operators) stage.compute += costs.time(op, device_class).total();
    stage.communication_in = traffic[i].in;
    stage.communication_out = traffic[i].out;
    stage.load = stage.communication_in + stage.compute + stage.communication_out;
    stage.replicas.front().load = stage.load;
    stage.in_flight_micro_batches = InFlight(plan.problem.schedule, plan.stages.size() - 1 - i);
    stage.memory_bytes = StageMemoryBytes(graph, plan.problem, stage.operators, traffic[i].boundary_bytes,
                                          stage.in_flight_micro_batches);
  }
}

std::vector<DeviceUsage> UsageOfDevices(const Cluster& cluster, const std::vector<Stage>& stages) {
  std::vector<DeviceUsage> usages(cluster.devices.size());
  for (std::size_t i = 0; i < usages.size(); ++i) {
    usages[i].device = DeviceId(i);
    usages[i].memory_limit_bytes = UsableMemoryBytes(cluster, DeviceId(i));
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    DeviceUsage& usage = usages[stages[i].replicas.front().device.index()];
    usage.stages.emplace_back(i);
    usage.load += stages[i].load;
    usage.memory_bytes += stages[i].memory_bytes;
  }
  return usages;
}

Picoseconds GreatestLoad(const std::vector<DeviceUsage>& usages) {
  Picoseconds load{0};
  for (const DeviceUsage& usage : usages) load = std::max(load, usage.load);
  return load;
}

// Share of the time of the devices in use that they are idle.
double IdleShare(const std::vector<DeviceUsage>& usages, Picoseconds objective) {
  if (objective == Picoseconds(0)) return 0;
  Picoseconds busy{0};
  int64_t in_use = 0;
  for (const DeviceUsage& usage : usages) {
    busy += usage.load;
    if (!usage.stages.empty()) ++in_use;
  }
  return 1 - static_cast<double>(busy.count()) / (static_cast<double>(in_use) * static_cast<double>(objective.count()));
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
  Estimate estimate;
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

Plan CostPlan(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
              const CostTable& costs, const Placement& placement) {
  Plan plan;
  plan.problem = problem;
  plan.stages = MakeStages(graph, problem, placement);
  const StageMap stage_of(graph.operators.size(), plan.stages);
  Traffic traffic = MeasureTraffic(graph, cluster, problem, plan.stages, stage_of);
  CostStages(graph, cluster, costs, traffic.stages, plan);
  const std::vector<bool> contiguous = BackwardContiguity(graph, plan.stages, stage_of);
  for (std::size_t i = 0; i < plan.stages.size(); ++i) plan.stages[i].backward_contiguous = contiguous[i];
  plan.devices = UsageOfDevices(cluster, plan.stages);
  plan.links = std::move(traffic.links);
  plan.objective = GreatestLoad(plan.devices);
  plan.estimate = MakeEstimate(graph, cluster, costs, plan);
  plan.warnings = PlanWarnings(graph, cluster, costs, plan);
  return plan;
}

}  // namespace planwright
