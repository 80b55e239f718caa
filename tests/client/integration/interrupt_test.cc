// ^C and time limits on a search that takes far longer than a test may.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/client/integration/child.h"

namespace planwright::client {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class LongSearchTest : public ::testing::Test {
 protected:
  // Millions of ideals.
  const std::string request_ = Child({PLANWRIGHT_MAKE_LATTICE, "tow_8x20_hi"}).Wait().out;
};

TEST_F(LongSearchTest, InterruptPrintsTheBestPlanSoFar) {
  Child child({PLANWRIGHT_PROGRAM, "plan", "--graph=-", "--output=json", "--progress", "--time_limit=100s"}, request_);
  ASSERT_TRUE(child.WaitForError("incumbent")) << child.Wait().err;
  child.Signal(SIGINT);
  const Finished planned = child.Wait();
  EXPECT_EQ(planned.exit_code, 130) << planned.err;
  const json plan = json::parse(planned.out);
  EXPECT_EQ(plan["provenance"]["stop_reason"], "STOP_REASON_CANCELLED");
  EXPECT_EQ(plan["provenance"]["proven_optimal"], false);
  EXPECT_GT(plan["lower_bound_ms"], 0);
  EXPECT_THAT(planned.err, HasSubstr("interrupted: this is the best plan so far\n"));
}

TEST_F(LongSearchTest, ATimeLimitGivesAPlanWithAGap) {
  const Finished planned = Planwright({"plan", "--graph=-", "--output=json", "--time_limit=500ms"}, request_);
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const json plan = json::parse(planned.out);
  EXPECT_EQ(plan["provenance"]["stop_reason"], "STOP_REASON_TIME_LIMIT");
  EXPECT_GT(plan["relative_gap"], 0);
  EXPECT_GT(plan["objective_ms"], plan["lower_bound_ms"]);
}

}  // namespace
}  // namespace planwright::client
