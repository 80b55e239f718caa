#include "server/engine/task/search_deadline.h"

#include <algorithm>

namespace planwright::server {

SolveLimits::Clock::time_point SearchDeadline(SolveLimits::Clock::time_point now,
                                              std::optional<std::chrono::nanoseconds> time_limit,
                                              std::optional<SolveLimits::Clock::time_point> call_deadline,
                                              const TimeLimits& limits, int64_t searches) {
  constexpr std::chrono::nanoseconds kMinMargin = std::chrono::milliseconds(100);
  std::chrono::nanoseconds allowed = limits.max_time_limit;
  if (time_limit.has_value()) allowed = std::min(allowed, *time_limit);
  if (call_deadline.has_value()) {
    const std::chrono::nanoseconds left = *call_deadline - now;
    allowed = std::min(allowed, (left - std::max(kMinMargin, left / 20)) / searches);
  }
  if (!time_limit.has_value() && !call_deadline.has_value()) allowed = std::min(allowed, limits.default_time_limit);
  return now + allowed;
}

}  // namespace planwright::server
