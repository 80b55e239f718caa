#include "client/report/joint_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "client/report/line_length.h"

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

TEST(JointReportTest, SaysShardingBaselinesAndSharesAsPeopleKnowThem) {
  v1::Plan plan = PlanOfTwoLayers();
  plan.mutable_provenance()->set_algorithm("joint");
  plan.mutable_problem()->mutable_joint()->set_global_batch(1536);
  v1::JointPlan& joint = *plan.mutable_joint();
  joint.set_optimizer_sharding(v1::OPTIMIZER_SHARDING_OPTIMIZER);
  joint.set_tokens_per_second(198'419.5);
  joint.set_peak_share(0.25);
  joint.set_peak_share_in_use(0.5);
  v1::JointPlan::JointConfiguration& equal = *joint.add_equal_stages();
  equal.set_optimizer_sharding(v1::OPTIMIZER_SHARDING_PARAMETERS);
  plan.add_baselines()->set_algorithm("data_parallel");
  for (int i = 0; i < 1000; ++i) plan.add_devices()->set_device(absl::StrCat("gpu", i));
  const std::string report = JointPlanReport(plan, "title");
  EXPECT_THAT(report, HasSubstr("1 stage on 1 of 1,000 devices, "));
  EXPECT_THAT(report, HasSubstr(", ZeRO-1 (optimizer states)\n"));
  EXPECT_THAT(report, HasSubstr("  1,536 samples: "));
  EXPECT_THAT(report, HasSubstr("198,419 tokens/s, 50.0 % of the peak of the devices in use (MFU), 25.0 % of all"));
  EXPECT_THAT(report, HasSubstr("  ZeRO-3  "));
  EXPECT_THAT(report, HasSubstr("  data_parallel (FSDP)  "));
  joint.set_optimizer_sharding(v1::OPTIMIZER_SHARDING_NONE);
  EXPECT_THAT(JointPlanReport(plan, "title"), HasSubstr(", no sharding\n"));
}

TEST(JointReportTest, OneIsSingular) {
  v1::Plan plan = PlanOfTwoLayers();
  plan.mutable_problem()->set_objective(v1::OBJECTIVE_MIN_DEVICES);
  plan.mutable_problem()->mutable_joint()->set_global_batch(1);
  plan.mutable_provenance()->set_algorithm("joint");
  auto& counters = *plan.mutable_provenance()->mutable_counters();
  counters["devices_allowed"] = counters["devices_needed"] = 1;
  EXPECT_THAT(JointPlanReport(plan, ""), AllOf(HasSubstr("  1 sample: "), HasSubstr("  1 holds the model\n")));
  counters["devices_allowed"] = 2;
  EXPECT_THAT(JointPlanReport(plan, ""), HasSubstr("  2 hold the model; 1 is needed at least\n"));
  counters["devices_needed"] = 2;
  EXPECT_THAT(JointPlanReport(plan, ""), HasSubstr("  2 hold the model; fewer provably do not\n"));
}

// A plan on two hosts of eight devices, of which the only stage has the first `used`.
v1::Plan PlanOnHosts(int used) {
  v1::Plan plan = PlanOfTwoLayers();
  plan.mutable_stages(0)->clear_replicas();
  for (int i = 0; i < 16; ++i) {
    const std::string device = absl::StrCat("host", i / 8, "/gpu", i % 8);
    plan.add_devices()->set_device(device);
    if (i < used) plan.mutable_stages(0)->add_replicas()->set_device(device);
  }
  return plan;
}

TEST(JointReportTest, BothEndsOfARangeOfDevicesAreNamed) {
  EXPECT_THAT(JointPlanReport(PlanOnHosts(16), ""), HasSubstr("  host0 .. host1 (16)  "));
  EXPECT_THAT(JointPlanReport(PlanOnHosts(8), ""), HasSubstr("  host0 (8)  "));
  EXPECT_THAT(JointPlanReport(PlanOnHosts(12), ""), HasSubstr("  host0/gpu0 .. host1/gpu3  "));
  EXPECT_THAT(JointPlanReport(PlanOnHosts(1), ""), HasSubstr("  host0/gpu0  "));
}

TEST(JointReportTest, RangesOfDevicesAreBrokenBetweenTheirEnds) {
  const ScopedLineLengths lengths({.report = 72, .note = 72});
  const std::string report = JointPlanReport(PlanOnHosts(12), "");
  EXPECT_THAT(report, HasSubstr("  0      host0/gpu0 ..  0; 1 "));
  EXPECT_THAT(report, HasSubstr("\n         host1/gpu3\n"));
}

TEST(JointReportTest, AFullDeviceHasAHint) {
  v1::Plan plan = PlanOfTwoLayers();
  v1::DeviceUsage& device = *plan.add_devices();
  device.set_device("gpu0");
  device.set_memory_limit_bytes(100);
  device.set_memory_bytes(91);
  EXPECT_THAT(JointPlanReport(plan, ""), Not(HasSubstr("--reserved_bytes")));
  plan.mutable_devices(0)->set_memory_bytes(92);
  EXPECT_THAT(JointPlanReport(plan, ""), HasSubstr("Up to 92 % of a device"));
}

}  // namespace
}  // namespace planwright::client
