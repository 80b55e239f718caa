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

  // To be asked beside `units` of work of some nanoseconds each; true from the first look that found an interruption
  // on. The clock is read once in some microseconds of work, whatever a step costs, as long as long steps say so.
  bool ShouldStop(int64_t units = 1) {
    left_ -= units;
    if (left_ > 0 || has_stopped_) return has_stopped_;
    left_ = kUnitsPerLook;
    return ShouldStopNow();
  }

  // To be called where tables would take more than limits.memory_bytes: it is true from then on.
  void StopForGood() { has_stopped_ = true; }

  // Looks at once.
  bool ShouldStopNow() {
    has_stopped_ = has_stopped_ || CheckInterruption(limits_).has_value();
    return has_stopped_;
  }

  const SolveLimits& limits() const { return limits_; }

 private:
  static constexpr int64_t kUnitsPerLook = 1 << 10;

  const SolveLimits& limits_;
  int64_t left_ = kUnitsPerLook;
  bool has_stopped_ = false;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_POLLING_H_
