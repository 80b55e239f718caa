// What goes to which stream, and what the shell is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/client/integration/child.h"

namespace planwright::client {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(StreamsTest, ThePlanOfAZooModelIsAllThatIsPrinted) {
  const Finished text = Planwright({"plan", "--graph=zoo:bert-base", "--cluster=zoo:pcie:4"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, StartsWith("zoo:bert-base on zoo:pcie:4: "));
  EXPECT_THAT(text.err, IsEmpty());
  const Finished as_json =
      Planwright({"plan", "--graph", "zoo:bert-base", "--cluster", "zoo:pcie:4", "--output", "json"});
  EXPECT_EQ(as_json.exit_code, 0);
  EXPECT_TRUE(json::parse(as_json.out).contains("graph_digest"));
  EXPECT_THAT(as_json.err, IsEmpty());
}

TEST(StreamsTest, APlanReadsBackThroughAPipe) {
  const Finished planned = Planwright({"plan", "--graph=zoo:resnet50", "--cluster=zoo:dgx1-v100:1", "--output=json"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const Finished evaluated =
      Planwright({"evaluate", "--graph=zoo:resnet50", "--cluster=zoo:dgx1-v100:1", "--plan=-"}, planned.out);
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.out << evaluated.err;
  EXPECT_THAT(evaluated.out, StartsWith("The plan is valid.\n"));
}

TEST(StreamsTest, AnAlteredPlanIsCaught) {
  const Finished planned = Planwright({"plan", "--graph=zoo:resnet50", "--cluster=zoo:pcie:2", "--output=json"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  json plan = json::parse(planned.out);
  plan["objective_ms"] = plan["objective_ms"].get<double>() / 2;
  plan["lower_bound_ms"] = plan["lower_bound_ms"].get<double>() / 2;
  const Finished evaluated =
      Planwright({"evaluate", "--graph=zoo:resnet50", "--cluster=zoo:pcie:2", "--plan=-"}, plan.dump());
  EXPECT_EQ(evaluated.exit_code, 3);
  EXPECT_THAT(evaluated.out, HasSubstr("plan.objective_ms: "));
}

TEST(StreamsTest, AServerThatIsNotThere) {
  // Port 1 is reserved and nothing listens there.
  const Finished planned =
      Planwright({"plan", "--graph=zoo:bert-base", "--cluster=zoo:pcie:4", "--server=127.0.0.1:1"});
  EXPECT_EQ(planned.exit_code, 4);
  EXPECT_THAT(planned.out, IsEmpty());
  EXPECT_THAT(planned.err, HasSubstr("\nIs planwrightd running there? "));
}

TEST(StreamsTest, AServerCanBeOverruled) {
  EXPECT_EQ(Planwright({"models", "--server=127.0.0.1:1", "--local"}).exit_code, 0);
}

TEST(StreamsTest, ThisVersionSaysWhatItDoesNotPlan) {
  const Finished refused = Planwright(
      {"plan", "--graph=zoo:bert-base", "--cluster=zoo:pcie:4", "--schedule=chimera", "--require_contiguous_backward"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.out, IsEmpty());
  EXPECT_THAT(refused.err, HasSubstr("error: problem.schedule (--schedule): CHIMERA is not supported by this version"));
  EXPECT_THAT(refused.err, HasSubstr("error: problem.require_contiguous_backward (--require_contiguous_backward): "));
}

TEST(StreamsTest, TheZooIsListed) {
  EXPECT_THAT(Planwright({"models"}).out, HasSubstr("zoo:bert-large "));
  EXPECT_THAT(Planwright({"topologies"}).out, HasSubstr("zoo:dgx1-v100:N "));
  EXPECT_TRUE(json::parse(Planwright({"server-info", "--output=json"}).out).contains("capabilities"));
}

TEST(StreamsTest, AFullDiskIsReported) {
  const Finished planned =
      Planwright({"plan", "--graph=zoo:bert-base", "--cluster=zoo:pcie:4", "--output_file=/dev/full"});
  EXPECT_EQ(planned.exit_code, 2);
  EXPECT_THAT(planned.err, StartsWith("error: cannot write /dev/full: No space left on device\n"));
}

}  // namespace
}  // namespace planwright::client
