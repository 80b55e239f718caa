#include "core/base/task_arena.h"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/base/interruption.h"
#include "core/base/thread_cpu_time.h"

namespace planwright {

struct TaskArena::Workers {
  explicit Workers(int threads) : arena(threads) {}

  oneapi::tbb::task_arena arena;
};

TaskArena::TaskArena(int threads) : threads_(std::max(1, threads)), workers_(std::make_unique<Workers>(threads_)) {}

TaskArena::~TaskArena() = default;

void TaskArena::ParallelForRanges(std::size_t count, std::size_t grain,
                                  const std::function<void(std::size_t, std::size_t)>& body) {
  using Range = oneapi::tbb::blocked_range<std::size_t>;
  if (count == 0) return;
  if (threads_ == 1 || count <= grain) {
    // Same ranges as the tasks would get, so that bodies which poll between ranges behave alike.
    for (std::size_t begin = 0; begin < count; begin += grain) body(begin, std::min(count, begin + grain));
    return;
  }
  const std::thread::id caller = std::this_thread::get_id();
  const SolveLimits* const heeded = InterruptionScope::Current();
  const auto metered_body = [&](const Range& range) {
    const InterruptionScope scope(heeded);
    if (std::this_thread::get_id() == caller) {
      body(range.begin(), range.end());
      return;
    }
    const std::chrono::nanoseconds start = ThreadCpuTime();
    body(range.begin(), range.end());
    worker_cpu_ns_.fetch_add((ThreadCpuTime() - start).count(), std::memory_order_relaxed);
  };
  workers_->arena.execute([&] {
    oneapi::tbb::task_group_context context(oneapi::tbb::task_group_context::isolated);
    oneapi::tbb::parallel_for(Range(0, count, grain), metered_body, oneapi::tbb::simple_partitioner(), context);
  });
}

void TaskArena::ParallelFor(std::size_t count, std::size_t grain, const std::function<void(std::size_t)>& body) {
  ParallelForRanges(count, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) body(i);
  });
}

}  // namespace planwright
