// When a search must end so that its answer arrives in time (docs/operations.md).
#ifndef PLANWRIGHT_SERVER_ENGINE_TASK_SEARCH_DEADLINE_H_
#define PLANWRIGHT_SERVER_ENGINE_TASK_SEARCH_DEADLINE_H_

#include <chrono>
#include <cstdint>
#include <optional>

#include "core/base/limits.h"

namespace planwright::server {

struct TimeLimits {
  // For calls with neither a time limit nor a deadline.
  std::chrono::nanoseconds default_time_limit = std::chrono::seconds(60);
  // No search takes longer.
  std::chrono::nanoseconds max_time_limit = std::chrono::hours(1);
};

// min(now + time_limit, call_deadline - max(100 ms, 5 % of what is left)); with neither, now + default_time_limit;
// never beyond now + max_time_limit. May lie in the past: no time is left. What the call's deadline leaves is shared
// equally among `searches` that follow each other. REQUIRES: searches >= 1.
SolveLimits::Clock::time_point SearchDeadline(SolveLimits::Clock::time_point now,
                                              std::optional<std::chrono::nanoseconds> time_limit,
                                              std::optional<SolveLimits::Clock::time_point> call_deadline,
                                              const TimeLimits& limits, int64_t searches = 1);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_TASK_SEARCH_DEADLINE_H_
