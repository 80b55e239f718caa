#include "server/serving/admission/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <latch>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/serving/admission/retry_delay.h"

namespace planwright::server {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

// A clock that stands still until it is moved.
class ManualClock {
 public:
  std::function<Executor::Clock::time_point()> now() {
    return [this] { return Executor::Clock::time_point(seconds(seconds_)); };
  }
  void Advance(int by) { seconds_ += by; }

 private:
  std::atomic<int> seconds_{1000};
};

// A job that runs until it is released, and tells when it has started. It may end a moment after the object.
class Blocker {
 public:
  Executor::QueuedJob job() {
    return {.stop = stop_,
            .run =
                [state = state_](const absl::Status&) {
                  state->started.count_down();
                  state->released.wait();
                },
            .tenant = "a"};
  }
  void WaitUntilStarted() { state_->started.wait(); }
  void Release() { state_->released.count_down(); }
  std::stop_source& stop() { return stop_; }

 private:
  struct State {
    std::latch started{1};
    std::latch released{1};
  };

  std::stop_source stop_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

// Runs a job to its end that takes 10 s by `clock`, so that the executor expects the next ones to take as long.
absl::Status RunForTenSeconds(Executor& executor, ManualClock& clock) {
  const auto done = std::make_shared<std::latch>(1);
  const absl::Status submitted = executor.Submit({.run =
                                                      [&clock, done](const absl::Status&) {
                                                        clock.Advance(10);
                                                        done->count_down();
                                                      },
                                                  .tenant = "a"});
  if (submitted.ok()) done->wait();
  return submitted;
}

// What a job was admitted with, once it has been.
class Outcome {
 public:
  Executor::QueuedJob job(std::optional<Executor::Clock::time_point> deadline = std::nullopt,
                          std::stop_source stop = std::stop_source(std::nostopstate)) {
    return {.deadline = deadline,
            .stop = std::move(stop),
            .run = [told = admission_](const absl::Status& admission) { told->set_value(admission); },
            .tenant = "a"};
  }
  absl::Status Wait() { return future_.get(); }

 private:
  // Of the job as well, which is still in it when the waiting one goes on.
  std::shared_ptr<std::promise<absl::Status>> admission_ = std::make_shared<std::promise<absl::Status>>();
  std::future<absl::Status> future_ = admission_->get_future();
};

TEST(ExecutorTest, StandsStillWhileOneJobKeepsOthersWaiting) {
  ManualClock clock;
  Executor executor({.max_running = 1, .max_waiting = 1, .now = clock.now()});
  Blocker blocker;
  Outcome waiting;
  ASSERT_TRUE(executor.Submit(blocker.job()).ok());
  blocker.WaitUntilStarted();
  clock.Advance(40);
  EXPECT_EQ(executor.stalled_for(), seconds(0));
  ASSERT_TRUE(executor.Submit(waiting.job()).ok());
  EXPECT_EQ(executor.stalled_for(), seconds(40));
  clock.Advance(2);
  EXPECT_EQ(executor.stalled_for(), seconds(42));
  blocker.Release();
  EXPECT_TRUE(waiting.Wait().ok());
  EXPECT_EQ(executor.stalled_for(), seconds(0));
}

TEST(ExecutorTest, StandsStillWhileItsSpareThreadsFindNothingThatTheyMayRun) {
  ManualClock clock;
  Executor executor({.max_running = 1, .spare = 1, .max_waiting = 3, .now = clock.now()});
  Blocker blocker;
  Outcome first;
  Outcome second;
  ASSERT_TRUE(executor.Submit(blocker.job()).ok());
  blocker.WaitUntilStarted();
  ASSERT_TRUE(executor.Submit(first.job()).ok());
  clock.Advance(40);
  ASSERT_TRUE(executor.Submit(second.job()).ok());
  // The spare thread has looked at what came.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(executor.stalled_for(), seconds(40));
  blocker.Release();
  EXPECT_TRUE(first.Wait().ok());
  EXPECT_TRUE(second.Wait().ok());
}

TEST(ExecutorTest, RunsJobsInTheOrderOfTheirArrival) {
  // Before the executor, which waits for its jobs at its end.
  std::vector<int> order;
  std::latch done(3);
  Executor executor({.max_running = 1, .max_waiting = 3});
  Blocker blocker;
  ASSERT_TRUE(executor.Submit(blocker.job()).ok());
  blocker.WaitUntilStarted();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(executor
                    .Submit({.deadline = std::nullopt,
                             .stop = {},
                             .run =
                                 [&order, &done, i](const absl::Status&) {
                                   order.push_back(i);
                                   done.count_down();
                                 },
                             .tenant = "a"})
                    .ok());
  }
  blocker.Release();
  done.wait();
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
}

TEST(ExecutorTest, RunsAsManyAtOnceAsItMay) {
  Executor executor({.max_running = 2, .max_waiting = 0});
  Blocker first;
  Blocker second;
  ASSERT_TRUE(executor.Submit(first.job()).ok());
  ASSERT_TRUE(executor.Submit(second.job()).ok());
  // Both have started before either is released.
  first.WaitUntilStarted();
  second.WaitUntilStarted();
  EXPECT_EQ(executor.load().running, 2);
  first.Release();
  second.Release();
}

TEST(ExecutorTest, RefusesWhatFindsTheQueueFull) {
  Executor executor({.max_running = 1, .max_waiting = 1, .retry_delay = std::chrono::milliseconds(70)});
  Blocker running;
  Outcome waiting;
  Outcome refused;
  ASSERT_TRUE(executor.Submit(running.job()).ok());
  running.WaitUntilStarted();
  ASSERT_TRUE(executor.Submit(waiting.job()).ok());
  const absl::Status status = executor.Submit(refused.job());
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(RetryDelayOf(status), std::chrono::milliseconds(70));
  EXPECT_EQ(executor.load().waiting, 1);
  running.Release();
  EXPECT_TRUE(waiting.Wait().ok());
}

Executor::QueuedJob Of(const char* tenant, Executor::QueuedJob job) {
  job.tenant = tenant;
  return job;
}

Executor::QueuedJob WithBytes(Executor::QueuedJob job, int64_t bytes) {
  job.bytes = bytes;
  return job;
}

TEST(ExecutorTest, RefusesWhatWouldHoldTooManyBytesTogetherWithTheOthers) {
  Executor executor({.max_running = 1, .max_waiting = 9, .max_bytes = 100});
  Blocker running;
  Outcome waiting;
  Outcome refused;
  ASSERT_TRUE(executor.Submit(WithBytes(running.job(), 60)).ok());
  running.WaitUntilStarted();
  ASSERT_TRUE(executor.Submit(WithBytes(waiting.job(), 40)).ok());
  const absl::Status status = executor.Submit(WithBytes(refused.job(), 1));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(RetryDelayOf(status).has_value());
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("--memory_budget"));
  running.Release();
  EXPECT_TRUE(waiting.Wait().ok());
}

TEST(ExecutorTest, TakesALargeJobWhenItIsAlone) {
  Executor executor({.max_running = 1, .max_waiting = 9, .max_bytes = 100});
  Blocker running;
  ASSERT_TRUE(executor.Submit(WithBytes(running.job(), 1000)).ok());
  running.WaitUntilStarted();
  Outcome refused;
  EXPECT_FALSE(executor.Submit(WithBytes(refused.job(), 1)).ok());
  running.Release();
}

TEST(ExecutorTest, JobsWaitForRoomAndAreNotOvertaken) {
  Executor executor({.max_running = 3, .max_waiting = 9, .max_running_bytes = 10});
  Blocker first;
  Blocker large;
  Blocker small;
  const auto submit = [&executor](Blocker& blocker, int64_t running_bytes) {
    Executor::QueuedJob job = blocker.job();
    job.running_bytes = running_bytes;
    return executor.Submit(std::move(job));
  };
  ASSERT_TRUE(submit(first, 6).ok());
  first.WaitUntilStarted();
  ASSERT_TRUE(submit(large, 9).ok());
  ASSERT_TRUE(submit(small, 1).ok());
  // The idle workers have looked at both.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(executor.load().running, 1);
  EXPECT_EQ(executor.load().waiting, 2);
  first.Release();
  large.WaitUntilStarted();
  small.WaitUntilStarted();
  // More than there is: alone only.
  Blocker huge;
  ASSERT_TRUE(submit(huge, 11).ok());
  EXPECT_EQ(executor.load().waiting, 1);
  large.Release();
  small.Release();
  huge.WaitUntilStarted();
  huge.Release();
}

TEST(ExecutorTest, WhatStandsBehindAnAbandonedJobRunsWhenThatIsGone) {
  Executor executor({.max_running = 2, .max_waiting = 9, .max_running_bytes = 10});
  Blocker running;
  ASSERT_TRUE(executor
                  .Submit([&] {
                    Executor::QueuedJob job = running.job();
                    job.running_bytes = 6;
                    return job;
                  }())
                  .ok());
  running.WaitUntilStarted();
  const std::stop_source stop;
  Outcome large;
  Executor::QueuedJob of_large = large.job(std::nullopt, stop);
  of_large.running_bytes = 9;
  ASSERT_TRUE(executor.Submit(std::move(of_large)).ok());
  Outcome small;
  ASSERT_TRUE(executor.Submit(small.job()).ok());
  stop.request_stop();
  EXPECT_EQ(large.Wait().code(), absl::StatusCode::kCancelled);
  // While the first one runs.
  EXPECT_TRUE(small.Wait().ok());
  running.Release();
}

TEST(ExecutorTest, ACancelledJobTakesNeitherATurnNorThePlaceOfAnother) {
  Executor executor({.max_running = 1, .max_waiting = 1});
  executor.SetTenants({.named = {{"b", {.requests_per_second = 0.001}}}, .others = {}});
  Blocker running;
  Outcome waiting;
  ASSERT_TRUE(executor.Submit(running.job()).ok());
  running.WaitUntilStarted();
  ASSERT_TRUE(executor.Submit(waiting.job()).ok());
  const std::stop_source stop;
  stop.request_stop();
  Outcome cancelled;
  ASSERT_TRUE(executor.Submit(Of("b", cancelled.job(std::nullopt, stop))).ok());
  EXPECT_EQ(cancelled.Wait().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(executor.load().waiting, 1);
  running.Release();
  EXPECT_TRUE(waiting.Wait().ok());
  Outcome next;
  EXPECT_TRUE(executor.Submit(Of("b", next.job())).ok());
  EXPECT_TRUE(next.Wait().ok());
}

TEST(ExecutorTest, AbandonedJobsMakeRoomForBytes) {
  Executor executor({.max_running = 1, .max_waiting = 9, .max_bytes = 100});
  Blocker running;
  const std::stop_source stop;
  Outcome abandoned;
  Outcome next;
  ASSERT_TRUE(executor.Submit(WithBytes(running.job(), 10)).ok());
  running.WaitUntilStarted();
  ASSERT_TRUE(executor.Submit(WithBytes(abandoned.job(std::nullopt, stop), 90)).ok());
  stop.request_stop();
  ASSERT_TRUE(executor.Submit(WithBytes(next.job(), 90)).ok());
  EXPECT_EQ(abandoned.Wait().code(), absl::StatusCode::kCancelled);
  running.Release();
  EXPECT_TRUE(next.Wait().ok());
}

TEST(ExecutorTest, AnswersAbandonedJobsEvenWhenTheyDoNotMakeEnoughRoom) {
  Executor executor({.max_running = 1, .max_waiting = 9, .max_bytes = 100});
  Blocker running;
  const std::stop_source stop;
  Outcome abandoned;
  Outcome refused;
  ASSERT_TRUE(executor.Submit(WithBytes(running.job(), 50)).ok());
  running.WaitUntilStarted();
  ASSERT_TRUE(executor.Submit(WithBytes(abandoned.job(std::nullopt, stop), 10)).ok());
  stop.request_stop();
  EXPECT_FALSE(executor.Submit(WithBytes(refused.job(), 90)).ok());
  EXPECT_EQ(abandoned.Wait().code(), absl::StatusCode::kCancelled);
  running.Release();
}

TEST(ExecutorTest, AnswersWithoutRunningWhatHasPassedItsDeadlineWhileItWaited) {
  ManualClock clock;
  Executor executor({.max_running = 1, .max_waiting = 2, .now = clock.now()});
  Blocker running;
  Outcome late;
  Outcome in_time;
  ASSERT_TRUE(executor.Submit(running.job()).ok());
  running.WaitUntilStarted();
  ASSERT_TRUE(executor.Submit(late.job(clock.now()() + seconds(5))).ok());
  ASSERT_TRUE(executor.Submit(in_time.job(clock.now()() + seconds(6))).ok());
  clock.Advance(5);
  running.Release();
  EXPECT_EQ(late.Wait().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(in_time.Wait().ok());
}

TEST(ExecutorTest, AnswersWithoutRunningWhatWasCancelledWhileItWaited) {
  Executor executor({.max_running = 1, .max_waiting = 1});
  Blocker running;
  Outcome cancelled;
  const std::stop_source stop;
  ASSERT_TRUE(executor.Submit(running.job()).ok());
  running.WaitUntilStarted();
  ASSERT_TRUE(executor.Submit(cancelled.job(std::nullopt, stop)).ok());
  stop.request_stop();
  running.Release();
  EXPECT_EQ(cancelled.Wait().code(), absl::StatusCode::kCancelled);
}

TEST(ExecutorTest, AbandonedJobsGiveTheirPlaceToNewOnes) {
  Executor executor({.max_running = 1, .max_waiting = 1});
  Blocker running;
  Outcome cancelled;
  Outcome next;
  const std::stop_source stop;
  ASSERT_TRUE(executor.Submit(running.job()).ok());
  running.WaitUntilStarted();
  ASSERT_TRUE(executor.Submit(cancelled.job(std::nullopt, stop)).ok());
  stop.request_stop();
  EXPECT_TRUE(executor.Submit(next.job()).ok());
  // Answered although the only worker is busy.
  EXPECT_EQ(cancelled.Wait().code(), absl::StatusCode::kCancelled);
  running.Release();
  EXPECT_TRUE(next.Wait().ok());
}

TEST(ExecutorTest, AfterStopAdmissionWhatWaitsStillRuns) {
  Executor executor({.max_running = 1, .max_waiting = 1});
  Blocker running;
  Outcome waiting;
  Outcome refused;
  ASSERT_TRUE(executor.Submit(running.job()).ok());
  running.WaitUntilStarted();
  ASSERT_TRUE(executor.Submit(waiting.job()).ok());
  executor.StopAdmission();
  const absl::Status status = executor.Submit(refused.job());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(RetryDelayOf(status).has_value());
  running.Release();
  EXPECT_TRUE(waiting.Wait().ok());
}

TEST(ExecutorTest, StopAllStopsTheRunningAndAnswersTheWaiting) {
  Executor executor({.max_running = 1, .max_waiting = 1});
  Blocker running;
  Outcome waiting;
  ASSERT_TRUE(executor.Submit(running.job()).ok());
  running.WaitUntilStarted();
  ASSERT_TRUE(executor.Submit(waiting.job()).ok());
  executor.StopAll();
  EXPECT_TRUE(running.stop().stop_requested());
  EXPECT_EQ(waiting.Wait().code(), absl::StatusCode::kUnavailable);
  running.Release();
}

TEST(ExecutorTest, DestructorStopsTheRunningAndWaitsForThem) {
  std::stop_source stop;
  std::latch started(1);
  bool ended = false;
  {
    Executor executor({.max_running = 1, .max_waiting = 0});
    ASSERT_TRUE(executor
                    .Submit({.deadline = std::nullopt,
                             .stop = stop,
                             .run =
                                 [&](const absl::Status&) {
                                   std::latch stopped(1);
                                   const std::stop_callback on_stop(stop.get_token(), [&] { stopped.count_down(); });
                                   started.count_down();
                                   stopped.wait();
                                   ended = true;
                                 },
                             .tenant = "a"})
                    .ok());
    started.wait();
  }
  EXPECT_TRUE(ended);
}

TEST(ExecutorTest, LetsOthersHaveTheirTurnBetweenTheStepsOfAJob) {
  Executor executor({.max_running = 1, .max_waiting = 1});
  Blocker first_step;
  std::mutex mutex;
  std::vector<std::string> order;
  std::promise<void> done;
  const auto record = [&](const char* what) {
    const std::lock_guard lock(mutex);
    order.emplace_back(what);
  };
  const Executor::QueuedJob rest{.run =
                                     [&](const absl::Status& admission) {
                                       EXPECT_TRUE(admission.ok()) << admission;
                                       record("step 2");
                                       done.set_value();
                                     },
                                 .tenant = "a"};
  Executor::QueuedJob job = first_step.job();
  job.run = [&, wait = job.run](const absl::Status& admission) {
    wait(admission);
    record("step 1");
    // The queue is full, but the place of the job is its own.
    executor.Requeue(rest);
  };
  const Executor::QueuedJob other{.run = [&](const absl::Status&) { record("other"); }, .tenant = "a"};
  ASSERT_TRUE(executor.Submit(job).ok());
  first_step.WaitUntilStarted();
  ASSERT_TRUE(executor.Submit(other).ok());
  executor.StopAdmission();
  first_step.Release();
  done.get_future().wait();
  EXPECT_THAT(order, ElementsAre("step 1", "other", "step 2"));
}

TEST(ExecutorTest, AnyNumberMayWait) {
  Executor executor({.max_running = 1, .max_waiting = std::numeric_limits<int>::max()});
  EXPECT_TRUE(executor.Submit({.run = [](const absl::Status&) {}, .tenant = "a"}).ok());
}

TEST(ExecutorTest, EveryJobOfManyThreadsIsAnsweredOnce) {
  constexpr int kThreads = 4;
  constexpr int kJobs = 500;
  std::atomic<int> answered{0};
  std::atomic<int> refused{0};
  {
    Executor executor({.max_running = 3, .max_waiting = 5});
    std::vector<std::jthread> callers;
    callers.reserve(kThreads);
    for (int thread = 0; thread < kThreads; ++thread) {
      callers.emplace_back([&] {
        for (int i = 0; i < kJobs; ++i) {
          const absl::Status status =
              executor.Submit({.run = [&answered](const absl::Status&) { ++answered; }, .tenant = "a"});
          if (!status.ok()) ++refused;
        }
      });
    }
    callers.clear();
  }
  EXPECT_EQ(answered + refused, kThreads * kJobs);
}

TEST(ExecutorTest, RefusesAtOnceWhatWouldBeTooLate) {
  ManualClock clock;
  Executor executor({.max_running = 1, .max_waiting = 5, .now = clock.now()});
  ASSERT_TRUE(RunForTenSeconds(executor, clock).ok());
  Blocker blocker;
  ASSERT_TRUE(executor.Submit(blocker.job()).ok());
  blocker.WaitUntilStarted();
  // Jobs take about 10 s, and one is ahead.
  Outcome late;
  const absl::Status refused = executor.Submit(late.job(clock.now()() + seconds(5)));
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_GE(RetryDelayOf(refused), seconds(5));
  Outcome patient;
  EXPECT_TRUE(executor.Submit(patient.job(clock.now()() + seconds(60))).ok());
  Outcome endless;
  EXPECT_TRUE(executor.Submit(endless.job()).ok());
  blocker.Release();
  EXPECT_TRUE(patient.Wait().ok());
  EXPECT_TRUE(endless.Wait().ok());
}

TEST(ExecutorTest, LimitsOfTenantsHoldAndCanChange) {
  Executor executor({.max_running = 2, .max_waiting = 5});
  executor.SetTenants({.named = {{"a", {.max_running = 1}}}, .others = {}});
  Blocker first;
  Blocker second;
  ASSERT_TRUE(executor.Submit(first.job()).ok());
  first.WaitUntilStarted();
  ASSERT_TRUE(executor.Submit(second.job()).ok());
  Outcome other;
  QueuedJob of_b = other.job();
  of_b.tenant = "b";
  ASSERT_TRUE(executor.Submit(of_b).ok());
  // The other tenant overtakes.
  EXPECT_TRUE(other.Wait().ok());
  EXPECT_EQ(executor.load().waiting, 1);
  executor.SetTenants({});
  second.WaitUntilStarted();
  first.Release();
  second.Release();
}

TEST(ExecutorTest, WhoeverGivesUpLeavesAtOnce) {
  Executor executor({.max_running = 1, .max_waiting = 5});
  Blocker running;
  ASSERT_TRUE(executor.Submit(running.job()).ok());
  running.WaitUntilStarted();
  const std::stop_source stop;
  Outcome submitted;
  Outcome requeued;
  ASSERT_TRUE(executor.Submit(submitted.job(std::nullopt, stop)).ok());
  executor.Requeue(requeued.job(std::nullopt, stop));
  EXPECT_EQ(executor.load().waiting, 2);
  stop.request_stop();
  // The only worker is busy.
  EXPECT_EQ(submitted.Wait().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(requeued.Wait().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(executor.load().waiting, 0);
  // One who has gone before he comes is answered as well.
  Outcome late;
  EXPECT_TRUE(executor.Submit(late.job(std::nullopt, stop)).ok());
  EXPECT_EQ(late.Wait().code(), absl::StatusCode::kCancelled);
  running.Release();
}

TEST(ExecutorTest, ThoseWhoHaveGoneAreInNobodysWay) {
  const std::stop_source stop;
  ManualClock clock;
  Executor executor({.max_running = 1, .max_waiting = 9, .now = clock.now()});
  ASSERT_TRUE(RunForTenSeconds(executor, clock).ok());
  Blocker running;
  ASSERT_TRUE(executor.Submit(running.job()).ok());
  running.WaitUntilStarted();
  std::vector<Outcome> gone(5);
  for (Outcome& outcome : gone) ASSERT_TRUE(executor.Submit(outcome.job(std::nullopt, stop)).ok());
  // Jobs take about 10 s.
  Outcome next;
  const auto deadline = clock.now()() + seconds(15);
  EXPECT_FALSE(executor.Submit(next.job(deadline)).ok());
  stop.request_stop();
  running.stop().request_stop();
  EXPECT_TRUE(executor.Submit(next.job(deadline)).ok());
  running.Release();
  EXPECT_TRUE(next.Wait().ok());
  for (Outcome& outcome : gone) EXPECT_EQ(outcome.Wait().code(), absl::StatusCode::kCancelled);
}

TEST(ExecutorTest, EveryJobIsAnsweredOnceWhileItsCallerGivesUp) {
  constexpr int kJobs = 2000;
  std::atomic<int> answered{0};
  std::vector<std::stop_source> stops(kJobs);
  {
    Executor executor({.max_running = 2, .max_waiting = kJobs});
    const std::jthread leaving([&] {
      for (const std::stop_source& stop : stops) stop.request_stop();
    });
    for (const std::stop_source& stop : stops) {
      ASSERT_TRUE(
          executor.Submit({.stop = stop, .run = [&answered](const absl::Status&) { ++answered; }, .tenant = "a"}).ok());
    }
  }
  EXPECT_EQ(answered, kJobs);
}

TEST(ExecutorTest, AFullQueueHasRoomForWhoHasLessThanItsShare) {
  Executor executor({.max_running = 1, .max_waiting = 3});
  Blocker running;
  ASSERT_TRUE(executor.Submit(Of("a", running.job())).ok());
  running.WaitUntilStarted();
  std::vector<Outcome> of_a(3);
  for (Outcome& outcome : of_a) ASSERT_TRUE(executor.Submit(Of("a", outcome.job())).ok());
  // Who fills the queue finds it full.
  Outcome more;
  EXPECT_FALSE(executor.Submit(Of("a", more.job())).ok());
  // The newest give way, up to the share of the other.
  std::vector<Outcome> of_b(3);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(executor.Submit(Of("b", of_b[i].job())).ok());
    const absl::Status refused = of_a[2 - i].Wait();
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_TRUE(RetryDelayOf(refused).has_value());
  }
  EXPECT_FALSE(executor.Submit(Of("b", of_b[2].job())).ok());
  EXPECT_FALSE(executor.Submit(Of("a", more.job())).ok());
  EXPECT_EQ(executor.load().waiting, 3);
  running.Release();
  EXPECT_TRUE(of_a[0].Wait().ok());
  EXPECT_TRUE(of_b[0].Wait().ok());
  EXPECT_TRUE(of_b[1].Wait().ok());
}

TEST(ExecutorTest, BytesAreSharedAsPlacesAre) {
  Executor executor({.max_running = 1, .max_waiting = 9, .max_bytes = 100});
  Blocker running;
  ASSERT_TRUE(executor.Submit(Of("a", WithBytes(running.job(), 10))).ok());
  running.WaitUntilStarted();
  std::vector<Outcome> of_a(3);
  for (Outcome& outcome : of_a) ASSERT_TRUE(executor.Submit(Of("a", WithBytes(outcome.job(), 30))).ok());
  // Beyond the share of the other.
  Outcome large;
  EXPECT_FALSE(executor.Submit(Of("b", WithBytes(large.job(), 51))).ok());
  EXPECT_EQ(executor.load().waiting, 3);
  Outcome small;
  EXPECT_TRUE(executor.Submit(Of("b", WithBytes(small.job(), 50))).ok());
  EXPECT_EQ(of_a[2].Wait().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(of_a[1].Wait().code(), absl::StatusCode::kResourceExhausted);
  running.Release();
  EXPECT_TRUE(of_a[0].Wait().ok());
  EXPECT_TRUE(small.Wait().ok());
}

TEST(ExecutorTest, WhoIsRefusedAnywayTakesNobodysPlace) {
  Executor executor({.max_running = 1, .max_waiting = 2});
  executor.SetTenants({.named = {{"b", {.requests_per_second = 0.001}}}, .others = {}});
  Blocker running;
  ASSERT_TRUE(executor.Submit(Of("a", running.job())).ok());
  running.WaitUntilStarted();
  std::vector<Outcome> of_a(2);
  for (Outcome& outcome : of_a) ASSERT_TRUE(executor.Submit(Of("a", outcome.job())).ok());
  Outcome first;
  Outcome second;
  EXPECT_TRUE(executor.Submit(Of("b", first.job())).ok());
  EXPECT_FALSE(executor.Submit(Of("b", second.job())).ok());
  EXPECT_EQ(executor.load().waiting, 2);
  running.Release();
  EXPECT_TRUE(of_a[0].Wait().ok());
  EXPECT_EQ(of_a[1].Wait().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(first.Wait().ok());
}

TEST(ExecutorTest, WhatHasItsPlaceKeepsIt) {
  Executor executor({.max_running = 1, .max_waiting = 1});
  Blocker running;
  ASSERT_TRUE(executor.Submit(Of("a", running.job())).ok());
  running.WaitUntilStarted();
  Outcome placed;
  executor.Requeue(Of("a", placed.job()));
  Outcome other;
  EXPECT_FALSE(executor.Submit(Of("b", other.job())).ok());
  running.Release();
  EXPECT_TRUE(placed.Wait().ok());
}

TEST(ExecutorTest, KnowsWhoseJobsWait) {
  Executor executor({.max_running = 1, .max_waiting = 2});
  Blocker running;
  ASSERT_TRUE(executor.Submit(Of("a", running.job())).ok());
  running.WaitUntilStarted();
  EXPECT_FALSE(executor.HasWaiting("a"));
  Outcome waiting;
  ASSERT_TRUE(executor.Submit(Of("b", waiting.job())).ok());
  EXPECT_TRUE(executor.HasWaiting("b"));
  EXPECT_FALSE(executor.HasWaiting("a"));
  running.Release();
  EXPECT_TRUE(waiting.Wait().ok());
  EXPECT_FALSE(executor.HasWaiting("b"));
}

TEST(ExecutorTest, SpareThreadsAreForWhoHasNothingRunning) {
  Executor executor({.max_running = 1, .spare = 1, .max_waiting = 5});
  Blocker first;
  Blocker second;
  ASSERT_TRUE(executor.Submit(Of("a", first.job())).ok());
  first.WaitUntilStarted();
  ASSERT_TRUE(executor.Submit(Of("a", second.job())).ok());
  Outcome other;
  ASSERT_TRUE(executor.Submit(Of("b", other.job())).ok());
  EXPECT_TRUE(other.Wait().ok());
  EXPECT_EQ(executor.load().waiting, 1);
  first.Release();
  second.WaitUntilStarted();
  second.Release();
}

// Whose other job has ended may run beside as many as there may be.
TEST(ExecutorTest, WhatEndsMakesRoomForTwo) {
  ManualClock clock;
  Executor executor({.max_running = 2, .spare = 1, .max_waiting = 5, .now = clock.now()});
  Blocker c1;
  Blocker a1;
  Blocker b1;
  Blocker a2;
  Blocker b2;
  const std::pair<const char*, Blocker*> running[] = {{"c", &c1}, {"a", &a1}, {"b", &b1}};
  for (const auto& [tenant, blocker] : running) {
    ASSERT_TRUE(executor.Submit(Of(tenant, blocker->job())).ok());
    blocker->WaitUntilStarted();
  }
  ASSERT_TRUE(executor.Submit(Of("a", a2.job())).ok());
  ASSERT_TRUE(executor.Submit(Of("b", b2.job())).ok());
  c1.Release();
  while (executor.load().running != 2) std::this_thread::yield();
  b1.Release();
  a2.WaitUntilStarted();
  b2.WaitUntilStarted();
  for (Blocker* blocker : {&a1, &a2, &b2}) blocker->Release();
}

// The call that brings d wakes one worker, which finds that it is b's turn: a job of a that does not fit had it before.
TEST(ExecutorTest, WhatStartsMakesRoomForWhoHasNothingRunning) {
  ManualClock clock;
  Executor executor({.max_running = 2, .spare = 1, .max_waiting = 5, .max_running_bytes = 10, .now = clock.now()});
  const auto of_bytes = [](const char* tenant, Blocker& blocker, int64_t bytes) {
    Executor::QueuedJob job = Of(tenant, blocker.job());
    job.running_bytes = bytes;
    return job;
  };
  Blocker a1;
  Blocker a2;
  Blocker b;
  Blocker d;
  ASSERT_TRUE(executor.Submit(of_bytes("a", a1, 5)).ok());
  a1.WaitUntilStarted();
  ASSERT_TRUE(executor.Submit(of_bytes("a", a2, 8)).ok());
  ASSERT_TRUE(executor.Submit(of_bytes("b", b, 1)).ok());
  // The other workers have looked.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(executor.load().waiting, 2);
  clock.Advance(1);
  ASSERT_TRUE(executor.Submit(of_bytes("d", d, 1)).ok());
  b.WaitUntilStarted();
  d.WaitUntilStarted();
  for (Blocker* blocker : {&a1, &a2, &b, &d}) blocker->Release();
}

int NicenessOf(pid_t thread) { return getpriority(PRIO_PROCESS, static_cast<id_t>(thread)); }

// By how much the thread of a job yields more than the test.
class Yielding {
 public:
  Executor::QueuedJob Seen(Executor::QueuedJob job) {
    job.run = [this, run = std::move(job.run)](const absl::Status& admission) {
      by_.set_value(NicenessOf(gettid()) - NicenessOf(getpid()));
      run(admission);
    };
    return job;
  }
  int By() { return by_.get_future().get(); }

 private:
  std::promise<int> by_;
};

TEST(ExecutorTest, WhoeverWantsSeveralAnswersYieldsMore) {
  Yielding first;
  Yielding second;
  Yielding other;
  Yielding last;
  Blocker blockers[4];
  Executor executor({.nice = 1, .backlog_nice = 3, .max_running = 2, .spare = 1, .max_waiting = 4});
  ASSERT_TRUE(executor.Submit(first.Seen(Of("a", blockers[0].job()))).ok());
  EXPECT_EQ(first.By(), 1);
  ASSERT_TRUE(executor.Submit(second.Seen(Of("a", blockers[1].job()))).ok());
  EXPECT_EQ(second.By(), 3);
  // Neither who comes beside them, nor what the same threads run afterwards.
  ASSERT_TRUE(executor.Submit(other.Seen(Of("b", blockers[2].job()))).ok());
  EXPECT_EQ(other.By(), 1);
  for (int i = 0; i < 3; ++i) blockers[i].Release();
  while (executor.load().running > 0) std::this_thread::yield();
  ASSERT_TRUE(executor.Submit(last.Seen(Of("a", blockers[3].job()))).ok());
  EXPECT_EQ(last.By(), 1);
  blockers[3].Release();
}

TEST(ExecutorTest, WhatWaitsCountsAsWell) {
  Yielding first;
  Yielding last;
  Blocker blocker;
  Executor executor({.backlog_nice = 2, .max_running = 1, .max_waiting = 3});
  ASSERT_TRUE(executor.Submit(Of("b", blocker.job())).ok());
  blocker.WaitUntilStarted();
  Outcome outcomes[2];
  ASSERT_TRUE(executor.Submit(first.Seen(Of("a", outcomes[0].job()))).ok());
  ASSERT_TRUE(executor.Submit(last.Seen(Of("a", outcomes[1].job()))).ok());
  blocker.Release();
  EXPECT_EQ(first.By(), 2);
  EXPECT_EQ(last.By(), 0);
  for (Outcome& outcome : outcomes) EXPECT_TRUE(outcome.Wait().ok());
}

// The race of a call's last steps with the end of the executor shows under the thread sanitizer.
TEST(ExecutorTest, EndsWithItsLastJobThoughTheCallThatQueuedItHasNotReturned) {
  for (int i = 0; i < 200; ++i) {
    std::promise<void> ended;
    auto executor = std::make_unique<Executor>(Executor::Options{.max_running = 1, .max_waiting = 1});
    const std::jthread caller([&ended, queue = executor.get(), requeues = i % 2 == 0] {
      Executor::QueuedJob job{.run = [&ended](const absl::Status& /*admission*/) { ended.set_value(); }, .tenant = "a"};
      if (requeues) {
        queue->Requeue(std::move(job));
      } else {
        EXPECT_TRUE(queue->Submit(std::move(job)).ok());
      }
    });
    ended.get_future().wait();
    executor.reset();
  }
}

}  // namespace
}  // namespace planwright::server
