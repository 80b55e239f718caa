// What a request takes while it waits and while it is searched for; the tables of searches apart, which core estimates
// (table_estimate.h).
#ifndef PLANWRIGHT_SERVER_ENGINE_TASK_MEMORY_H_
#define PLANWRIGHT_SERVER_ENGINE_TASK_MEMORY_H_

#include <cstdint>

#include "server/engine/planning_engine.h"
#include "server/engine/task/plan_task.h"

namespace planwright::server {

// Estimate of the bytes that graph, cluster and problem hold, decoded, with what every search derives from them: costs
// of each operator on each device class, bandwidths of pairs of devices where the interconnect is a table. An estimate
// that is too small by a small factor at worst. Complexity O(graph + devices).
int64_t EstimateMemory(const PlanTask& task);
// Likewise for what a request with a plan was read to, without the request itself.
int64_t EstimateMemory(const GivenPlan& given);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_TASK_MEMORY_H_
