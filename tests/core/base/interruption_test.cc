#include "core/base/interruption.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stop_token>
#include <utility>

namespace planwright {
namespace {

// Why a loop of a million points ended before its time; nullopt: it did not.
std::optional<Interruption> EndOfLoop() {
  try {
    for (int i = 0; i < 1'000'000; ++i) InterruptionPoint();
  } catch (const Interrupted& interrupted) {
    return interrupted.why();
  }
  return std::nullopt;
}

SolveLimits PassedDeadline() {
  SolveLimits limits;
  limits.deadline = SolveLimits::Clock::now();
  return limits;
}

SolveLimits Stopped() {
  const std::stop_source source;
  source.request_stop();
  SolveLimits limits;
  limits.stop = source.get_token();
  return limits;
}

TEST(InterruptionTest, PointsOutsideOfAScopeGoOn) { EXPECT_EQ(EndOfLoop(), std::nullopt); }

TEST(InterruptionTest, PointsHeedTheLimitsOfTheirScope) {
  const SolveLimits none;
  const SolveLimits late = PassedDeadline();
  const SolveLimits stopped = Stopped();
  for (const auto& [limits, expected] : {std::pair(&none, std::optional<Interruption>()),
                                         {&late, Interruption::kDeadline},
                                         {&stopped, Interruption::kCancelled}}) {
    const InterruptionScope scope(limits);
    EXPECT_EQ(EndOfLoop(), expected);
  }
  EXPECT_EQ(EndOfLoop(), std::nullopt);
}

TEST(InterruptionTest, OnlyTheInnermostScopeIsHeeded) {
  const SolveLimits late = PassedDeadline();
  const SolveLimits stopped = Stopped();
  const InterruptionScope outer(&late);
  {
    const InterruptionScope nothing(nullptr);
    EXPECT_EQ(EndOfLoop(), std::nullopt);
    const InterruptionScope inner(&stopped);
    EXPECT_EQ(EndOfLoop(), Interruption::kCancelled);
    EXPECT_EQ(InterruptionScope::Current(), &stopped);
  }
  EXPECT_EQ(InterruptionScope::Current(), &late);
  EXPECT_EQ(EndOfLoop(), Interruption::kDeadline);
}

TEST(InterruptionTest, ALargePieceOfWorkIsLookedAtAtOnce) {
  const SolveLimits late = PassedDeadline();
  const InterruptionScope scope(&late);
  EXPECT_THROW(InterruptionPoint(1'000'000), Interrupted);
}

TEST(InterruptionTest, StatusesSayWhatWasNotDone) {
  EXPECT_EQ(InterruptedError(Interruption::kCancelled, "the plan was judged"),
            absl::CancelledError("cancelled before the plan was judged"));
  EXPECT_EQ(InterruptedError(Interruption::kDeadline, "the plan was judged"),
            absl::DeadlineExceededError("the deadline passed before the plan was judged; allow more time"));
}

}  // namespace
}  // namespace planwright
