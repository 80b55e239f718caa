#include "core/base/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace planwright {
namespace {

TEST(LimitsTest, DefaultsNeverInterrupt) { EXPECT_EQ(CheckInterruption(SolveLimits()), std::nullopt); }

TEST(LimitsTest, PassedDeadlineInterrupts) {
  SolveLimits limits;
  limits.deadline = SolveLimits::Clock::now();
  EXPECT_EQ(CheckInterruption(limits), Interruption::kDeadline);
  limits.deadline += std::chrono::hours(1);
  EXPECT_EQ(CheckInterruption(limits), std::nullopt);
}

TEST(LimitsTest, StopRequestInterruptsAndComesBeforeTheDeadline) {
  const std::stop_source source;
  SolveLimits limits;
  limits.stop = source.get_token();
  limits.deadline = SolveLimits::Clock::now();
  source.request_stop();
  EXPECT_EQ(CheckInterruption(limits), Interruption::kCancelled);
}

}  // namespace
}  // namespace planwright
