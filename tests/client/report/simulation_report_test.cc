#include "client/report/simulation_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace planwright::client {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;

// `devices` devices of which each runs, from the middle of the step on, one forward pass of micro-batch 13.
Simulation Sample(int devices) {
  Simulation simulation;
  simulation.summary.set_schedule(v1::SCHEDULE_KIND_ONE_F_ONE_B);
  simulation.summary.set_micro_batches(14);
  simulation.summary.set_step_time_ms(96);
  for (int i = 0; i < devices; ++i) {
    auto& resource = *simulation.summary.add_resources();
    resource.set_name(absl::StrCat("a-device-with-a-long-name-", i));
    resource.set_kind(v1::SimulationSummary::Resource::KIND_DEVICE);
    resource.set_utilization(0.5);
    resource.set_memory_limit_bytes(2048);
    auto& task = *simulation.timeline.add_tasks();
    task.set_operation("forward");
    task.set_micro_batch(13);
    task.set_resource(i);
    task.set_start_ms(48);
    task.set_end_ms(96);
  }
  return simulation;
}

TEST(SimulationReportTest, DrawsWhatADeviceDoesForMostOfEachColumn) {
  EXPECT_THAT(TimelineText(Sample(1)), HasSubstr("  a-devic..-name-0  " + std::string(48, '.') + std::string(48, '3')));
}

TEST(SimulationReportTest, SaysWhereColumnsAreTooWideForPasses) {
  const auto text_of = [](const Simulation& simulation) {
    return absl::StrReplaceAll(TimelineText(simulation), {{"\n  ", " "}});
  };
  const auto note = HasSubstr("passes shorter than a column may be left out");
  Simulation simulation = Sample(1);
  EXPECT_THAT(text_of(simulation), Not(note));
  v1::SimulatedTask& task = *simulation.timeline.add_tasks();
  task.set_operation("forward");
  task.set_start_ms(1);
  task.set_end_ms(1.001);
  EXPECT_THAT(text_of(simulation), note);
}

TEST(SimulationReportTest, BackwardPassesAreLetters) {
  Simulation simulation = Sample(1);
  simulation.timeline.mutable_tasks(0)->set_operation("backward");
  EXPECT_THAT(TimelineText(simulation), HasSubstr(std::string(48, 'd')));
}

TEST(SimulationReportTest, NoLineIsLongerThanATerminal) {
  Simulation simulation = Sample(3);
  simulation.summary.add_warnings(std::string(40, 'x').append(" ").append(90, 'y'));
  std::istringstream lines(SimulationReport(simulation, "graph on cluster"));
  for (std::string line; std::getline(lines, line);) EXPECT_THAT(line.size(), Le(120U)) << line;
}

TEST(SimulationReportTest, ManyDevicesAreNotAllDrawn) {
  EXPECT_THAT(TimelineText(Sample(40)), HasSubstr("  and 8 more devices"));
}

TEST(SimulationReportTest, SaysWhatWasSimulated) {
  const std::string report = SimulationReport(Sample(1), "graph on cluster");
  EXPECT_THAT(report, HasSubstr("graph on cluster: a step of 14 micro-batches takes 96.000 ms"));
  EXPECT_THAT(report, ContainsRegex("schedule +one_f_one_b, links one transfer at a time"));
  EXPECT_THAT(report, ContainsRegex("50.0 % .* 2.00 KiB"));
  EXPECT_THAT(report, Not(HasSubstr("Links")));
}

TEST(SimulationReportTest, AStepThatTakesNoTimeIsDrawnIdle) {
  Simulation simulation = Sample(1);
  simulation.summary.set_step_time_ms(0);
  EXPECT_THAT(TimelineText(simulation), HasSubstr(std::string(96, '.')));
}

// A device that computes for 60 of 96 ms, exchanges for 18, of which contention is 6, and idles for 18.
Simulation OnLinks() {
  Simulation simulation = Sample(2);
  v1::SimulationSummary& summary = simulation.summary;
  summary.set_collectives(v1::SimulatePlanRequest::COLLECTIVES_ON_LINKS);
  summary.set_contention(v1::SimulatePlanRequest::CONTENTION_FAIR_SHARE);
  summary.set_step_time_without_contention_ms(90);
  summary.set_layers_per_task(2);
  const auto add = [](const char* operation, double busy_ms, double added_ms, auto& resource) {
    auto& time = *resource.add_operation_times();
    time.set_operation(operation);
    time.set_busy_ms(busy_ms);
    time.set_added_by_contention_ms(added_ms);
  };
  for (int device = 0; device < 2; ++device) {
    auto& resource = *summary.mutable_resources(device);
    resource.set_utilization(0.8125);
    add("forward", 24, 0, resource);
    add("backward", 36, 0, resource);
    add("tensor_exchange", 18, device == 0 ? 6 : 0, resource);
  }
  auto& link = *summary.add_resources();
  link.set_name("ports of node 0 x 2");
  link.set_kind(v1::SimulationSummary::Resource::KIND_LINK);
  add("tensor_exchange", 18, 6, link);
  return simulation;
}

TEST(SimulationReportTest, SaysWhatTheStepIsSpentOn) {
  const std::string report = SimulationReport(OnLinks(), "graph on cluster");
  EXPECT_THAT(report, ContainsRegex("collectives +on links, 2 layers at a time"));
  EXPECT_THAT(report, ContainsRegex("contention +6.000 ms on top of 90.000 ms, 6.7 %"));
  EXPECT_THAT(report, ContainsRegex("device +compute +tensor +bubbles +added ms"));
  EXPECT_THAT(report, ContainsRegex("a-device-with-a-long-name-0 +62.5 % +18.8 % +18.8 % +6.000"));
  EXPECT_THAT(report, ContainsRegex("mean of all +62.5 % +18.8 % +18.8 % +3.000"));
  EXPECT_THAT(report, ContainsRegex("ports of node 0 x 2 .* 6.000"));
  EXPECT_THAT(report, HasSubstr("exchange inside layers, U update"));
}

TEST(SimulationReportTest, SaysWhereNothingIsSlowed) {
  Simulation simulation = OnLinks();
  simulation.summary.set_step_time_without_contention_ms(96);
  EXPECT_THAT(SimulationReport(simulation, ""), ContainsRegex("contention +none: the step takes what the plan says"));
}

TEST(SimulationReportTest, SaysNothingOfExchangesInPasses) {
  const std::string report = SimulationReport(Sample(1), "");
  EXPECT_THAT(report, Not(HasSubstr("collectives")));
  EXPECT_THAT(report, Not(HasSubstr("Shares of the step")));
}

}  // namespace
}  // namespace planwright::client
