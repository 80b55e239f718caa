#include "server/main/configuration/log_level.h"

#include <gtest/gtest.h>

#include <csignal>

namespace planwright::server {
namespace {

TEST(LogLevelTest, LevelsAreKnownByName) {
  EXPECT_EQ(LevelNamed("warning"), Severity::kWarning);
  EXPECT_EQ(LevelNamed("WARNING"), std::nullopt);
  EXPECT_EQ(LevelNamed(""), std::nullopt);
}

TEST(LogLevelTest, OneSignalShowsMoreTheOtherLessAndBothStopAtTheEnds) {
  EXPECT_EQ(LevelAfter(SIGUSR1, Severity::kInfo), Severity::kDebug);
  EXPECT_EQ(LevelAfter(SIGUSR1, Severity::kDebug), Severity::kDebug);
  EXPECT_EQ(LevelAfter(SIGUSR2, Severity::kDebug), Severity::kInfo);
  EXPECT_EQ(LevelAfter(SIGUSR2, Severity::kError), Severity::kError);
}

}  // namespace
}  // namespace planwright::server
