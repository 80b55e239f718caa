#include "client/report/info_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/wire.h"

namespace planwright::client {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(InfoReportTest, ListsTheZoo) {
  const auto info = Wire<v1::GetServerInfoResponse>(R"pb(
    models { name: "bert-large" description: "24 layers" }
    models { name: "resnet50" description: "operators" }
    clusters { name: "pcie:N" description: "N accelerators" })pb");
  EXPECT_THAT(ModelsReport(info), HasSubstr("  zoo:bert-large  24 layers\n  zoo:resnet50    operators\n"));
  EXPECT_THAT(TopologiesReport(info), HasSubstr("  zoo:pcie:N  N accelerators\n"));
}

TEST(InfoReportTest, KeysOfAFamilyAreListedOnce) {
  const auto info = Wire<v1::GetServerInfoResponse>(R"pb(
    models { name: "transformer" description: "any shape; keys: layers=12 heads=12 tied=no" }
    models { name: "gpt" description: "GPT; keys: layers=24 heads=12 tied=yes" }
    models { name: "small" description: "as it is; keys: layers=12 heads=12 tied=no" }
    models { name: "resnet" description: "images; keys: batch=32 image=224" }
    models { name: "vgg" description: "images; keys: batch=32 image=224 window=7" })pb");
  EXPECT_THAT(ModelsReport(info), HasSubstr("  zoo:transformer  any shape; keys: layers=12 heads=12 tied=no\n"
                                            "  zoo:gpt          GPT; keys of zoo:transformer, but layers=24 tied=yes\n"
                                            "  zoo:small        as it is; keys of zoo:transformer\n"
                                            "  zoo:resnet       images; keys: batch=32 image=224\n"
                                            "  zoo:vgg          images; keys: batch=32 image=224 window=7\n"));
}

TEST(InfoReportTest, ShowsWhatAServerCanDo) {
  const auto info = Wire<v1::GetServerInfoResponse>(R"pb(
    version: "0.1.0"
    capabilities {
      description: "throughput"
      objectives: OBJECTIVE_MAX_THROUGHPUT
      interconnects: "uniform"
      interconnects: "host_staged"
    }
    algorithms { name: "ideal_dp" version: "1" work_unit: "passes" description: "exact" }
    limits {
      max_operators: 1000000
      max_message_bytes: 67108864
      default_time_limit { seconds: 60 }
    })pb");
  const std::string report = ServerInfoReport(info);
  EXPECT_THAT(report, StartsWith("Planwright 0.1.0\n\nPlans\n  -  throughput\n    objective     max_throughput\n"
                                 "    interconnect  uniform, host_staged\n\nAlgorithms\n"));
  EXPECT_THAT(report, HasSubstr("  ideal_dp   1        exact; passes\n"));
  EXPECT_THAT(report, HasSubstr("  operators            1,000,000\n"));
  EXPECT_THAT(report, HasSubstr("  message              64.00 MiB\n"));
}

}  // namespace
}  // namespace planwright::client
