#include "client/cli/results/metrics_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace planwright::client {
namespace {

using ::testing::HasSubstr;

TEST(MetricsPageTest, CountersAreReadAndTenantsAddedUp) {
  const auto counters = ReadCounters(
      "# HELP planwright_build_info x\n"
      "# TYPE planwright_build_info gauge\n"
      "planwright_build_info{version=\"1.2.3\"} 1\n"
      "planwright_running_requests 2\n"
      "planwright_waiting_requests 3 1700000000000\n"
      "planwright_cache_hits_total 1234567\n"
      "planwright_cache_bytes 1.5e+06\n"
      "planwright_tenant_calls_total{grpc_code=\"OK\",tenant=\"team-a\"} 17\n"
      "planwright_tenant_calls_total{grpc_code=\"Internal\",tenant=\"team-a\"} 1\n"
      "planwright_tenant_search_seconds_total{tenant=\"b\\\"}\\\\n\\n\"} 0.25\n");
  ASSERT_TRUE(counters.ok()) << counters.status();
  EXPECT_EQ(counters->version, "1.2.3");
  EXPECT_EQ(counters->running_searches, 2);
  EXPECT_EQ(counters->waiting_searches, 3);
  EXPECT_EQ(counters->cache_hits, 1'234'567);
  EXPECT_EQ(counters->cached_bytes, 1'500'000);
  EXPECT_EQ(counters->cache_misses, 0);
  EXPECT_EQ(counters->tenants.at("team-a").calls, 18);
  EXPECT_EQ(counters->tenants.at("b\"}\\n\n").search_seconds, 0.25);
}

TEST(MetricsPageTest, LinesThatAreNoSamplesAreLeftOut) {
  const auto counters = ReadCounters(
      "planwright_build_info\n{}\n{ 1\nplanwright_cache_bytes{a=\"\n planwright_cache_bytes 1\nplanwright_cache_bytes "
      "NaN\n"
      "planwright_running_requests +Inf\nplanwright_waiting_requests 1e300\nplanwright_tenant_calls_total 4\n"
      "planwright_tenant_calls_total{tenant=\"x\"\n\x01\xff\nplanwright_build_info{} 1");
  ASSERT_TRUE(counters.ok()) << counters.status();
  EXPECT_EQ(counters->cached_bytes, 0);
  EXPECT_EQ(counters->running_searches, 0);
  EXPECT_EQ(counters->waiting_searches, 0);
  EXPECT_TRUE(counters->tenants.empty());
}

TEST(MetricsPageTest, PagesOfOthersAreRefused) {
  EXPECT_EQ(ReadCounters("<html>").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ReadCounters("go_goroutines 5\n").status().code(), absl::StatusCode::kUnavailable);
}

TEST(MetricsPageTest, ServersServeMetricsAtTheirHost) {
  EXPECT_EQ(UsualMetricsAddress("planner.example:50051"), "planner.example:9464");
  EXPECT_EQ(UsualMetricsAddress("dns:///planner:50051"), "planner:9464");
  EXPECT_EQ(UsualMetricsAddress("dns:planner:50051"), "planner:9464");
  EXPECT_EQ(UsualMetricsAddress("dns://8.8.8.8/planner:50051"), "planner:9464");
  EXPECT_EQ(UsualMetricsAddress("[::1]:50051"), "[::1]:9464");
  EXPECT_EQ(UsualMetricsAddress("ipv4:10.0.0.1:50051"), "10.0.0.1:9464");
  EXPECT_EQ(UsualMetricsAddress("ipv6:[::1]:50051"), "[::1]:9464");
  EXPECT_EQ(UsualMetricsAddress("unix:/run/planwright.sock"), "127.0.0.1:9464");
}

TEST(MetricsPageTest, NobodyAnswersAtPortOne) {
  const auto page = FetchMetrics("127.0.0.1:1", std::chrono::seconds(10), {});
  EXPECT_EQ(page.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(page.status().message()), HasSubstr("http://127.0.0.1:1/metrics"));
}

}  // namespace
}  // namespace planwright::client
