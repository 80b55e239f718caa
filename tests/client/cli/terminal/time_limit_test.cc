#include "client/cli/terminal/time_limit.h"

#include <gtest/gtest.h>

#include <chrono>

namespace planwright::client {
namespace {

using std::chrono::milliseconds;

v1::CreatePlanRequest Limited(int seconds) {
  v1::CreatePlanRequest request;
  request.mutable_options()->mutable_time_limit()->set_seconds(seconds);
  return request;
}

TEST(SettleTimeLimitTest, IsAMinuteUnlessStated) {
  v1::CreatePlanRequest request;
  SettleTimeLimit(request, milliseconds(10'000));
  EXPECT_EQ(request.options().time_limit().seconds(), 60);
}

TEST(SettleTimeLimitTest, LargeInputsCount) {
  v1::CreatePlanRequest request = Limited(5);
  SettleTimeLimit(request, milliseconds(1'750));
  EXPECT_EQ(request.options().time_limit().seconds(), 3);
  EXPECT_EQ(request.options().time_limit().nanos(), 250'000'000);
}

TEST(SettleTimeLimitTest, AtMostHalfGoesAndSmallInputsDoNotCount) {
  v1::CreatePlanRequest small = Limited(5);
  SettleTimeLimit(small, milliseconds(250));
  EXPECT_EQ(small.options().time_limit().seconds(), 5);
  v1::CreatePlanRequest large = Limited(4);
  SettleTimeLimit(large, milliseconds(60'000));
  EXPECT_EQ(large.options().time_limit().seconds(), 2);
}

}  // namespace
}  // namespace planwright::client
