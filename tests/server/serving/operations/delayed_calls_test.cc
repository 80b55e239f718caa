#include "server/serving/operations/delayed_calls.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <utility>
#include <vector>

namespace planwright::server {
namespace {

using std::chrono::milliseconds;

TEST(DelayedCallsTest, CallsInTheOrderOfTheirTimes) {
  std::vector<int> calls;
  std::promise<void> last;
  {
    DelayedCalls delays;
    delays.After(milliseconds(60), [&] {
      calls.push_back(2);
      last.set_value();
    });
    delays.After(milliseconds(20), [&] { calls.push_back(1); });
    delays.After(milliseconds(0), [&] { calls.push_back(0); });
    last.get_future().wait();
  }
  EXPECT_EQ(calls, (std::vector{0, 1, 2}));
}

TEST(DelayedCallsTest, ACallMayAskForAnother) {
  std::promise<void> second;
  DelayedCalls delays;
  delays.After(milliseconds(0), [&] { delays.After(milliseconds(1), [&] { second.set_value(); }); });
  second.get_future().wait();
}

TEST(DelayedCallsTest, DropsWhatHasNotBeenCalled) {
  auto held = std::make_shared<int>(0);
  auto delays = std::make_unique<DelayedCalls>();
  delays->After(std::chrono::hours(1), [held] { ++*held; });
  EXPECT_EQ(held.use_count(), 2);
  delays.reset();
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(*held, 0);
}

}  // namespace
}  // namespace planwright::server
