#include "core/base/task_arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>

#include <atomic>
#include <barrier>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace planwright {
namespace {

class TaskArenaTest : public ::testing::TestWithParam<int> {
 private:
  // oneTBB starts no more workers than there are processors unless it is told to.
  oneapi::tbb::global_control workers_{oneapi::tbb::global_control::max_allowed_parallelism, 8};
};

TEST_P(TaskArenaTest, VisitsEveryIndexOnce) {
  TaskArena arena(GetParam());
  for (const std::size_t grain : {1U, 7U, 5000U}) {
    std::vector<std::atomic<int>> visits(1000);
    arena.ParallelFor(visits.size(), grain, [&](std::size_t i) { ++visits[i]; });
    for (const std::atomic<int>& count : visits) ASSERT_EQ(count, 1);
  }
}

TEST_P(TaskArenaTest, RangesCoverEverythingAndHonourTheGrain) {
  TaskArena arena(GetParam());
  std::mutex mutex;
  std::vector<bool> covered(1003, false);
  arena.ParallelForRanges(covered.size(), 10, [&](std::size_t begin, std::size_t end) {
    const std::lock_guard lock(mutex);
    EXPECT_LT(begin, end);
    EXPECT_LE(end - begin, 10U);
    for (std::size_t i = begin; i < end; ++i) {
      EXPECT_FALSE(covered[i]);
      covered[i] = true;
    }
  });
  EXPECT_THAT(covered, ::testing::Each(true));
}

TEST_P(TaskArenaTest, EmptyLoopDoesNothing) {
  TaskArena(GetParam()).ParallelFor(0, 1, [](std::size_t) { FAIL(); });
}

TEST_P(TaskArenaTest, RethrowsTheExceptionOfABodyAndStaysUsable) {
  TaskArena arena(GetParam());
  const auto throw_at_77 = [](std::size_t i) {
    if (i == 77) throw std::runtime_error("body failed");
  };
  EXPECT_THROW(arena.ParallelFor(100, 1, throw_at_77), std::runtime_error);
  std::atomic<int> visits = 0;
  arena.ParallelFor(100, 1, [&](std::size_t) { ++visits; });
  EXPECT_EQ(visits, 100);
}

TEST_P(TaskArenaTest, NestedLoopsFinish) {
  TaskArena arena(GetParam());
  std::atomic<int> visits = 0;
  arena.ParallelFor(20, 1, [&](std::size_t) { arena.ParallelFor(20, 1, [&](std::size_t) { ++visits; }); });
  EXPECT_EQ(visits, 400);
}

// Each index writes its own place, so the result cannot depend on the number of threads.
TEST_P(TaskArenaTest, ResultDoesNotDependOnTheThreads) {
  TaskArena arena(GetParam());
  std::vector<std::size_t> squares(10'000);
  arena.ParallelFor(squares.size(), 16, [&](std::size_t i) { squares[i] = i * i; });
  EXPECT_EQ(std::accumulate(squares.begin(), squares.end(), std::size_t{0}), 333'283'335'000U);
}

INSTANTIATE_TEST_SUITE_P(Threads, TaskArenaTest, ::testing::Values(1, 2, 8));

TEST(TaskArenaWidthTest, IsAtLeastOne) {
  EXPECT_EQ(TaskArena(0).threads(), 1);
  EXPECT_EQ(TaskArena(3).threads(), 3);
}

TEST(TaskArenaWidthTest, SeveralThreadsTakePart) {
  const oneapi::tbb::global_control workers(oneapi::tbb::global_control::max_allowed_parallelism, 2);
  TaskArena arena(2);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  // Two bodies that wait for each other end only on two threads.
  std::barrier both(2);
  arena.ParallelFor(2, 1, [&](std::size_t) {
    both.arrive_and_wait();
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads.size(), 2U);
  EXPECT_GT(arena.worker_cpu_time().count(), 0);
}

TEST(TaskArenaWidthTest, OneThreadSpendsNoWorkerTime) {
  TaskArena arena(1);
  arena.ParallelFor(100, 1, [](std::size_t) {});
  EXPECT_EQ(arena.worker_cpu_time().count(), 0);
}

}  // namespace
}  // namespace planwright
