// How searches that come one after the other divide the time.
#ifndef PLANWRIGHT_CORE_BASE_REMAINING_TIME_H_
#define PLANWRIGHT_CORE_BASE_REMAINING_TIME_H_

#include <cstddef>
#include <cstdint>

#include "core/base/limits.h"

namespace planwright {

// `limits` with one of `parts` equal shares of the time that is left. REQUIRES: parts >= 1.
inline SolveLimits ShareOfRemainingTime(SolveLimits limits, std::size_t parts) {
  if (limits.deadline == SolveLimits::Clock::time_point::max()) return limits;
  const auto now = SolveLimits::Clock::now();
  limits.deadline = now + (limits.deadline - now) / static_cast<int64_t>(parts);
  return limits;
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_REMAINING_TIME_H_
