#include "client/report/joint_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace planwright::client {
namespace {

using ::testing::HasSubstr;

TEST(JointReportTest, SmallSpeedsHaveDigits) {
  v1::Plan plan;
  plan.mutable_joint();
  plan.mutable_estimate()->set_samples_per_second(0.041612);
  EXPECT_THAT(JointPlanReport(plan, "title"), HasSubstr("0.04161 samples/s"));
  plan.mutable_estimate()->set_samples_per_second(1234.56);
  EXPECT_THAT(JointPlanReport(plan, "title"), HasSubstr("1234.6 samples/s"));
}

}  // namespace
}  // namespace planwright::client
