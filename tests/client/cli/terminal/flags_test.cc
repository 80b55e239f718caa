#include "client/cli/terminal/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace planwright::client {
namespace {

using ::testing::HasSubstr;

class FlagsTest : public ::testing::Test {
 protected:
  absl::Status Parse(const std::vector<std::string>& arguments) { return ParseFlags(arguments, groups_); }

  std::string graph_;
  std::string time_limit_;
  bool local_ = false;
  std::vector<FlagGroup> groups_ = {{"Input", {StringFlag("graph", "FILE", "the graph", graph_)}},
                                    {"Search",
                                     {StringFlag("time_limit", "DURATION", "how long", time_limit_),
                                      SwitchFlag("local", "in this process", local_)}}};
};

TEST_F(FlagsTest, TakesBothFormsOfValuesAndSwitches) {
  ASSERT_TRUE(Parse({"--graph=a=b.json", "--time_limit", "10s", "--local"}).ok());
  EXPECT_EQ(graph_, "a=b.json");
  EXPECT_EQ(time_limit_, "10s");
  EXPECT_TRUE(local_);
  ASSERT_TRUE(Parse({"--time-limit=5s", "--graph", "-", "--local=false", "--graph="}).ok());
  EXPECT_EQ(graph_, "");
  EXPECT_EQ(time_limit_, "5s");
  EXPECT_FALSE(local_);
}

TEST_F(FlagsTest, NamesTheClosestFlag) {
  EXPECT_EQ(Parse({"--grpah=x"}).message(), "--grpah is not a flag of this command; did you mean --graph?");
  EXPECT_EQ(Parse({"--time-limits", "3"}).message(),
            "--time_limits is not a flag of this command; did you mean --time_limit?");
  EXPECT_EQ(Parse({"--quux=1"}).message(), "--quux is not a flag of this command");
}

TEST_F(FlagsTest, RefusesWhatIsNoFlagOrHasNoValue) {
  EXPECT_EQ(Parse({"bert.json"}).message(), "\"bert.json\" is not a flag; flags begin with --");
  EXPECT_EQ(Parse({"--"}).message(), "\"--\" is not a flag; flags begin with --");
  EXPECT_EQ(Parse({"--graph"}).message(), "--graph needs a value: --graph=FILE");
  EXPECT_EQ(Parse({"--graph", "--local"}).message(), "--graph needs a value: --graph=FILE");
  EXPECT_EQ(Parse({"--local=maybe"}).message(), "--local: must be true or false, is \"maybe\"");
}

TEST_F(FlagsTest, AnArgumentMayBeTheValueOfABareFlag) {
  groups_[0].flags[0].is_bare = true;
  ASSERT_TRUE(Parse({"--local", "bert.json"}).ok());
  EXPECT_EQ(graph_, "bert.json");
  EXPECT_EQ(Parse({"--"}).message(), "\"--\" is not a flag; flags begin with --");
}

TEST_F(FlagsTest, TellsWhichFlagsWereGiven) {
  const std::vector<std::string> arguments = {"--time-limit", "10s", "--graph=a", "--local"};
  ASSERT_TRUE(Parse(arguments).ok());
  std::vector<std::string> names;
  for (const Flag* flag : GivenFlags(arguments, groups_)) names.push_back(flag->name);
  EXPECT_THAT(names, ::testing::ElementsAre("time_limit", "graph", "local"));
}

TEST_F(FlagsTest, HelpShowsEveryFlagUnderItsHeading) {
  const std::string help = FlagsHelp(groups_);
  EXPECT_THAT(help, HasSubstr("Input:\n  --graph=FILE                    the graph\n\nSearch:\n"));
  EXPECT_THAT(help, HasSubstr("  --local                         in this process\n"));
}

}  // namespace
}  // namespace planwright::client
