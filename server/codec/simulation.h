// Settings of SimulatePlan -> core, and its answers -> wire.
#ifndef PLANWRIGHT_SERVER_CODEC_SIMULATION_H_
#define PLANWRIGHT_SERVER_CODEC_SIMULATION_H_

#include <cstdint>

#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/planner/plan_simulation.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::server {

// Everything but graph, cluster, plan and problem. Violations: unknown enum numbers, devices that are none, names that
// name no pass.
SimulationSettings DecodeSimulationSettings(const v1::SimulatePlanRequest& request, const OperatorGraph& graph,
                                            const Cluster& cluster, Violations& violations);

v1::SimulationSummary EncodeSummary(const PlanSimulation& simulation, int64_t samples_per_micro_batch);

// Everything but `id` and `waits_for`.
void EncodeTask(const PlanSimulation& simulation, int32_t task, v1::SimulatedTask& wire);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_CODEC_SIMULATION_H_
