#include "server/store/retention_clock.h"

#include <gtest/gtest.h>

namespace planwright::server {
namespace {

constexpr int64_t kHoursOfDay = 24;
constexpr int64_t kMonth = 30 * kHoursOfDay;

RetentionClock ClockAt(StoreTime time) { return {.seen = time, .leaps = {}}; }

TEST(RetentionClockTest, CountsWhatPassesStepByStep) {
  RetentionClock clock = ClockAt(1000 * kHoursOfDay);
  for (int hour = 1; hour <= 100 * kHoursOfDay; ++hour) clock.LookAt(1000 * kHoursOfDay + hour, kHoursOfDay, kMonth);
  EXPECT_EQ(clock.Cutoff(kMonth), 1100 * kHoursOfDay - kMonth);
}

TEST(RetentionClockTest, CountsADayOfALeap) {
  RetentionClock clock = ClockAt(1000 * kHoursOfDay);
  clock.LookAt(1040 * kHoursOfDay, kHoursOfDay, kMonth);
  // What was used in the month before the leap, but for its first day.
  EXPECT_EQ(clock.Cutoff(kMonth), 1001 * kHoursOfDay - kMonth);
  // What was used since is as old as it looks.
  EXPECT_EQ(clock.Cutoff(0), 1040 * kHoursOfDay);
}

TEST(RetentionClockTest, ForgetsALeapThatIsOlderThanAnythingKept) {
  RetentionClock clock = ClockAt(1000 * kHoursOfDay);
  clock.LookAt(1040 * kHoursOfDay, kHoursOfDay, kMonth);
  for (int day = 1; day <= 30; ++day) clock.LookAt((1040 + day) * kHoursOfDay, kHoursOfDay, kMonth);
  EXPECT_EQ(clock.Cutoff(kMonth), 1070 * kHoursOfDay - kMonth);
  EXPECT_TRUE(clock.leaps.empty());
}

TEST(RetentionClockTest, ServersThatRunNowAndThenDoNotKeepThingsForEver) {
  RetentionClock clock = ClockAt(0);
  int64_t time = 0;
  for (int round = 0; round < 1000; ++round) clock.LookAt(time += 2 * kHoursOfDay, kHoursOfDay, kMonth);
  EXPECT_EQ(clock.Cutoff(kMonth), time - 2 * kMonth);
  EXPECT_LE(clock.leaps.size(), 31U);
}

TEST(RetentionClockTest, TakesALeapBackWhenTheClockIsSetRight) {
  RetentionClock clock = ClockAt(1000 * kHoursOfDay);
  clock.LookAt(1040 * kHoursOfDay, kHoursOfDay, kMonth);
  clock.LookAt(1010 * kHoursOfDay, kHoursOfDay, kMonth);
  // Ten days have leapt, of which one counts.
  EXPECT_EQ(clock.Cutoff(kMonth), 1001 * kHoursOfDay - kMonth);
  clock.LookAt(1001 * kHoursOfDay, kHoursOfDay, kMonth);
  EXPECT_TRUE(clock.leaps.empty());
  EXPECT_EQ(clock.Cutoff(kMonth), 1001 * kHoursOfDay - kMonth);
}

TEST(RetentionClockTest, IsATextAndBack) {
  RetentionClock clock = ClockAt(1000 * kHoursOfDay);
  clock.LookAt(1040 * kHoursOfDay, kHoursOfDay, kMonth);
  clock.LookAt(1060 * kHoursOfDay, kHoursOfDay, kMonth);
  const auto read = RetentionClock::Parse(clock.Describe(), clock.seen);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->Describe(), clock.Describe());
  EXPECT_EQ(read->Cutoff(kMonth), clock.Cutoff(kMonth));
  EXPECT_TRUE(RetentionClock::Parse("", 5)->leaps.empty());
  for (const char* rubbish : {"7", "a:b", "1:-5", "1:2:3"}) {
    EXPECT_FALSE(RetentionClock::Parse(rubbish, 5).has_value()) << rubbish;
  }
}

}  // namespace
}  // namespace planwright::server
