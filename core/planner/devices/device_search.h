// A search on the devices that the problem lets a plan use: devices_to_use, max_devices, and what MIN_DEVICES asks.
//
// Any SolveFunction can be underneath: it sees clusters that hold no other devices (device_subset_search.h), so that
// neither its plans nor its bounds can speak of them.
#ifndef PLANWRIGHT_CORE_PLANNER_DEVICES_DEVICE_SEARCH_H_
#define PLANWRIGHT_CORE_PLANNER_DEVICES_DEVICE_SEARCH_H_

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/search/search.h"

namespace planwright {

// Without any of those settings, and without request.device_limits, `solve` itself. A limit on the number of devices
// takes (unless the search heeds it itself) one search for each way to divide it among the device classes
// (device_choices.h), each with an equal share of the time that is left; one ends early when its bound meets the best
// plan of those before, or exceeds request.target, and the least of all bounds is the bound of the problem. MIN_DEVICES
// is taken for MAX_THROUGHPUT. options.work_limit holds for each of the searches. Errors: those of `solve`;
// RESOURCE_EXHAUSTED, too many divisions.
absl::StatusOr<SearchOutcome> SolveOnAllowedDevices(SolveFunction solve, const SearchRequest& request,
                                                    const SolveLimits& limits, TaskArena& arena,
                                                    const SearchCallbacks& callbacks);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_DEVICES_DEVICE_SEARCH_H_
