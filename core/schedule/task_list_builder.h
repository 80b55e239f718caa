// The schedules that flush, and PipeDream's, as task lists.
#ifndef PLANWRIGHT_CORE_SCHEDULE_TASK_LIST_BUILDER_H_
#define PLANWRIGHT_CORE_SCHEDULE_TASK_LIST_BUILDER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/cost/pipeline_work.h"
#include "core/model/problem.h"
#include "core/model/task_list.h"
#include "core/schedule/pass_order.h"

namespace planwright {

// The order that a request gives one device.
struct GivenOrder {
  // In PipelineWork::devices.
  int32_t device = 0;
  PassOrder passes;
};

struct ScheduleSettings {
  // kGpipe, kOneFOneB, kPipedreamAsync, kInterleaved, kChimera or kZeroBubbleH1.
  ScheduleKind kind = ScheduleKind::kOneFOneB;
  // >= 1.
  int32_t micro_batches = 1;
  // Activations are computed again before the backward pass.
  bool recompute = false;
  // ONE_F_ONE_B and PIPEDREAM_ASYNC: links that carry tensors one way and gradients the other take them in turn, as the
  // devices take their passes; otherwise first come, first served.
  bool alternates_links = false;
  // Empty: the order of `kind`; else one for each device, recomputations included.
  std::vector<GivenOrder> order;
};

// The tasks of all micro-batches:
//   - Micro-batch n runs on copy n mod r of a stage with r copies (CHIMERA: ChimeraCopy).
//   - Devices run their passes in the order of the schedule (pass_order.h). One that holds several stages takes them
//     first come, first served, unless the schedule is made for that; the limit on micro-batches in flight, and for
//     GPIPE the end of the forward phase, are precedences there.
//   - Transfers occupy the devices (SERIAL: receive, run the pass, send), else links of their own, first come, first
//     served: one for each pair of devices in use, or of device and host memory; FULL_DUPLEX: for each direction.
//   - Copies of a stage reduce their gradients once, at the end of the step; under PIPEDREAM_ASYNC, which has no end,
//     after each round of r micro-batches. That occupies all of them (SERIAL; under PIPEDREAM_ASYNC after the backward
//     pass of the next round, for others may be a round behind) or a link of its own.
// REQUIRES: kChimera: work of MeasureBidirectionalWork; otherwise of MeasurePipelineWork.
// Errors: INVALID_ARGUMENT with violations of the fields of a SimulatePlanRequest: "micro_batches", too many tasks or
// too long times; "schedule", the plan does not fit it; "order", it is not complete. Whether a given order can run is
// for FindCycle to say. O(tasks + precedences).
absl::StatusOr<TaskList> BuildTaskList(const PipelineWork& work, const ScheduleSettings& settings);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SCHEDULE_TASK_LIST_BUILDER_H_
