#include "client/report/store_report.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/time_util.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/client/report/report_lines.h"

namespace planwright::client {
namespace {

using google::protobuf::util::TimeUtil;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(StoreReportTest, OperationsKeepTheirNamesAndFit) {
  v1::Operation operation;
  operation.set_name("operations/r50ad9f76e62fa6cfe6611e9b013e6571");
  operation.set_state(v1::Operation::STATE_SUCCEEDED);
  operation.mutable_metadata()->set_request_id("65cbdfcdc0f89a490f3a7bd29c83d755");
  operation.mutable_metadata()->set_objective_ms(14.345);
  *operation.mutable_metadata()->mutable_create_time() = TimeUtil::MillisecondsToTimestamp(1'763'769'600'212);
  const std::string report = OperationsReport({operation});
  ExpectLinesThatFit(report);
  EXPECT_THAT(report, HasSubstr("  operations/r50ad9f76e62fa6cfe6611e9b013e6571  succeeded  2025-11-22T00:00:00Z  "));
  EXPECT_THAT(report, HasSubstr("  65cbdfcdc0f89..a7bd29c83d755\n"));
}

TEST(StoreReportTest, PlansKeepTheirNamesAndFit) {
  v1::PlanSummary plan;
  plan.set_name("plans/r50ad9f76e62fa6cfe6611e9b013e6571");
  plan.set_graph_display_name(std::string(200, 'g'));
  plan.set_cluster_display_name(std::string(200, 'c'));
  const std::string report = PlansReport({plan});
  ExpectLinesThatFit(report);
  EXPECT_THAT(report, HasSubstr("  plans/r50ad9f76e62fa6cfe6611e9b013e6571  "));
}

TEST(StoreReportTest, RowsOfSweepsAreWrappedSideBySide) {
  v1::Operation operation;
  operation.set_name("operations/s");
  v1::SweepResult::Row& row = *operation.mutable_sweep()->add_rows();
  row.set_state(v1::Operation::STATE_FAILED);
  row.mutable_settings()->set_num_stages(4);
  row.mutable_settings()->set_num_replicas(2);
  row.mutable_settings()->set_micro_batches(128);
  row.mutable_settings()->set_schedule(v1::SCHEDULE_KIND_ONE_F_ONE_B);
  row.mutable_error()->set_message("infeasible: the model needs 16.00 GiB, but all devices together offer 8.00 GiB");
  const std::string report = SweepReport(operation);
  ExpectLinesThatFit(report);
  EXPECT_THAT(report, HasSubstr("4 stages, 2 replicas,"));
  EXPECT_THAT(report, Not(HasSubstr("per sample")));
}

// By which they are ranked.
TEST(StoreReportTest, RowsWithBatchesSayTheTimeOfASample) {
  v1::Operation operation;
  v1::SweepResult::Row& row = *operation.mutable_sweep()->add_rows();
  row.set_rank(1);
  row.set_objective_ms(61'453.333);
  row.mutable_settings()->set_global_batch(128);
  operation.mutable_sweep()->add_rows()->mutable_settings()->set_global_batch(64);
  const std::string report = SweepReport(operation);
  ExpectLinesThatFit(report);
  EXPECT_THAT(report, HasSubstr("  rank      time  per sample"));
  EXPECT_THAT(report, HasSubstr("     1  61.453 s  480.104 ms"));
}

}  // namespace
}  // namespace planwright::client
