#include "client/report/joint_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace planwright::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(JointReportTest, SmallSpeedsHaveDigits) {
  v1::Plan plan;
  plan.mutable_joint();
  plan.mutable_estimate()->set_samples_per_second(0.041612);
  EXPECT_THAT(JointPlanReport(plan, "title"), HasSubstr("0.04161 samples/s"));
  plan.mutable_estimate()->set_samples_per_second(1234.56);
  EXPECT_THAT(JointPlanReport(plan, "title"), HasSubstr("1234.6 samples/s"));
}

v1::Plan PlanOfTwoLayers() {
  v1::Plan plan;
  plan.mutable_joint();
  v1::Stage& stage = *plan.add_stages();
  stage.add_replicas()->set_device("gpu0");
  stage.mutable_joint()->mutable_memory()->set_workspace(1024);
  for (const char* layer : {"layer.0", "layer.1"}) stage.mutable_joint()->add_chunks()->add_layers(layer);
  return plan;
}

TEST(JointReportTest, SaysHowManyLayersWereMeasured) {
  v1::Plan plan = PlanOfTwoLayers();
  EXPECT_THAT(JointPlanReport(plan, "title"), Not(HasSubstr("measured")));
  plan.mutable_stages(0)->mutable_joint()->set_measured_layers(1);
  EXPECT_THAT(JointPlanReport(plan, "title"),
              HasSubstr("the times of 1 of 2 layers; those of the others are estimates"));
  plan.mutable_stages(0)->mutable_joint()->set_measured_layers(2);
  EXPECT_THAT(JointPlanReport(plan, "title"), HasSubstr("the times of all 2 layers"));
}

TEST(JointReportTest, ReservedMemoryHasAColumn) {
  v1::Plan plan = PlanOfTwoLayers();
  EXPECT_THAT(JointPlanReport(plan, "title"), Not(HasSubstr("reserved")));
  plan.mutable_stages(0)->mutable_joint()->mutable_memory()->set_reserved(2048);
  EXPECT_THAT(JointPlanReport(plan, "title"), AllOf(HasSubstr("workspace  reserved"), HasSubstr("1.00 KiB  2.00 KiB")));
}

}  // namespace
}  // namespace planwright::client
