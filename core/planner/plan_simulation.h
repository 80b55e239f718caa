// Runs a placement on the simulator: under which schedule, what that takes, and what it needs.
#ifndef PLANWRIGHT_CORE_PLANNER_PLAN_SIMULATION_H_
#define PLANWRIGHT_CORE_PLANNER_PLAN_SIMULATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/model/problem.h"
#include "core/model/task_list.h"
#include "core/model/validator.h"
#include "core/planner/planner.h"
#include "core/simulate/simulation_report.h"
#include "core/simulate/timeline.h"

namespace planwright {

struct SimulationSettings {
  struct DeviceOrder {
    DeviceId device;
    std::vector<PassTask> passes;
  };

  // nullopt, here and below: that of the problem. Where that is unspecified too: 1F1B for TRAINING, GPIPE for
  // INFERENCE.
  std::optional<ScheduleKind> schedule;
  // Where that is unset too: 4 for each stage.
  std::optional<int32_t> micro_batches;
  std::optional<MemoryModel::Recomputation> recomputation;
  // nullopt: kExclusive; with collectives on links kFairShare, which alone they know.
  std::optional<Contention> contention;
  // kOnLinks: of a problem with joint settings, where replicas do not take turns.
  Collectives collectives = Collectives::kInPasses;
  // Empty: the order of the schedule.
  std::vector<DeviceOrder> order;
};

// What a simulation ran with: SimulationSettings whose defaults are resolved.
struct ResolvedSettings {
  ScheduleKind schedule = ScheduleKind::kGpipe;
  int32_t micro_batches = 1;
  MemoryModel::Recomputation recomputation = MemoryModel::Recomputation::kNone;
  Contention contention = Contention::kExclusive;
  Collectives collectives = Collectives::kInPasses;
  std::vector<SimulationSettings::DeviceOrder> order = {};
};

struct PlanSimulation {
  ResolvedSettings settings;
  // Devices in the order of the cluster, then links.
  TaskList list;
  Timeline timeline;
  SimulationReport report;
  // One for each resource; nullopt: unlimited, or a link.
  std::vector<std::optional<int64_t>> memory_limits;
  // SteadyPeriod of schedules that never flush; 0 for others.
  Picoseconds period{0};
  // With collectives on links: the step where each has its links for itself, and how many layers are a task.
  std::optional<Picoseconds> step_without_contention;
  int64_t layers_per_task = 0;
  std::vector<std::string> warnings;
};

// Of a problem with joint settings: the step that the plan states, a resource for each stage, whose ranks do the same;
// the settings must be unset or say what the plan says. With collectives on links a step is no shorter than that, and
// as long where nothing that shares a link comes at the same time.
// Constraints of the problem that do not keep the placement from running (memory, pins, the selection of devices, ...)
// are not judged; what exceeds the memory is a warning. Looks at deadline and stop request between its steps.
// Errors: as EvaluatePlacement; INVALID_ARGUMENT with violations of the fields of a SimulatePlanRequest also where the
// placement is too broken to run, does not fit the schedule (BuildTaskList), or its tasks wait for each other.
absl::StatusOr<PlanSimulation> SimulatePlacement(const PlanRequest& request, const ModelLimits& model_limits,
                                                 const Placement& placement, const SimulationSettings& settings,
                                                 const SolveLimits& limits = SolveLimits());

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_PLAN_SIMULATION_H_
