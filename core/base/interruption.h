// Abandons work of which nothing is kept, in code that knows nothing of limits.
//
// Reading a request, validating, costing and verifying are loops that end in a value or not at all, called from
// everywhere. They say how much they have done (InterruptionPoint); whoever has a deadline or a stop request puts an
// InterruptionScope around them and catches Interrupted where what is abandoned can be named. Without a scope nothing
// is ever thrown. Searches that have something to show when they stop ask a Poller instead (polling.h).
//
// The scope belongs to a thread; TaskArena carries it to the threads that run its bodies.
#ifndef PLANWRIGHT_CORE_BASE_INTERRUPTION_H_
#define PLANWRIGHT_CORE_BASE_INTERRUPTION_H_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>

#include "absl/status/status.h"
#include "core/base/limits.h"

namespace planwright {

// Thrown by InterruptionPoint alone.
class Interrupted : public std::exception {
 public:
  explicit Interrupted(Interruption why) : why_(why) {}
  Interruption why() const { return why_; }
  const char* what() const noexcept override { return "interrupted"; }

 private:
  Interruption why_;
};

// CANCELLED or DEADLINE_EXCEEDED, "cancelled before `what`", "the deadline passed before `what`".
absl::Status InterruptedError(Interruption why, const char* what);

// As long as it lives, points of this thread heed `limits`, which outlives it; those of the scope around it are not
// heeded meanwhile. nullptr: none are.
class InterruptionScope {
 public:
  explicit InterruptionScope(const SolveLimits* limits);
  ~InterruptionScope();
  InterruptionScope(const InterruptionScope&) = delete;
  InterruptionScope& operator=(const InterruptionScope&) = delete;

  // What this thread heeds; nullptr: nothing.
  static const SolveLimits* Current();

 private:
  const SolveLimits* const outer_;
};

namespace internal {

struct InterruptionState {
  const SolveLimits* limits = nullptr;
  // Units until the next look.
  int64_t left = std::numeric_limits<int64_t>::max();
};
inline constinit thread_local InterruptionState interruption_state;

void LookForInterruption();

}  // namespace internal

// To be called beside `units` of work of some nanoseconds each, before or after it: throws Interrupted where it should
// end. Costs two nanoseconds; the clock is read once in some microseconds. Never in a destructor.
inline void InterruptionPoint(std::size_t units = 1) {
  internal::InterruptionState& state = internal::interruption_state;
  state.left -= static_cast<int64_t>(units);
  if (state.left < 0) [[unlikely]]
    internal::LookForInterruption();
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_INTERRUPTION_H_
