// What a search may spend, and how it is told to stop.
#ifndef PLANWRIGHT_CORE_BASE_LIMITS_H_
#define PLANWRIGHT_CORE_BASE_LIMITS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stop_token>

namespace planwright {

// Limits of one search. Plain values; copy freely.
struct SolveLimits {
  using Clock = std::chrono::steady_clock;

  // The clock is a safety stop: a plan that it cut off may differ from run to run, and says so.
  Clock::time_point deadline = Clock::time_point::max();
  // Units of work, stated per algorithm; the deterministic way to stop.
  int64_t work = std::numeric_limits<int64_t>::max();
  // Bytes that the tables of the search may take.
  int64_t memory_bytes = int64_t{8} << 30;
  // Requested by whoever waits for the answer, e.g. when the client has gone.
  std::stop_token stop;
};

// Why a search had to stop before it was done.
enum class Interruption { kDeadline, kCancelled };

// nullopt: go on. One clock reading: call it every few microseconds of work at most. Any thread.
inline std::optional<Interruption> CheckInterruption(const SolveLimits& limits) {
  if (limits.stop.stop_requested()) return Interruption::kCancelled;
  if (SolveLimits::Clock::now() >= limits.deadline) return Interruption::kDeadline;
  return std::nullopt;
}

// `limits` with one of `parts` equal shares of the time that is left, for searches that come one after the other.
// REQUIRES: parts >= 1.
inline SolveLimits ShareOfRemainingTime(SolveLimits limits, std::size_t parts) {
  if (limits.deadline == SolveLimits::Clock::time_point::max()) return limits;
  const auto now = SolveLimits::Clock::now();
  limits.deadline = now + (limits.deadline - now) / static_cast<int64_t>(parts);
  return limits;
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_LIMITS_H_
