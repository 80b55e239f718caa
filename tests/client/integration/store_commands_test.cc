// The commands on what a server keeps, from the shell to a real server and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/client/integration/child.h"
#include "tests/integration/daemon_process.h"

namespace planwright::client {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class StoreCommandsTest : public testing::Test {
 protected:
  ~StoreCommandsTest() override { std::filesystem::remove_all(folder_); }

  Finished Run(std::vector<std::string> arguments) {
    arguments.push_back("--server=" + address_);
    return Planwright(std::move(arguments));
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("store-commands-" + std::to_string(getpid()));
  DaemonProcess daemon_{{"--store=sqlite:" + (folder_ / "planwright.db").string()}};
  const std::string address_ = daemon_.address();
};

TEST_F(StoreCommandsTest, RegistersPlansAndShows) {
  const Finished registered = Run({"register", "--graph=zoo:bert-base", "--cluster=zoo:pcie:4"});
  ASSERT_EQ(registered.exit_code, 0) << registered.err;
  const std::size_t line = registered.out.find('\n');
  const std::string graph = registered.out.substr(0, line);
  const std::string cluster = registered.out.substr(line + 1, registered.out.size() - line - 2);
  EXPECT_THAT(graph, StartsWith("graphs/"));
  EXPECT_THAT(cluster, StartsWith("clusters/"));
  const Finished planned = Run({"plan", "--graph=" + graph, "--cluster=" + cluster, "--plan_id=my-plan"});
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_THAT(Run({"plans"}).out, HasSubstr("plans/my-plan"));
  EXPECT_THAT(Run({"plans", "--show=plans/my-plan"}).out, HasSubstr("per micro-batch"));
  EXPECT_THAT(Run({"plans", "--output=json"}).out, HasSubstr("\"name\": \"plans/my-plan\""));
  EXPECT_THAT(Run({"evaluate", "--graph=" + graph, "--cluster=" + cluster, "--plan=plans/my-plan"}).out,
              HasSubstr("The plan is valid."));
  EXPECT_EQ(Run({"simulate", "--graph=" + graph, "--cluster=" + cluster, "--plan=plans/my-plan"}).exit_code, 0);
  EXPECT_THAT(Run({"export", "--to=json", "--plan=plans/my-plan"}).out, HasSubstr("\"name\": \"plans/my-plan\""));
  EXPECT_THAT(Run({"plan", "--graph=" + graph, "--cluster=" + cluster, "--start_from=plans/my-plan"}).out,
              HasSubstr("  moved  "));
  EXPECT_THAT(Run({"export", "--to=json", "--plan=plans/nobody"}).err, HasSubstr("`planwright plans` lists what"));
  EXPECT_EQ(Run({"plans", "--delete=plans/my-plan"}).exit_code, 0);
  EXPECT_EQ(Run({"plans", "--delete=plans/my-plan"}).exit_code, 2);
  EXPECT_THAT(Run({"plans"}).out, HasSubstr("No plans are kept."));
}

TEST_F(StoreCommandsTest, SubmitsWaitsAndLists) {
  const Finished submitted = Run({"submit", "--graph=zoo:bert-base", "--cluster=zoo:pcie:4", "--request_id=monday"});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  const std::string name = submitted.out.substr(0, submitted.out.size() - 1);
  const Finished waited = Run({"wait", "--operation=" + name});
  EXPECT_EQ(waited.exit_code, 0) << waited.err;
  EXPECT_THAT(waited.out, HasSubstr("per micro-batch"));
  EXPECT_THAT(Run({"operations"}).out, HasSubstr("succeeded"));
  EXPECT_THAT(Run({"operations", "--cancel=" + name}).out, HasSubstr("succeeded"));
  const Finished failed = Run({"submit", "--graph=zoo:bert-base", "--cluster=zoo:pcie:4", "--objective=min_devices",
                               "--target_period_ms=0.001"});
  EXPECT_THAT(Run({"operations"}).out, HasSubstr("  bert-base_on_pcie-4_"));
  const Finished why = Run({"wait", "--operation=" + failed.out.substr(0, failed.out.size() - 1)});
  EXPECT_EQ(why.exit_code, 3);
  EXPECT_THAT(why.err, HasSubstr("infeasible: "));
}

TEST_F(StoreCommandsTest, SweepsAndRanks) {
  const Finished swept = Run({"sweep", "--graph=zoo:bert-base", "--cluster=zoo:pcie:4", "--max_devices=2,4,0"});
  EXPECT_EQ(swept.exit_code, 0) << swept.err;
  EXPECT_THAT(swept.out, HasSubstr("3 of 3 rows have ended"));
  EXPECT_THAT(swept.out, HasSubstr("must be >= 1, is 0"));
  EXPECT_LT(swept.out.find("at most 4 devices"), swept.out.find("at most 2 devices"));
}

// How the speed of a training job grows with devices, on nodes and on a grid.
TEST_F(StoreCommandsTest, SweepsNumbersOfDevicesOfAJointRequest) {
  for (const char* cluster : {"--cluster=zoo:dgx-h100:1", "--cluster=zoo:torus2d:2?memory_gib=80"}) {
    const Finished swept = Run({"sweep", "--graph=zoo:gpt-1.3b", cluster, "--global_batch=16", "--max_devices=1,2,4"});
    EXPECT_EQ(swept.exit_code, 0) << swept.err;
    EXPECT_THAT(swept.out, HasSubstr("3 of 3 rows have ended"));
    EXPECT_LT(swept.out.find("at most 4 devices"), swept.out.find("at most 2 devices"));
    EXPECT_LT(swept.out.find("at most 2 devices"), swept.out.find("at most 1 device"));
  }
}

// Larger batches leave less of a step idle.
TEST_F(StoreCommandsTest, SweepsBatchesOfAModelGivenByName) {
  const Finished swept = Run({"sweep", "--graph=zoo:gpt-1.3b", "--cluster=zoo:dgx-h100:1", "--global_batches=0,8,32"});
  EXPECT_EQ(swept.exit_code, 0) << swept.err;
  EXPECT_THAT(swept.out, HasSubstr("3 of 3 rows have ended"));
  EXPECT_THAT(swept.out, HasSubstr("problem.joint.global_batch: must be"));
  EXPECT_LT(swept.out.find("32 samples"), swept.out.find("8 samples"));
}

TEST_F(StoreCommandsTest, SweepsWithoutAPlanEndAsComparisonsDo) {
  const std::vector<std::string> sweep = {"sweep", "--graph=zoo:bert-base", "--cluster=zoo:pcie:4"};
  const auto with = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = sweep;
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return Run(arguments).exit_code;
  };
  EXPECT_EQ(with({"--max_devices=0"}), 2);
  EXPECT_EQ(with({"--max_devices=1,2", "--objective=min_devices", "--target_period_ms=0.001"}), 3);
}

TEST_F(StoreCommandsTest, SaysWhatIsMissing) {
  EXPECT_THAT(Run({"plans", "--show=plans/nobody"}).err, HasSubstr("nothing is stored as \"plans/nobody\""));
  EXPECT_THAT(Planwright({"plans"}).err, HasSubstr("kept by a server"));
  EXPECT_THAT(Run({"wait"}).err, HasSubstr("the name of the operation is missing"));
  EXPECT_THAT(Run({"wait", "--operation=operations/nobody"}).err, HasSubstr("there is no operation"));
  EXPECT_THAT(Run({"register"}).err, HasSubstr("neither --graph nor --cluster"));
  EXPECT_THAT(Run({"sweep", "--graph=zoo:bert-base", "--cluster=zoo:pcie:4", "--stages=a"}).err,
              HasSubstr("--stages: must be an integer"));
}

}  // namespace
}  // namespace planwright::client
