#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "client/cli/program.h"
#include "client/importer/importer.h"

namespace planwright::client {
namespace {

using ::testing::HasSubstr;

constexpr char kColumns[] =
    "id,source,model_name,family,layers,hidden,heads,ffn,vocab,sequence,gpu,gpus,global_batch,micro_batch,tp,"
    "recomputation,step_seconds\n";

std::string RunLine(int hidden, int tensor, double seconds) {
  std::ostringstream line;
  line << hidden << "-" << tensor << ",lab,M,llama,8," << hidden << ",32," << 4 * hidden
       << ",32000,2048,a100-80,8,32,1," << tensor << ",none," << seconds << "\n";
  return line.str();
}

struct Outcome {
  ExitCode code = ExitCode::kOk;
  std::string out;
  std::string err;
};

Outcome Calibrate(const std::string& table, std::vector<std::string> flags = {"--runs=-"}) {
  std::istringstream in(table);
  std::ostringstream out;
  std::ostringstream err;
  Environment environment{.in = in,
                          .out = out,
                          .err = err,
                          .err_is_terminal = false,
                          .default_connection = {},
                          .interrupt = {},
                          .connect = {}};
  flags.insert(flags.begin(), "calibrate");
  const ExitCode code = RunProgram(flags, environment);
  return {code, out.str(), err.str()};
}

TEST(CalibrateCommandTest, WritesAClusterThatCanBeRead) {
  std::string table = kColumns;
  for (const int hidden : {2'048, 4'096, 6'144, 8'192}) {
    for (const int tensor : {1, 2, 4}) table += RunLine(hidden, tensor, 1e-7 * hidden * hidden);
  }
  const Outcome outcome = Calibrate(table);
  ASSERT_EQ(outcome.code, ExitCode::kOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("fitted by planwright calibrate to 12 step times"));
  const auto cluster = ImportCluster(outcome.out, "calibrated.yaml");
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  EXPECT_EQ(cluster->cluster.devices_size(), 8);
  EXPECT_EQ(cluster->cluster.device_classes(0).name(), "a100");
  EXPECT_TRUE(cluster->cluster.device_classes(0).training().has_products());
  EXPECT_TRUE(cluster->cluster.device_classes(0).training().has_launch_ms());
  EXPECT_EQ(Calibrate(table).out, outcome.out);
}

TEST(CalibrateCommandTest, WritesATableToBeginWith) {
  const Outcome table = Calibrate("", {"--example"});
  ASSERT_EQ(table.code, ExitCode::kOk);
  const Outcome fitted = Calibrate(table.out);
  ASSERT_EQ(fitted.code, ExitCode::kOk) << fitted.err;
  EXPECT_THAT(fitted.out, HasSubstr("to 8 step times"));
  EXPECT_THAT(fitted.out, HasSubstr("100 % of them lie within 20 %"));
}

TEST(CalibrateCommandTest, NamesWhatIsWrong) {
  const Outcome wrong = Calibrate(kColumns + RunLine(4'096, 3, 1) + RunLine(0, 1, 1));
  EXPECT_EQ(wrong.code, ExitCode::kUsage);
  EXPECT_THAT(wrong.err, HasSubstr("line 2, gpus: must be a multiple of tp x cp x pp = 3, is \"8\""));
  EXPECT_THAT(wrong.err, HasSubstr("line 3, hidden: must be a whole number from 1 to 1048576, is \"0\""));
  EXPECT_EQ(Calibrate("", {}).code, ExitCode::kUsage);
  EXPECT_THAT(Calibrate("", {}).err, HasSubstr("--runs is missing"));
  EXPECT_THAT(Calibrate(kColumns).err, HasSubstr("has no runs"));
  EXPECT_EQ(Calibrate("", {"--runs=/nowhere/runs.csv"}).code, ExitCode::kUsage);
}

TEST(CalibrateCommandTest, SaysWhenNothingCanBeFitted) {
  // 32 heads and a batch of 32 on eight devices, but micro-batches of 5.
  const Outcome outcome =
      Calibrate(std::string(kColumns) + "a,lab,M,llama,8,4096,32,8192,32000,2048,h100,8,32,5,1,none,1\n");
  EXPECT_EQ(outcome.code, ExitCode::kUsage);
  EXPECT_THAT(outcome.err, HasSubstr("has a step time and degrees that divide it"));
}

}  // namespace
}  // namespace planwright::client
