#include "core/base/task_arena.h"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>

namespace planwright {

TaskArena::TaskArena(int threads) : threads_(std::max(1, threads)), arena_(threads_) {}

void TaskArena::ParallelForRanges(std::size_t count, std::size_t grain,
                                  const std::function<void(std::size_t, std::size_t)>& body) {
  using Range = oneapi::tbb::blocked_range<std::size_t>;
  if (count == 0) return;
  if (threads_ == 1 || count <= grain) {
    // Same ranges as the tasks would get, so that bodies which poll between ranges behave alike.
    for (std::size_t begin = 0; begin < count; begin += grain) body(begin, std::min(count, begin + grain));
    return;
  }
  arena_.execute([&] {
    oneapi::tbb::task_group_context context(oneapi::tbb::task_group_context::isolated);
    oneapi::tbb::parallel_for(
        Range(0, count, grain), [&](const Range& range) { body(range.begin(), range.end()); },
        oneapi::tbb::simple_partitioner(), context);
  });
}

void TaskArena::ParallelFor(std::size_t count, std::size_t grain, const std::function<void(std::size_t)>& body) {
  ParallelForRanges(count, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) body(i);
  });
}

}  // namespace planwright
