#include "server/serving/admission/unanswered_calls.h"

#include <gtest/gtest.h>

#include <thread>

namespace planwright::server {
namespace {

TEST(UnansweredCallsTest, NothingInFlightIsSeenAtOnce) {
  UnansweredCalls in_flight;
  EXPECT_TRUE(in_flight.WaitUntilNone(std::chrono::nanoseconds(0)));
}

TEST(UnansweredCallsTest, WaitsForEveryLeave) {
  UnansweredCalls in_flight;
  in_flight.Enter();
  in_flight.Enter();
  in_flight.Leave();
  EXPECT_FALSE(in_flight.WaitUntilNone(std::chrono::nanoseconds(0)));
  const std::jthread last([&in_flight] { in_flight.Leave(); });
  EXPECT_TRUE(in_flight.WaitUntilNone(std::chrono::minutes(1)));
}

}  // namespace
}  // namespace planwright::server
