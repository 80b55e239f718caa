#include "core/partition/mip/left_behind.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include "core/base/thread_cpu_time.h"

namespace planwright {
namespace {

SolveLimits Stopped() {
  const std::stop_source source;
  source.request_stop();
  SolveLimits limits;
  limits.stop = source.get_token();
  return limits;
}

TEST(LeftBehindTest, WhatIsNotToldToStopIsWaitedFor) {
  bool is_done = false;
  EXPECT_TRUE(RunOrLeaveBehind(SolveLimits(), [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    is_done = true;
  }));
  EXPECT_TRUE(is_done);
}

TEST(LeftBehindTest, WhatStopsWhenItIsToldToIsDone) {
  std::stop_source source;
  SolveLimits limits;
  limits.stop = source.get_token();
  EXPECT_TRUE(RunOrLeaveBehind(limits, [&] { source.request_stop(); }));
  limits.stop = {};
  limits.deadline = SolveLimits::Clock::now() + std::chrono::milliseconds(1);
  EXPECT_TRUE(RunOrLeaveBehind(limits, [deadline = limits.deadline] { std::this_thread::sleep_until(deadline); }));
}

TEST(LeftBehindTest, FourDoNotObeyAndAreLeftBehindAndTheFifthIsWaitedFor) {
  const auto end = std::make_shared<std::promise<void>>();
  const std::shared_future<void> may_end = end->get_future().share();
  const auto ended = std::make_shared<std::latch>(4);
  const SolveLimits limits = Stopped();
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(RunOrLeaveBehind(limits, [may_end, ended] {
      may_end.wait();
      ended->count_down();
    }));
  }
  std::atomic<bool> has_begun = false;
  std::future<bool> fifth = std::async(std::launch::async, [&] {
    return RunOrLeaveBehind(limits, [&, may_end] {
      has_begun = true;
      has_begun.notify_all();
      may_end.wait();
    });
  });
  has_begun.wait(false);
  EXPECT_EQ(fifth.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  end->set_value();
  EXPECT_TRUE(fifth.get());
  ended->wait();
}

TEST(LeftBehindTest, WhatIsThrownIsThrownAgain) {
  EXPECT_THROW(RunOrLeaveBehind(SolveLimits(), [] { throw std::runtime_error("no memory"); }), std::runtime_error);
}

TEST(LeftBehindTest, ItsProcessorTimeIsTheCallers) {
  constexpr std::chrono::milliseconds kTime{20};
  const std::chrono::nanoseconds start = ThreadCpuTime();
  EXPECT_TRUE(RunOrLeaveBehind(SolveLimits(), [&] {
    const std::chrono::nanoseconds begin = ThreadCpuTime();
    while (ThreadCpuTime() - begin < kTime) continue;
  }));
  EXPECT_GE(ThreadCpuTime() - start, kTime);
}

}  // namespace
}  // namespace planwright
