#include "server/codec/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/simulate/flow_simulator.h"
#include "tests/server/codec/two_devices.h"
#include "tests/support/wire.h"

namespace planwright::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

SimulationSettings Decode(const v1::SimulatePlanRequest& request, Violations& violations) {
  return DecodeSimulationSettings(request, OperatorGraph(), TwoDevices(), violations);
}

std::vector<std::string> PathsOf(const v1::SimulatePlanRequest& request) {
  Violations violations;
  Decode(request, violations);
  std::vector<std::string> paths;
  for (const Violation& violation : violations.listed()) paths.push_back(violation.path);
  return paths;
}

TEST(SimulationSettingsTest, UnsetFieldsAreThoseOfTheProblem) {
  Violations violations;
  const SimulationSettings settings = Decode(v1::SimulatePlanRequest(), violations);
  EXPECT_TRUE(violations.empty());
  EXPECT_FALSE(settings.schedule.has_value());
  EXPECT_FALSE(settings.micro_batches.has_value());
  EXPECT_FALSE(settings.recomputation.has_value());
  EXPECT_FALSE(settings.contention.has_value());
  EXPECT_EQ(settings.collectives, Collectives::kInPasses);
  EXPECT_THAT(settings.order, IsEmpty());
}

TEST(SimulationSettingsTest, FieldsAndOrdersAreRead) {
  const auto request = Wire<v1::SimulatePlanRequest>(R"pb(
    schedule: SCHEDULE_KIND_CHIMERA
    micro_batches: 3
    order { device: "g1" tasks: "2F0" tasks: "2B0" }
    view: VIEW_SUMMARY
  )pb");
  Violations violations;
  const SimulationSettings settings = Decode(request, violations);
  EXPECT_TRUE(violations.empty());
  EXPECT_EQ(settings.schedule, ScheduleKind::kChimera);
  EXPECT_EQ(settings.micro_batches, 3);
  ASSERT_EQ(settings.order.size(), 1U);
  EXPECT_EQ(settings.order[0].device, DeviceId(1));
  EXPECT_THAT(settings.order[0].passes,
              ElementsAre(PassTask{TaskKind::kForward, 2, 0}, PassTask{TaskKind::kBackward, 2, 0}));
}

TEST(SimulationSettingsTest, EveryFieldThatIsWrongIsNamed) {
  v1::SimulatePlanRequest request;
  request.set_view(static_cast<v1::SimulatePlanRequest::View>(99));
  EXPECT_THAT(PathsOf(request), ElementsAre("view"));
  request = Wire<v1::SimulatePlanRequest>(R"pb(
    order { device: "g0" tasks: "0F0" }
    order { device: "g9" tasks: "0F0" tasks: "zero" }
  )pb");
  EXPECT_THAT(PathsOf(request), ElementsAre("order[1].device", "order[1].tasks[1]"));
}

// Two tasks on a device and one on a link, in two milliseconds.
PlanSimulation TwoMilliseconds() {
  constexpr Picoseconds kMillisecond(1'000'000'000);
  PlanSimulation simulation;
  simulation.settings.schedule = ScheduleKind::kGpipe;
  simulation.settings.micro_batches = 4;
  simulation.settings.recomputation = MemoryModel::Recomputation::kNone;
  simulation.settings.contention = Contention::kExclusive;
  simulation.list.resources = {{"g0", TaskResource::Kind::kDevice, 5}, {"g0 - g1", TaskResource::Kind::kLink, 0}};
  simulation.list.tasks = {{TaskKind::kForward, 0, 1, 0, kMillisecond, 7, 0},
                           {TaskKind::kBackward, 0, 1, 0, kMillisecond, 0, -7},
                           {TaskKind::kSendForward, 0, 1, 1, kMillisecond, 0, 0}};
  simulation.timeline.starts = {Picoseconds(0), kMillisecond, kMillisecond};
  simulation.timeline.ends = {kMillisecond, 2 * kMillisecond, 2 * kMillisecond};
  simulation.report.step_time = 2 * kMillisecond;
  simulation.report.resources = {{2, 2 * kMillisecond, 12, kMillisecond, {}}, {1, kMillisecond, 0, Picoseconds(0), {}}};
  simulation.report.bubble_fraction = 0.25;
  simulation.memory_limits = {100, std::nullopt};
  simulation.period = kMillisecond;
  simulation.warnings = {"slow"};
  return simulation;
}

TEST(SimulationSummaryTest, StatesRatesResourcesAndTheFullestDevice) {
  const v1::SimulationSummary summary = EncodeSummary(TwoMilliseconds(), /*samples_per_micro_batch=*/3);
  EXPECT_EQ(summary.step_time_ms(), 2);
  EXPECT_EQ(summary.period_ms(), 1);
  EXPECT_EQ(summary.micro_batches_per_second(), 2000);
  EXPECT_EQ(summary.samples_per_second(), 6000);
  EXPECT_EQ(summary.bubble_fraction(), 0.25);
  EXPECT_EQ(summary.peak_memory_bytes(), 12);
  EXPECT_EQ(summary.tasks(), 3);
  EXPECT_THAT(summary.warnings(), ElementsAre("slow"));
  ASSERT_EQ(summary.resources_size(), 2);
  const v1::SimulationSummary::Resource& device = summary.resources(0);
  EXPECT_EQ(device.kind(), v1::SimulationSummary::Resource::KIND_DEVICE);
  EXPECT_EQ(device.tasks(), 2);
  EXPECT_EQ(device.busy_ms(), 2);
  EXPECT_EQ(device.utilization(), 1);
  EXPECT_EQ(device.initial_memory_bytes(), 5);
  EXPECT_EQ(device.peak_memory_bytes(), 12);
  EXPECT_EQ(device.peak_memory_at_ms(), 1);
  EXPECT_EQ(device.memory_limit_bytes(), 100);
  const v1::SimulationSummary::Resource& link = summary.resources(1);
  EXPECT_EQ(link.kind(), v1::SimulationSummary::Resource::KIND_LINK);
  EXPECT_EQ(link.utilization(), 0.5);
  EXPECT_FALSE(link.has_memory_limit_bytes());
}

TEST(SimulationSummaryTest, SendsOfBothPassesAreOneOperation) {
  PlanSimulation simulation = TwoMilliseconds();
  const Picoseconds millisecond(1'000'000'000);
  simulation.report.resources[1].kinds = {{TaskKind::kSendForward, 3 * millisecond, 2 * millisecond},
                                          {TaskKind::kSendBackward, 2 * millisecond, millisecond}};
  const v1::SimulationSummary summary = EncodeSummary(simulation, 1);
  ASSERT_EQ(summary.resources(1).operation_times_size(), 1);
  EXPECT_EQ(summary.resources(1).operation_times(0).operation(), "send");
  EXPECT_EQ(summary.resources(1).operation_times(0).busy_ms(), 5);
  EXPECT_EQ(summary.resources(1).operation_times(0).added_by_contention_ms(), 3);
}

TEST(SimulationSummaryTest, AStepWithoutTimeHasNoRate) {
  PlanSimulation simulation = TwoMilliseconds();
  simulation.report.step_time = Picoseconds(0);
  EXPECT_EQ(EncodeSummary(simulation, 3).micro_batches_per_second(), 0);
  EXPECT_EQ(EncodeSummary(simulation, 3).samples_per_second(), 0);
}

TEST(SimulatedTaskTest, SaysWhatRunsWhereAndWhen) {
  v1::SimulatedTask task;
  EncodeTask(TwoMilliseconds(), 1, task);
  EXPECT_EQ(task.name(), "0B1");
  EXPECT_EQ(task.operation(), "backward");
  EXPECT_EQ(task.stage(), 0);
  EXPECT_EQ(task.micro_batch(), 1);
  EXPECT_EQ(task.resource(), 0);
  EXPECT_EQ(task.start_ms(), 1);
  EXPECT_EQ(task.end_ms(), 2);
  EXPECT_EQ(task.memory_at_start_bytes(), 0);
  EXPECT_EQ(task.memory_at_end_bytes(), -7);
}

TEST(SimulationSettingsTest, ContentionAndCollectivesAreRead) {
  const auto request = Wire<v1::SimulatePlanRequest>(R"pb(
    contention: CONTENTION_FAIR_SHARE
    collectives: COLLECTIVES_ON_LINKS
  )pb");
  Violations violations;
  const SimulationSettings settings = Decode(request, violations);
  EXPECT_TRUE(violations.empty());
  EXPECT_EQ(settings.contention, Contention::kFairShare);
  EXPECT_EQ(settings.collectives, Collectives::kOnLinks);
  v1::SimulatePlanRequest unknown;
  unknown.set_collectives(static_cast<v1::SimulatePlanRequest::Collectives>(9));
  EXPECT_THAT(PathsOf(unknown), ElementsAre("collectives"));
}

// A stage sends, then exchanges beside nothing, over a link that is too narrow.
TEST(SimulationEncodingTest, SaysWhatTasksUseAndWhatResourcesSpend) {
  PlanSimulation simulation;
  simulation.settings.schedule = ScheduleKind::kOneFOneB;
  simulation.settings.micro_batches = 1;
  simulation.settings.recomputation = MemoryModel::Recomputation::kNone;
  simulation.settings.contention = Contention::kFairShare;
  simulation.settings.collectives = Collectives::kOnLinks;
  simulation.step_without_contention = Picoseconds(2'000'000'000);
  simulation.layers_per_task = 3;
  simulation.list.resources = {{"stage", TaskResource::Kind::kDevice, 0}, {"port", TaskResource::Kind::kLink, 0}};
  simulation.list.order = {{0, 1}, {}};
  simulation.list.link_uses = {{{1, 2.0}}};
  for (const TaskKind kind : {TaskKind::kSendForward, TaskKind::kTensorExchange}) {
    Task& task = simulation.list.tasks.emplace_back();
    task.kind = kind;
    task.duration = Picoseconds(1'000'000'000);
  }
  simulation.list.tasks[1].link_uses = 0;
  simulation.timeline = SimulateFlows(simulation.list);
  simulation.report = ReportOn(simulation.list, simulation.timeline);
  simulation.memory_limits.resize(2);
  const v1::SimulationSummary summary = EncodeSummary(simulation, 1);
  EXPECT_EQ(summary.collectives(), v1::SimulatePlanRequest::COLLECTIVES_ON_LINKS);
  EXPECT_EQ(summary.step_time_without_contention_ms(), 2);
  EXPECT_EQ(summary.step_time_ms(), 3);
  EXPECT_EQ(summary.layers_per_task(), 3);
  ASSERT_EQ(summary.resources(0).operation_times_size(), 2);
  EXPECT_EQ(summary.resources(0).operation_times(0).operation(), "send");
  EXPECT_EQ(summary.resources(0).operation_times(1).operation(), "tensor_exchange");
  EXPECT_EQ(summary.resources(0).operation_times(1).busy_ms(), 2);
  EXPECT_EQ(summary.resources(0).operation_times(1).added_by_contention_ms(), 1);
  ASSERT_EQ(summary.resources(1).operation_times_size(), 1);
  v1::SimulatedTask task;
  EncodeTask(simulation, 1, task);
  EXPECT_EQ(task.name(), "0TENSOR0");
  EXPECT_THAT(task.links(), ElementsAre(1));
}

}  // namespace
}  // namespace planwright::server
