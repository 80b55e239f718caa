// A periodic pattern as a task list.
#ifndef PLANWRIGHT_CORE_SCHEDULE_PATTERN_UNROLL_H_
#define PLANWRIGHT_CORE_SCHEDULE_PATTERN_UNROLL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/model/chain.h"
#include "core/model/periodic_pattern.h"
#include "core/model/task_list.h"

namespace planwright {

// The tasks of the micro-batches 0 .. micro_batches - 1, which every device and link runs in the order of the pattern:
// each as soon as it can, so never later than the pattern says (the ramp is shorter); tasks that take no time wait for
// no device or link. `device_names`: of
// devices.count devices; those without stages are left out.
// REQUIRES: `pattern` is one of `allocation`; micro_batches >= 1. Errors: INVALID_ARGUMENT with a violation at
// "micro_batches", too many tasks (kMaxTasks) or too long times. O(tasks log tasks).
absl::StatusOr<TaskList> UnrollPattern(const Chain& chain, const ChainDevices& devices,
                                       const ChainAllocation& allocation, const PeriodicPattern& pattern,
                                       const std::vector<std::string>& device_names, int32_t micro_batches);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SCHEDULE_PATTERN_UNROLL_H_
