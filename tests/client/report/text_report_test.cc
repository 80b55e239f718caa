#include "client/report/text_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "client/report/line_length.h"
#include "tests/support/wire.h"

namespace planwright::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kPlan[] = R"pb(
  problem { objective: OBJECTIVE_MAX_THROUGHPUT workload: WORKLOAD_TRAINING }
  objective_ms: 12.5
  lower_bound_ms: 10
  relative_gap: 0.2
  stages {
    index: 0
    operators: [ "embed", "encoder.0", "encoder.1" ]
    replicas { device: "acc0" load_ms: 12.5 }
    compute_ms: 12
    communication_out_ms: 0.5
    load_ms: 12.5
    memory_bytes: 1610612736
    backward_contiguous: true
  }
  stages {
    index: 1
    operators: "head"
    replicas { device: "cpu0" load_ms: 3.25 }
    compute_ms: 3.25
    load_ms: 3.25
    memory_bytes: 512
  }
  devices { device: "acc0" stages: 0 load_ms: 12.5 memory_bytes: 1610612736 memory_limit_bytes: 17179869184 }
  devices { device: "acc1" }
  devices { device: "cpu0" stages: 1 load_ms: 3.25 memory_bytes: 512 }
  estimate { micro_batches_per_second: 80 samples_per_second: 640 bubble_fraction: 0.37 }
  provenance {
    algorithm: "ideal_dp"
    algorithm_version: "1"
    wall_time_ms: 8.25
    cpu_time_ms: 9.5
    stop_reason: STOP_REASON_IDEAL_LIMIT
    fallback: "linearized_dp"
    counters { key: "passes" value: 12 }
    counters { key: "ideals" value: 1234567 }
    counters { key: "moves" value: 0 }
  }
  warnings: "1 operator is estimated")pb";

TEST(TextReportTest, GoldenPlan) {
  EXPECT_EQ(PlanReport(Wire<v1::Plan>(kPlan), "bert.json on zoo:pcie:2"),
            R"(bert.json on zoo:pcie:2: 12.500 ms per micro-batch, at most 25 % above the optimum
  throughput   80 micro-batches/s, 640 samples/s, devices in use idle 37.0 % of the time
  lower bound  10.000 ms (gap 20 %)
  stopped      ideal limit
  algorithm    ideal_dp 1, fell back to linearized_dp
  search       8.25 ms (CPU 9.5 ms), ideals 1,234,567, passes 12

Stages
  stage  device  operators  first .. last       compute ms  in ms  out ms  load ms    memory
      0  acc0            3  embed .. encoder.1      12.000  0.000   0.500   12.500  1.50 GiB
      1  cpu0            1  head                     3.250  0.000   0.000    3.250     512 B

Devices
  device  stages  load ms  share of the objective                     memory
  acc0         0   12.500  #################### 100 %  1.50 GiB of 16.00 GiB
  cpu0         1    3.250  #####...............  26 %                  512 B
  idle: acc1

The backward operators are not contiguous in stage 1.

Warnings
  -  1 operator is estimated
)");
}

TEST(TextReportTest, LinesFitTheTerminal) {
  auto plan = Wire<v1::Plan>(kPlan);
  plan.mutable_stages(0)->set_operators(0, "a/name/that/goes/on/and/on");
  plan.mutable_stages(0)->mutable_replicas(0)->set_device("rack0/host0/accelerator0");
  plan.mutable_devices(0)->set_device("rack0/host0/accelerator0");
  const ScopedLineLengths lengths({.report = 80, .note = 80});
  std::istringstream lines(PlanReport(plan, std::string(40, 'g') + " on " + std::string(20, 'c')));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(TextReportTest, LongTimesScale) {
  auto plan = Wire<v1::Plan>(kPlan);
  plan.set_objective_ms(1'271'000);
  plan.mutable_stages(0)->set_load_ms(1'271'000);
  plan.mutable_devices(0)->set_load_ms(1'271'000);
  const std::string report = PlanReport(plan, "");
  EXPECT_THAT(report, StartsWith("21.2 min per micro-batch"));
  EXPECT_THAT(report, HasSubstr("compute min  in min  out min  load min"));
  EXPECT_THAT(report, HasSubstr("    21.183"));
}

TEST(TextReportTest, EqualDevicesShareARow) {
  auto plan = Wire<v1::Plan>(kPlan);
  for (int i = 2; i < 4; ++i) {
    v1::DeviceUsage& copy = *plan.add_devices();
    copy = plan.devices(0);
    copy.set_device("acc" + std::to_string(i));
  }
  v1::DeviceUsage& other = *plan.add_devices();
  other = plan.devices(0);
  other.set_device("acc4");
  other.set_load_ms(1);
  const std::string report = PlanReport(plan, "");
  EXPECT_THAT(report, HasSubstr("\n  acc0 x 3       0   12.500  "));
  EXPECT_THAT(report, HasSubstr("\n  acc4           0    1.000  "));
  EXPECT_THAT(report, Not(HasSubstr("\n  acc2")));
}

TEST(TextReportTest, IdleTimeIsThatOfAccelerators) {
  const auto plan = Wire<v1::Plan>(kPlan);
  EXPECT_THAT(PlanReport(plan, "", {"cpu0"}), HasSubstr("accelerators in use idle 0.0 % of the time\n"));
  EXPECT_THAT(PlanReport(plan, "", {"cpu0"}), Not(HasSubstr("busiest device is a CPU")));
}

TEST(TextReportTest, WarnsFirstWhereAcceleratorsWaitForACpu) {
  auto plan = Wire<v1::Plan>(kPlan);
  plan.mutable_devices(2)->set_load_ms(100);
  plan.set_objective_ms(100);
  EXPECT_THAT(
      PlanReport(plan, "", {"cpu0"}),
      HasSubstr("above the optimum\n"
                "  warning      the busiest device is a CPU, cpu0, and the accelerators wait for it: give them"));
  EXPECT_THAT(PlanReport(plan, "", {"acc0", "acc1", "cpu0"}), Not(HasSubstr("busiest device is a CPU")));
}

TEST(CpusOfTest, NamesDevicesAndGroups) {
  EXPECT_THAT(CpusOf(Wire<v1::Cluster>(R"pb(
                device_classes { name: "gpu" }
                device_classes { name: "xeon" kind: DEVICE_KIND_CPU }
                devices { name: "g" device_class: "gpu" }
                devices { name: "x" device_class: "xeon" }
                device_groups { name_prefix: "c" device_class: "xeon" count: 2 })pb")),
              ::testing::ElementsAre("c0", "c1", "x"));
}

TEST(TextReportTest, SaysThatAPlanIsProvenOptimal) {
  auto plan = Wire<v1::Plan>(kPlan);
  plan.mutable_provenance()->set_proven_optimal(true);
  EXPECT_THAT(PlanReport(plan, ""), StartsWith("12.500 ms per micro-batch, proven optimal\n"));
}

// What is proven of a plan of the joint search is its step task by task; its objective, the closed form, may have a
// gap.
TEST(TextReportTest, ProvesTheStepOfAJointPlanTaskByTask) {
  auto plan = Wire<v1::Plan>(R"pb(
    objective_ms: 12.5
    lower_bound_ms: 12.4
    relative_gap: 0.008
    joint { simulated_step_ms: 12.25 simulated_bound_ms: 12.25 tokens_per_second: 99999.7 }
    provenance { algorithm: "joint" proven_optimal: true }
  )pb");
  EXPECT_THAT(PlanReport(plan, "x"),
              StartsWith("x: 12.500 ms per step, at most 0.81 % above the best with one choice of degrees for all "
                         "stages\n"));
  EXPECT_THAT(PlanReport(plan, "x"), HasSubstr("12.250 ms, proven optimal\n"));
  // Rounded down, so that a target of what is printed is reached.
  EXPECT_THAT(PlanReport(plan, "x"), HasSubstr(" 99,999 tokens/s"));
  EXPECT_THAT(PlanReport(plan, "x"),
              HasSubstr("  closed form   no plan of these choices below 12.400 ms (gap 0.8 %)\n"));
  plan.set_relative_gap(0);
  EXPECT_THAT(PlanReport(plan, "x"), StartsWith("x: 12.500 ms per step, proven optimal\n"));
  plan.mutable_provenance()->set_proven_optimal(false);
  plan.mutable_joint()->set_simulated_bound_ms(12);
  plan.set_lower_bound_ms(12.5);
  plan.mutable_problem()->mutable_joint()->set_degrees(v1::JOINT_DEGREES_PER_STAGE);
  EXPECT_THAT(PlanReport(plan, "x"), StartsWith("x: 12.500 ms per step, at most 0 % above the best\n"));
  EXPECT_THAT(PlanReport(plan, "x"), HasSubstr("12.250 ms; at most 2.1 % above the best (12.000 ms or more)\n"));
}

// On grids, explicit links and matrices nobody has proven what a choice is worth.
TEST(TextReportTest, SaysWhereTheWorthOfChoicesIsNotProven) {
  auto plan = Wire<v1::Plan>(R"pb(
    objective_ms: 10
    joint {
      worth { without: "sharding" step_ms: 12 }
      worth { without: "a pipeline" }
    }
    provenance { algorithm: "joint" }
  )pb");
  const std::string proven = PlanReport(plan, "");
  EXPECT_THAT(proven, HasSubstr("20.0 % more"));
  EXPECT_THAT(proven, HasSubstr("nothing fits"));
  EXPECT_THAT(proven, Not(HasSubstr("none is proven")));
  (*plan.mutable_provenance()->mutable_counters())["placed_plans"] = 3;
  EXPECT_THAT(PlanReport(plan, ""),
              HasSubstr("\n  The best that was found without each; on these links none is proven.\n"));
}

TEST(TextReportTest, CountsReplicasAndTheirAllReduceInLinesThatFit) {
  auto plan = Wire<v1::Plan>(kPlan);
  EXPECT_THAT(PlanReport(plan, ""), Not(HasSubstr("reduce ms")));
  v1::Stage& stage = *plan.mutable_stages(0);
  stage.set_allreduce_ms(1.25);
  stage.mutable_replicas(0)->set_device("rack0/host0/accelerator0");
  for (int copy = 1; copy < 32; ++copy) stage.add_replicas()->set_device("more");
  stage.set_operators(0, "a/name/that/goes/on/and/on");
  stage.set_operators(2, "another/name/that/goes/on/and/on");
  const std::string report = PlanReport(plan, "");
  EXPECT_THAT(report, HasSubstr("  rack0/h..erator0 x 32  "));
  EXPECT_THAT(report, HasSubstr("  reduce ms  load ms"));
  EXPECT_THAT(report, HasSubstr("      1.250   12.500  1.50 GiB\n"));
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120U) << line;
}

TEST(TextReportTest, SaysHowManyDevicesMeetTheTarget) {
  auto plan = Wire<v1::Plan>(R"pb(
    objective_ms: 12.5
    lower_bound_ms: 5
    problem { objective: OBJECTIVE_MIN_DEVICES target_period_ms: 20 }
    provenance {
      algorithm: "ideal_dp"
      proven_optimal: true
      counters { key: "devices_used" value: 3 }
      counters { key: "devices_needed" value: 3 }
    }
  )pb");
  EXPECT_THAT(PlanReport(plan, ""), StartsWith("12.500 ms per micro-batch on 3 devices, proven the fewest that meet "
                                               "the target of 20.000 ms\n"));
  EXPECT_THAT(PlanReport(plan, ""), Not(HasSubstr("lower bound")));
  plan.mutable_provenance()->set_proven_optimal(false);
  (*plan.mutable_provenance()->mutable_counters())["devices_needed"] = 2;
  EXPECT_THAT(PlanReport(plan, ""), StartsWith("12.500 ms per micro-batch on 3 devices, 2 are needed at least to meet "
                                               "the target of 20.000 ms\n"));
}

TEST(TextReportTest, AStageAloneIsNotAheadOfAnybody) {
  auto plan = Wire<v1::Plan>(R"pb(
    objective_ms: 12.5
    explanation { bottleneck: "device a: 12.500 ms of work" slack_ms: 12.5 }
    devices { device: "a" stages: 0 load_ms: 12.5 }
  )pb");
  EXPECT_THAT(PlanReport(plan, ""), HasSubstr("  next busiest  no other stage\n"));
  v1::DeviceUsage& other = *plan.add_devices();
  other.add_stages(1);
  other.set_load_ms(10);
  plan.mutable_explanation()->set_slack_ms(2.5);
  EXPECT_THAT(PlanReport(plan, ""), HasSubstr("  next busiest  2.500 ms less\n"));
}

TEST(TextReportTest, LinesOfWidePlansFit) {
  auto plan = Wire<v1::Plan>(kPlan);
  v1::DeviceUsage& device = *plan.mutable_devices(0);
  device.set_device(std::string(200, 'd'));
  for (int stage = 0; stage < 100; ++stage) device.add_stages(stage);
  for (int i = 0; i < 20; ++i) plan.add_devices()->set_device("rack0/host" + std::to_string(i) + "/accelerator");
  plan.mutable_stages(0)->mutable_replicas(0)->set_device(std::string(200, 'd'));
  for (int stage = 2; stage < 60; ++stage) plan.add_stages()->set_index(stage);
  const std::string report = PlanReport(plan, std::string(60, 'g') + " on " + std::string(60, 'c'));
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120U) << line;
  EXPECT_THAT(report, HasSubstr(" and 13 more\n"));
}

TEST(TextReportTest, NamesFewIdleDevicesAndCountsTheRest) {
  v1::Plan plan;
  for (int i = 0; i < 1000; ++i) plan.add_devices()->set_device("d");
  EXPECT_THAT(PlanReport(plan, ""), HasSubstr("idle: d, d, d, d, d, d, d, d and 992 more\n"));
}

TEST(TextReportTest, SaysNothingOfBackwardPassesForInference) {
  auto plan = Wire<v1::Plan>(kPlan);
  plan.mutable_problem()->set_workload(v1::WORKLOAD_INFERENCE);
  EXPECT_THAT(PlanReport(plan, ""), Not(HasSubstr("backward")));
}

TEST(TextReportTest, AnInvalidPlanListsItsViolations) {
  v1::EvaluatePlanResponse evaluation;
  v1::PlanViolation& violation = *evaluation.add_violations();
  violation.set_field("plan.stages[0].operators[1]");
  violation.set_description("is placed twice");
  EXPECT_EQ(EvaluationReport(evaluation, "g"),
            "The plan is not valid: 1 violation.\n"
            "  -  plan.stages[0].operators[1]: is placed twice\n");
  *evaluation.mutable_plan() = Wire<v1::Plan>(kPlan);
  EXPECT_THAT(EvaluationReport(evaluation, "g"), HasSubstr("\n\ng: 12.500 ms"));
  EXPECT_THAT(EvaluationReport(evaluation, "g"), Not(HasSubstr("--recost")));
  evaluation.add_violations()->set_field("plan.objective_ms");
  EXPECT_THAT(EvaluationReport(evaluation, "g"), HasSubstr("--recost costs what it chooses"));
}

TEST(TextReportTest, AValidPlanIsCalledSo) {
  v1::EvaluatePlanResponse evaluation;
  evaluation.set_valid(true);
  evaluation.mutable_plan()->set_objective_ms(20.08);
  EXPECT_THAT(EvaluationReport(evaluation, "g"), StartsWith("The plan is valid.\ng: 20.080 ms per micro-batch\n"));
}

TEST(PlanReportTest, OfAPatternSaysWhatIsInFlight) {
  auto plan = Wire<v1::Plan>(kPlan);
  EXPECT_THAT(PlanReport(plan, ""), Not(HasSubstr("in flight")));
  plan.mutable_schedule()->MergeFrom(Wire<v1::Schedule>(R"pb(
    kind: SCHEDULE_KIND_PERIODIC
    period_ms: 12.5
    tasks { operation: "forward" resource: "acc0" }
    tasks { operation: "backward" resource: "acc0" start_ms: 4 index_shift: 2 }
  )pb"));
  plan.mutable_stages(0)->set_in_flight_micro_batches(3);
  const std::string report = PlanReport(plan, "");
  EXPECT_THAT(report, HasSubstr("in flight"));
  EXPECT_THAT(report, HasSubstr("2 tasks every 12.500 ms; those of one micro-batch start within 3 periods."));
  EXPECT_THAT(report, HasSubstr("planwright simulate"));
}

}  // namespace
}  // namespace planwright::client
