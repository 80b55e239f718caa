// In which order the devices of a pipeline run their passes.
#ifndef PLANWRIGHT_CORE_SCHEDULE_DEVICE_ORDERS_H_
#define PLANWRIGHT_CORE_SCHEDULE_DEVICE_ORDERS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/violations.h"
#include "core/cost/pipeline_work.h"
#include "core/schedule/pass_order.h"
#include "core/schedule/task_list_builder.h"
#include "core/schedule/task_numbers.h"

namespace planwright {

// The copy of `stage` that works on the micro-batch.
int32_t CopyOf(const PipelineWork& work, ScheduleKind kind, int32_t stage, int32_t micro_batch);

// Micro-batches that one copy of `stage` may hold under 1F1B (core/cost/pipeline_fill.h).
int32_t InFlightLimit(const PipelineWork& work, int32_t stage);

// The stages of each device.
std::vector<std::vector<int32_t>> StagesOfDevices(const PipelineWork& work);

// Adds violations at "schedule" and "micro_batches" where the plan does not fit the schedule.
void CheckFitsSchedule(const PipelineWork& work, const ScheduleSettings& settings, Violations& violations);

// One for each device: the order of the schedule, recomputations included; nullopt: first come, first served.
// REQUIRES: CheckFitsSchedule finds nothing.
std::vector<std::optional<PassOrder>> OrdersOfSchedule(const PipelineWork& work, const ScheduleSettings& settings);

// The order that the settings give. Adds violations at "order" for passes that are missing, unknown, twice there or of
// another device. REQUIRES: settings.order is not empty.
std::vector<std::optional<PassOrder>> GivenOrders(const PipelineWork& work, const ScheduleSettings& settings,
                                                  const TaskNumbers& numbers, Violations& violations);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SCHEDULE_DEVICE_ORDERS_H_
