#include "client/cli/terminal/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace planwright::client {
namespace {

using ::testing::ContainsRegex;

TEST(ProgressDisplayTest, LogsALineForEachEvent) {
  std::ostringstream out;
  {
    ProgressDisplay display(ProgressStyle::kLog, out);
    display.OnPhase("ideal_dp");
    display.OnIncumbent(30);
    display.OnBound(27);
  }
  EXPECT_THAT(out.str(), ContainsRegex("s  ideal_dp +\n.*s  ideal_dp +incumbent 30.000 ms\n"
                                       ".*ideal_dp +incumbent 30.000 ms  bound 27.000 ms  gap 10.00 %\n$"));
}

TEST(ProgressDisplayTest, StandsOnTerminalsOrWhereAskedFor) {
  std::ostringstream out;
  EXPECT_EQ(MakeProgressDisplay(/*is_terminal=*/false, /*was_asked_for=*/false, out), nullptr);
  MakeProgressDisplay(false, true, out, "2 of 3, greedy")->OnPhase("baselines");
  EXPECT_THAT(out.str(), ContainsRegex("s  2 of 3, greedy: baselines +\n$"));
}

}  // namespace
}  // namespace planwright::client
