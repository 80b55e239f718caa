// Looks at the limits of a search from inside long loops, but not at every step.
#ifndef PLANWRIGHT_CORE_BASE_POLLING_H_
#define PLANWRIGHT_CORE_BASE_POLLING_H_

#include <cstdint>

#include "core/base/limits.h"

namespace planwright {

// For one thread. `limits` outlives the object.
class Poller {
 public:
  explicit Poller(const SolveLimits& limits) : limits_(limits) {}

  // To be asked once per step of some nanoseconds; true from the first look that found an interruption on.
  bool ShouldStop() {
    if (++steps_ % kStepsPerLook != 0 || has_stopped_) return has_stopped_;
    return ShouldStopNow();
  }

  // Looks at once.
  bool ShouldStopNow() {
    has_stopped_ = has_stopped_ || CheckInterruption(limits_).has_value();
    return has_stopped_;
  }

 private:
  static constexpr uint32_t kStepsPerLook = 1U << 16U;

  const SolveLimits& limits_;
  uint32_t steps_ = 0;
  bool has_stopped_ = false;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_POLLING_H_
