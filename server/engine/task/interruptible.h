// Reads and judges requests no longer than somebody waits for the answer.
#ifndef PLANWRIGHT_SERVER_ENGINE_TASK_INTERRUPTIBLE_H_
#define PLANWRIGHT_SERVER_ENGINE_TASK_INTERRUPTIBLE_H_

#include "core/base/interruption.h"
#include "core/base/limits.h"

namespace planwright::server {

// What `read` returns, a status or a StatusOr; CANCELLED or DEADLINE_EXCEEDED where `limits` ended it.
template <typename Read>
auto Interruptible(const SolveLimits& limits, Read read) -> decltype(read()) {
  const InterruptionScope scope(&limits);
  try {
    return read();
  } catch (const Interrupted& interrupted) {
    return InterruptedError(interrupted.why(), "the request was read");
  }
}

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_TASK_INTERRUPTIBLE_H_
