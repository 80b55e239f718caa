#include "client/report/admin_report.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/time_util.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/client/report/report_lines.h"

namespace planwright::client {
namespace {

using google::protobuf::util::TimeUtil;
using ::testing::HasSubstr;

TEST(AdminReportTest, CallsSayWhoseTheyAreAndFit) {
  v1::ListCallsResponse response;
  v1::CallInfo& call = *response.add_calls();
  call.set_name("calls/0123abcd-123456");
  call.set_tenant(std::string(100, 't'));
  call.set_caller("ci");
  call.set_method("CancelTenantOperation");
  call.set_state(v1::CallInfo::STATE_RUNNING);
  call.set_cancel_requested(true);
  call.set_request_id(std::string(64, 'r'));
  call.set_peer("ipv6:[2001:db8::1]:12345");
  *call.mutable_age() = TimeUtil::MillisecondsToDuration(75'400);
  response.set_total_calls(3);
  const std::string report = CallsReport(response);
  ExpectLinesThatFit(report);
  EXPECT_THAT(report, HasSubstr("calls/0123abcd-123456"));
  EXPECT_THAT(report, HasSubstr("running, cancelled"));
  EXPECT_THAT(report, HasSubstr("75 s"));
  EXPECT_THAT(report, HasSubstr("and 2 more\n"));
  EXPECT_EQ(CallsReport(v1::ListCallsResponse()), "There are no calls.\n");
}

TEST(AdminReportTest, TenantsSayWhatHoldsThemBack) {
  v1::ListTenantsResponse response;
  v1::TenantInfo& tenant = *response.add_tenants();
  tenant.set_name("team-a");
  tenant.set_stored_bytes(int64_t{3} << 30);
  tenant.mutable_limits()->set_weight(2);
  tenant.mutable_limits()->set_max_running(1);
  tenant.set_has_set_limits(true);
  response.set_total_tenants(1);
  const std::string report = TenantsReport(response);
  ExpectLinesThatFit(report);
  EXPECT_THAT(report, HasSubstr("3.00 GiB"));
  EXPECT_THAT(report, testing::ContainsRegex("2 +1 +- +- +set\n"));
}

TEST(AdminReportTest, OperationsAndItemsKeepTheirNamesAndFit) {
  v1::TenantOperation listed;
  listed.set_tenant("team-a");
  listed.mutable_operation()->set_name("operations/r50ad9f76e62fa6cfe6611e9b013e6571");
  listed.mutable_operation()->mutable_metadata()->set_request_id(std::string(64, 'r'));
  v1::TenantItem item;
  item.set_name("plans/r50ad9f76e62fa6cfe6611e9b013e6571");
  item.set_display_name(std::string(200, 'g'));
  for (const std::string& report : {TenantOperationsReport({listed}), ItemsReport({item})}) {
    ExpectLinesThatFit(report);
    EXPECT_THAT(report, HasSubstr("/r50ad9f76e62fa6cfe6611e9b013e6571  "));
  }
}

}  // namespace
}  // namespace planwright::client
