#include "server/engine/task/search_deadline.h"

#include <gtest/gtest.h>

namespace planwright::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr SolveLimits::Clock::time_point kNow{seconds(1000)};
const TimeLimits kLimits{.default_time_limit = seconds(60), .max_time_limit = seconds(600)};

nanoseconds Allowed(std::optional<nanoseconds> time_limit, std::optional<nanoseconds> until_deadline) {
  std::optional<SolveLimits::Clock::time_point> deadline;
  if (until_deadline.has_value()) deadline = kNow + *until_deadline;
  return SearchDeadline(kNow, time_limit, deadline, kLimits) - kNow;
}

TEST(SearchDeadlineTest, DefaultWithNeitherLimitNorDeadline) {
  EXPECT_EQ(Allowed(std::nullopt, std::nullopt), seconds(60));
}

TEST(SearchDeadlineTest, TimeLimitOfTheRequest) {
  EXPECT_EQ(Allowed(seconds(5), std::nullopt), seconds(5));
  EXPECT_EQ(Allowed(seconds(300), std::nullopt), seconds(300));
  EXPECT_EQ(Allowed(nanoseconds(0), std::nullopt), nanoseconds(0));
}

TEST(SearchDeadlineTest, NeverMoreThanTheMaximum) {
  EXPECT_EQ(Allowed(seconds(601), std::nullopt), seconds(600));
  EXPECT_EQ(Allowed(std::nullopt, seconds(10'000)), seconds(600));
}

TEST(SearchDeadlineTest, LeavesTimeForTheAnswer) {
  // 100 ms, or 5 % where that is more.
  EXPECT_EQ(Allowed(std::nullopt, seconds(1)), milliseconds(900));
  EXPECT_EQ(Allowed(std::nullopt, seconds(100)), seconds(95));
  EXPECT_EQ(Allowed(seconds(5), seconds(1)), milliseconds(900));
  EXPECT_EQ(Allowed(seconds(5), seconds(100)), seconds(5));
}

TEST(SearchDeadlineTest, SharesTheDeadlineOfTheCallAmongSearches) {
  const SolveLimits::Clock::time_point now;
  const auto allowed = [&](std::optional<nanoseconds> time_limit, int64_t searches) {
    return SearchDeadline(now, time_limit, now + seconds(100), TimeLimits(), searches) - now;
  };
  EXPECT_EQ(allowed(std::nullopt, 5), seconds(19));
  EXPECT_EQ(allowed(seconds(2), 5), seconds(2));
  EXPECT_EQ(allowed(seconds(30), 5), seconds(19));
}

TEST(SearchDeadlineTest, TooShortADeadlineLeavesNoTime) {
  EXPECT_LT(Allowed(std::nullopt, milliseconds(50)), nanoseconds(0));
}

}  // namespace
}  // namespace planwright::server
