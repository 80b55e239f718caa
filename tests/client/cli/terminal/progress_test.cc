#include "client/cli/terminal/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <sstream>
#include <string>
#include <thread>

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

TEST(ProgressDisplayTest, ALiveLineEndsBeforeTheTerminalDoes) {
  const ScopedLineLengths lengths({.report = 80, .note = 60});
  std::ostringstream out;
  {
    const ProgressDisplay display(ProgressStyle::kLiveLine, out, std::string(100, 't'));
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
  }
  std::string line = out.str();
  line = line.substr(line.find("\x1b[K") + 3);
  EXPECT_EQ(line.substr(0, line.find('\r')).size(), 59U);
}

TEST(ProgressDisplayTest, StandsOnTerminalsOrWhereAskedFor) {
  std::ostringstream out;
  EXPECT_EQ(MakeProgressDisplay(/*is_terminal=*/false, /*was_asked_for=*/false, out), nullptr);
  MakeProgressDisplay(false, true, out, "2 of 3, greedy")->OnPhase("baselines");
  EXPECT_THAT(out.str(), ContainsRegex("s  2 of 3, greedy: baselines +\n$"));
}

}  // namespace
}  // namespace planwright::client
