#include "server/observability/tenant_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "server/observability/metrics.h"

namespace planwright::server {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(TenantMetricsTest, TellsTenantsApartUpToANumber) {
  Metrics metrics("1", /*max_tenants=*/2);
  metrics.tenants().Reserve({"configured"});
  for (int i = 0; i < 1000; ++i) metrics.tenants().CallHandled(absl::StrCat("t", i), "OK");
  metrics.tenants().CallHandled("configured", "OK");
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr(R"(planwright_tenant_calls_total{grpc_code="OK",tenant="t0"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(planwright_tenant_calls_total{grpc_code="OK",tenant="configured"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(planwright_tenant_calls_total{grpc_code="OK",tenant="other"} 999)"));
  EXPECT_THAT(text, Not(HasSubstr(R"(tenant="t1")")));
}

TEST(TenantMetricsTest, NamesThatAreNoPlainWordsAreNoLabels) {
  Metrics metrics("1");
  for (const std::string& name :
       {std::string("a\"b"), std::string("a\nb"), std::string("\xff"), std::string(200, 'x')}) {
    metrics.tenants().CallHandled(name, "OK");
  }
  metrics.tenants().CallHandled("", "Unauthenticated");
  EXPECT_THAT(metrics.Text(), HasSubstr(R"(planwright_tenant_calls_total{grpc_code="OK",tenant="other"} 4)"));
  EXPECT_THAT(metrics.Text(),
              HasSubstr(R"(planwright_tenant_calls_total{grpc_code="Unauthenticated",tenant="unknown"} 1)"));
}

TEST(TenantMetricsTest, WhoUsesNothingAnyMoreIsToldSo) {
  Metrics metrics("1");
  metrics.tenants().SetUsage({{"a", {.running_calls = 2, .stored_bytes = 7}}});
  EXPECT_THAT(metrics.Text(), HasSubstr(R"(planwright_tenant_running_calls{tenant="a"} 2)"));
  EXPECT_THAT(metrics.Text(), HasSubstr(R"(planwright_tenant_stored_bytes{tenant="a"} 7)"));
  metrics.tenants().SetUsage({});
  EXPECT_THAT(metrics.Text(), HasSubstr(R"(planwright_tenant_running_calls{tenant="a"} 0)"));
}

}  // namespace
}  // namespace planwright::server
