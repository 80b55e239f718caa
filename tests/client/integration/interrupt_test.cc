// ^C and time limits on a search that takes far longer than a test may.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/client/integration/child.h"
#include "tests/integration/daemon_process.h"

namespace planwright::client {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class LongSearchTest : public ::testing::Test {
 protected:
  // Millions of ideals.
  const std::string request_ = Child({PLANWRIGHT_MAKE_LATTICE, "tow_8x20_hi"}).Wait().out;

  // The file that holds the request.
  std::string WriteRequest() const {
    const std::string path = ::testing::TempDir() + "/interrupt_test_request.json";
    std::ofstream(path) << request_;
    return path;
  }
};

TEST_F(LongSearchTest, InterruptPrintsTheBestPlanSoFar) {
  Child child({PLANWRIGHT_PROGRAM, "plan", "--graph=-", "--output=json", "--progress", "--time_limit=100s"}, request_);
  // Which comes a moment after the first plan.
  ASSERT_TRUE(child.WaitForError("bound")) << child.Wait().err;
  child.Signal(SIGINT);
  const Finished planned = child.Wait();
  EXPECT_EQ(planned.exit_code, 130) << planned.err;
  const json plan = json::parse(planned.out);
  EXPECT_EQ(plan["provenance"]["stop_reason"], "STOP_REASON_CANCELLED");
  EXPECT_EQ(plan["provenance"]["proven_optimal"], false);
  EXPECT_GT(plan["lower_bound_ms"], 0);
  EXPECT_THAT(planned.err, HasSubstr("interrupted: this is the best plan so far\n"));
}

TEST_F(LongSearchTest, InterruptPrintsTheBestPlanSoFarOfAServerAsWell) {
  DaemonProcess daemon;
  Child child({PLANWRIGHT_PROGRAM, "plan", "--graph=-", "--output=json", "--progress", "--time_limit=100s",
               "--server=" + daemon.address()},
              request_);
  ASSERT_TRUE(child.WaitForError("incumbent")) << child.Wait().err;
  child.Signal(SIGINT);
  const Finished planned = child.Wait();
  EXPECT_EQ(planned.exit_code, 130) << planned.err;
  EXPECT_THAT(planned.err, HasSubstr("asking 127.0.0.1:"));
  EXPECT_THAT(planned.err, HasSubstr("interrupted: this is the best plan so far\n"));
  EXPECT_EQ(json::parse(planned.out)["provenance"]["stop_reason"], "STOP_REASON_CANCELLED");
  // The server has stopped as well.
  EXPECT_GE(daemon.WaitForLog("search cancelled").value("stopped_after_ms", -1.0), 0);
  const Finished evaluated =
      Planwright({"evaluate", "--graph=" + WriteRequest(), "--plan=-", "--output=json"}, planned.out);
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.out << evaluated.err;
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
