#include "client/cli/results/load_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/client/report/report_lines.h"

namespace planwright::client {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

ServerLoad BusyServer() {
  ServerLoad load{.address = "planner:50051", .calls = {}, .tenants = {}, .operations = {}, .counters = LoadCounters()};
  load.counters->version = "1.2.3";
  load.counters->running_searches = 1;
  load.counters->waiting_searches = 2;
  load.counters->cached_plans = 1200;
  load.counters->cache_hits = 900;
  load.counters->cache_misses = 100;
  load.counters->tenants["busy"] = {.calls = 41, .search_seconds = 12.5};
  for (const char* name : {"idle", "busy"}) load.tenants.add_tenants()->set_name(name);
  load.tenants.mutable_tenants(1)->set_waiting_calls(2);
  load.tenants.set_total_tenants(3);
  v1::CallInfo& call = *load.calls.add_calls();
  call.set_name("calls/0123abcd-1");
  call.set_tenant("busy");
  call.set_method("CreatePlan");
  load.calls.set_total_calls(1);
  v1::TenantOperation& operation = *load.operations.add_operations();
  operation.set_tenant("busy");
  operation.mutable_operation()->set_name("operations/r50ad9f76e62fa6cfe6611e9b013e6571");
  operation.mutable_operation()->mutable_metadata()->set_request_id("nightly");
  load.operations.set_next_page_token("more");
  return load;
}

TEST(LoadReportTest, TheBusiestComeFirstAndLinesFit) {
  const std::string report = LoadReport(BusyServer());
  ExpectLinesThatFit(report);
  EXPECT_THAT(report, HasSubstr("planner:50051, planwrightd 1.2.3\n"));
  EXPECT_THAT(report, HasSubstr("queue  1 search runs, 2 wait\n"));
  EXPECT_THAT(report, HasSubstr("1,200 plans"));
  EXPECT_THAT(report, HasSubstr("answered 900 of 1,000 requests"));
  EXPECT_LT(report.find("busy"), report.find("idle"));
  EXPECT_THAT(report, testing::ContainsRegex("busy +0 +2 +0 +41 +12.500 s"));
  EXPECT_THAT(report, HasSubstr("and 1 more\n"));
  EXPECT_THAT(report, HasSubstr("calls/0123abcd-1"));
  EXPECT_THAT(report, HasSubstr("nightly"));
  EXPECT_THAT(report, HasSubstr("and more\n"));
}

TEST(LoadReportTest, WithoutCountersItSaysWhy) {
  ServerLoad load = BusyServer();
  load.counters = absl::UnavailableError("no metrics at http://planner:9464/metrics");
  const std::string text = LoadReport(load);
  EXPECT_THAT(text, HasSubstr("queue and cache are not known: no metrics at http://planner:9464/metrics"));
  EXPECT_THAT(text, testing::ContainsRegex("busy +0 +2 +0 +- +-"));
  const Json report = Json::parse(LoadJson(load));
  EXPECT_EQ(report["counters_missing"], "no metrics at http://planner:9464/metrics");
  EXPECT_FALSE(report.contains("queue"));
}

TEST(LoadReportTest, JsonHoldsWhatTheTextSays) {
  const Json report = Json::parse(LoadJson(BusyServer()));
  EXPECT_EQ(report["queue"], (Json{{"running", 1}, {"waiting", 2}}));
  EXPECT_EQ(report["cache"]["hits"], 900);
  EXPECT_EQ(report["tenants"][1]["name"], "busy");
  EXPECT_EQ(report["tenants"][1]["calls"], 41);
  EXPECT_EQ(report["tenants"][1]["search_seconds"], 12.5);
  EXPECT_EQ(report["calls"][0]["method"], "CreatePlan");
  EXPECT_EQ(report["operations"][0]["operation"]["name"], "operations/r50ad9f76e62fa6cfe6611e9b013e6571");
}

TEST(LoadReportTest, AnEmptyServerHasAReport) {
  const ServerLoad load{.address = "h:1", .calls = {}, .tenants = {}, .operations = {}, .counters = LoadCounters()};
  const std::string report = LoadReport(load);
  EXPECT_THAT(report, HasSubstr("queue  0 searches run, 0 wait\n"));
  EXPECT_THAT(report, HasSubstr("There are no calls.\n"));
  EXPECT_THAT(report, Not(HasSubstr("more")));
  EXPECT_EQ(Json::parse(LoadJson(load))["calls"], Json::array());
}

}  // namespace
}  // namespace planwright::client
