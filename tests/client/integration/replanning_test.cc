// Planning again without a device, on the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/client/integration/child.h"

namespace planwright::client {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class ReplanningTest : public testing::TestWithParam<const char*> {
 protected:
  static Finished Run(const char* command, std::vector<std::string> flags, const json& plan = {}) {
    flags.insert(flags.begin(), {command, "--graph=zoo:bert-base", std::string("--cluster=") + GetParam()});
    return Planwright(std::move(flags), plan.dump());
  }

  json Plan(std::vector<std::string> flags, const json& start = {}) const {
    flags.insert(flags.end(), {"--granularity=layer", "--work_limit=20000", "--output=json"});
    const Finished planned = Run("plan", std::move(flags), start);
    EXPECT_EQ(planned.exit_code, 0) << planned.err;
    return json::parse(planned.out, nullptr, false);
  }
};

TEST_P(ReplanningTest, GoesOnWithoutADevice) {
  const json before = Plan({});
  const std::string gone = before["stages"][0]["replicas"][0]["device"];
  const json after = Plan({"--start_from=-", "--exclude=" + gone}, before);
  EXPECT_TRUE(after.contains("replanning"));
  for (const json& stage : after["stages"]) EXPECT_NE(stage["replicas"][0]["device"], gone);
  EXPECT_THAT(Run("evaluate", {"--plan=-"}, after).out, HasSubstr("The plan is valid."));
}

INSTANTIATE_TEST_SUITE_P(Interconnects, ReplanningTest,
                         testing::Values("zoo:torus2d:2", "zoo:mesh3d:2", "zoo:random-blk2:6"));

}  // namespace
}  // namespace planwright::client
