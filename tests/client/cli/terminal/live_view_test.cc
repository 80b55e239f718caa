#include "client/cli/terminal/live_view.h"

#include <gtest/gtest.h>

#include <sstream>

namespace planwright::client {
namespace {

TEST(LiveViewTest, WritesWhatThereIsRoomForInItsPlace) {
  std::ostringstream out;
  LiveView view(out);
  EXPECT_EQ(out.str(), "\x1b[2J");
  out.str("");
  EXPECT_TRUE(view.Show("first\nsecond\n\nfourth\nfifth\n", {.columns = 5, .rows = 4}));
  EXPECT_EQ(out.str(), "\x1b[Hfirst\x1b[K\nsecon\x1b[K\n\x1b[K\n\x1b[J");
  out.str("");
  EXPECT_TRUE(view.Show("one\n", {.columns = 5, .rows = 1}));
  EXPECT_EQ(out.str(), "\x1b[Hone\x1b[K\n\x1b[J");
}

TEST(LiveViewTest, SaysThatItsTerminalIsGone) {
  std::ostringstream out;
  LiveView view(out);
  out.setstate(std::ios::badbit);
  EXPECT_FALSE(view.Show("text\n", {}));
}

}  // namespace
}  // namespace planwright::client
