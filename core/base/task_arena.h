// The threads that searches run on: a oneTBB arena of bounded width.
//
// Every loop gets a task_group_context of its own, isolated from the others, because an arena breaks the binding of
// inner contexts to outer ones. Stopping is by polling SolveLimits in the bodies, not by
// cancelling contexts: oneTBB checks those only between tasks. Bodies heed the InterruptionScope of their caller.
#ifndef PLANWRIGHT_CORE_BASE_TASK_ARENA_H_
#define PLANWRIGHT_CORE_BASE_TASK_ARENA_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace planwright {

// Thread-safe: several searches may share one arena.
class TaskArena {
 public:
  // `threads` >= 1. The process must allow that many workers (oneTBB's global_control), else fewer take part.
  explicit TaskArena(int threads);
  ~TaskArena();

  int threads() const { return threads_; }

  // CPU time that threads other than the callers have spent in bodies so far.
  std::chrono::nanoseconds worker_cpu_time() const { return std::chrono::nanoseconds(worker_cpu_ns_.load()); }

  // Runs body(i) for i in [0, count), `grain` consecutive indices to a task, and waits. Bodies may run on any thread
  // of the arena, the caller included, in any order: they must write only to places of their own. An exception thrown
  // by a body is rethrown after all running bodies have ended. REQUIRES: grain >= 1.
  void ParallelFor(std::size_t count, std::size_t grain, const std::function<void(std::size_t)>& body);

  // Runs body(begin, end) on disjoint ranges that cover [0, count), each of at most `grain` indices, and waits.
  // As above otherwise.
  void ParallelForRanges(std::size_t count, std::size_t grain,
                         const std::function<void(std::size_t, std::size_t)>& body);

 private:
  // oneTBB's, whose headers only the source includes: they are longer than most sources that need an arena.
  struct Workers;

  int threads_;
  std::unique_ptr<Workers> workers_;
  std::atomic<int64_t> worker_cpu_ns_{0};
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_TASK_ARENA_H_
