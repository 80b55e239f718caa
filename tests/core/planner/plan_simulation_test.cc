#include "core/planner/plan_simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/violations.h"
#include "tests/support/periodic_example.h"
#include "tests/support/small_models.h"
#include "tests/support/wire.h"

namespace planwright {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// a, b, c and d take 10 ms forward and 20 ms back, and pass on tensors that take no time.
OperatorGraph Line() {
  OperatorGraph graph;
  for (const char* name : {"a", "b", "c", "d"}) graph.operators.push_back(MeasuredOperator(name, 10, 20));
  for (std::size_t i = 0; i < 3; ++i) graph.tensors.push_back(TimedTensor("t" + std::to_string(i), i, {i + 1}, 0));
  for (Operator& op : graph.operators) {
    op.activation_bytes = 1;
    op.parameter_bytes = 0;
  }
  return graph;
}

struct Simulated {
  OperatorGraph graph = Line();
  Cluster cluster = SmallCluster(4, 0, UniformInterconnect{1e9, Picoseconds(0)});
  PlanningProblem problem;
  // Stage i on device devices[i].
  std::vector<std::size_t> devices = {0, 1, 2, 3};
  SimulationSettings settings;

  absl::StatusOr<PlanSimulation> operator()() const {
    Placement placement;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      placement.stages.push_back({.operators = {OperatorId(i)}, .devices = {DeviceId(devices[i])}});
    }
    const SolverOptions options;
    return SimulatePlacement({graph, cluster, problem, options}, ModelLimits(), placement, settings);
  }
  double StepMilliseconds() const { return ToMilliseconds((*this)()->report.step_time); }
  std::vector<std::string> Refusal() const { return Lines(ViolationsOf((*this)().status())); }
};

Simulated Of(ScheduleKind schedule, int32_t micro_batches) {
  Simulated run;
  run.settings.schedule = schedule;
  run.settings.micro_batches = micro_batches;
  return run;
}

TEST(PlanSimulationTest, DefaultsAreOneFOneBWithFourMicroBatchesPerStage) {
  const auto simulation = Simulated()();
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  EXPECT_EQ(simulation->settings.schedule, ScheduleKind::kOneFOneB);
  EXPECT_EQ(simulation->settings.micro_batches, 16);
  EXPECT_EQ(simulation->report.step_time, Milliseconds(int64_t{16 + 3} * 30));
  EXPECT_THAT(simulation->warnings, ElementsAre(HasSubstr("states no schedule")));
}

TEST(PlanSimulationTest, SaysWhatStandsInForAScheduleThatNobodyStates) {
  Simulated run;
  run.problem.memory_model.kind = MemoryModel::Kind::kComponents;
  const auto steady = run();
  ASSERT_TRUE(steady.ok()) << steady.status();
  EXPECT_THAT(
      steady->warnings,
      ElementsAre("the plan states no schedule, so that this is ONE_F_ONE_B with up to 4 micro-batches in flight "
                  "in a stage; the plan's memory counts one, that of the steady state. Name a schedule to run "
                  "another one"));
  run.problem.micro_batches = 12;
  EXPECT_THAT(run()->warnings, ElementsAre(HasSubstr("the plan's memory counts all 12, as GPIPE has")));
  run.problem.schedule = ScheduleKind::kOneFOneB;
  EXPECT_THAT(run()->warnings, IsEmpty());
}

TEST(PlanSimulationTest, InferenceIsAPipelineOfForwardPasses) {
  Simulated run;
  run.problem.workload = Workload::kInference;
  run.settings.micro_batches = 6;
  const auto simulation = run();
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  EXPECT_EQ(simulation->settings.schedule, ScheduleKind::kGpipe);
  EXPECT_EQ(simulation->report.step_time, Milliseconds(int64_t{6 + 3} * 10));
}

TEST(PlanSimulationTest, TheProblemSaysWhatTheRequestDoesNot) {
  Simulated run;
  run.problem.schedule = ScheduleKind::kPipedreamAsync;
  run.problem.micro_batches = 12;
  const auto simulation = run();
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  EXPECT_EQ(simulation->settings.schedule, ScheduleKind::kPipedreamAsync);
  EXPECT_EQ(simulation->settings.micro_batches, 12);
  EXPECT_EQ(simulation->period, Milliseconds(30));
}

TEST(PlanSimulationTest, ChimeraHoldsEachStageTwice) {
  // 4 F + 6 B; nothing to reduce.
  EXPECT_EQ(Of(ScheduleKind::kChimera, 4).StepMilliseconds(), 4 * 10 + 6 * 20);
}

TEST(PlanSimulationTest, InterleavedTakesStagesInTurn) {
  Simulated run = Of(ScheduleKind::kInterleaved, 4);
  run.devices = {0, 1, 0, 1};
  EXPECT_EQ(run.StepMilliseconds(), 4 * 2 * 30 + 1 * 30);
}

TEST(PlanSimulationTest, ZeroBubbleDelaysTheWeights) {
  Simulated run = Of(ScheduleKind::kZeroBubbleH1, 8);
  for (Operator& op : run.graph.operators) op.costs[0].backward_weight = Milliseconds(10);
  EXPECT_EQ(run.StepMilliseconds(), 8 * 30 + 3 * 10);
  EXPECT_THAT((*Of(ScheduleKind::kZeroBubbleH1, 8)()).warnings, Contains(HasSubstr("backward_weight_ms")));
}

TEST(PlanSimulationTest, PeaksAreOneFOneBsInFlightCounts) {
  Simulated run = Of(ScheduleKind::kOneFOneB, 16);
  run.problem.memory_model.kind = MemoryModel::Kind::kComponents;
  const auto simulation = run();
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  std::vector<int64_t> peaks;
  for (std::size_t i = 0; i < 4; ++i) peaks.push_back(simulation->report.resources[i].peak_memory_bytes);
  EXPECT_THAT(peaks, ElementsAre(4, 3, 2, 1));
}

TEST(PlanSimulationTest, APlanThatDoesNotFitIsSimulatedAndSaysSo) {
  Simulated run = Of(ScheduleKind::kGpipe, 16);
  run.cluster = SmallCluster(4, 0, UniformInterconnect{1e9, Picoseconds(0)}, 10);
  run.problem.memory_model.kind = MemoryModel::Kind::kComponents;
  const auto simulation = run();
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  EXPECT_EQ(simulation->memory_limits.front(), 10);
  EXPECT_THAT(simulation->warnings, Contains("acc0 needs 16 bytes at its peak and has 10 bytes: 6 bytes are missing"));
}

TEST(PlanSimulationTest, AGivenOrderThatWaitsForEverIsRefusedWithTheCycle) {
  Simulated run = Of(ScheduleKind::kOneFOneB, 2);
  run.devices = {0, 0, 1, 1};
  const auto order = [](std::size_t device, const std::vector<std::string>& names) {
    SimulationSettings::DeviceOrder given{DeviceId(device), {}};
    for (const std::string& name : names) given.passes.push_back(*ParsePassTask(name));
    return given;
  };
  run.settings.order = {order(0, {"0F0", "0F1", "1F0", "1F1", "1B0", "1B1", "0B0", "0B1"}),
                        order(1, {"2F1", "3F1", "3B1", "2B1", "2F0", "3F0", "3B0", "2B0"})};
  EXPECT_TRUE(run().ok()) << run().status();
  std::swap(run.settings.order[0].passes[0], run.settings.order[0].passes[6]);
  ASSERT_THAT(run.Refusal(), ElementsAre(HasSubstr("order: cannot run: ")));
  EXPECT_THAT(run.Refusal().front(), HasSubstr("0B0"));
  run.settings.order = {order(2, {})};
  EXPECT_THAT(run.Refusal(), ElementsAre("order[0].device: the plan does not use acc2"));
}

TEST(PlanSimulationTest, SettingsThatMakeNoSenseAreRefused) {
  EXPECT_THAT(Of(ScheduleKind::kGpipe, 0).Refusal(), ElementsAre("micro_batches: must be >= 1, is 0"));
  Simulated latency;
  latency.problem.objective = Objective::kMinLatency;
  EXPECT_THAT(latency.Refusal(), ElementsAre(HasSubstr("problem.objective: MIN_LATENCY runs one micro-batch")));
  Simulated odd = Of(ScheduleKind::kChimera, 4);
  odd.devices = {0, 1, 0, 1};
  EXPECT_THAT(odd.Refusal(), ElementsAre(HasSubstr("schedule: CHIMERA needs an even number of stages")));
  Simulated unconnected = Of(ScheduleKind::kChimera, 4);
  unconnected.cluster.interconnect = UniformInterconnect();
  EXPECT_THAT(unconnected.Refusal(), ElementsAre(HasSubstr("the interconnect needs bandwidth_bytes_per_second")));
}

TEST(PlanSimulationTest, APlacementThatCannotRunIsRefusedWithItsViolations) {
  Simulated run;
  run.devices = {0, 1, 2};
  EXPECT_THAT(run.Refusal(), Contains(HasSubstr("plan.stages")));
}

TEST(PlanSimulationTest, PeriodicUnrollsAPatternAtItsPeriod) {
  Simulated run = Of(ScheduleKind::kPeriodic, 20);
  run.problem.overlap = Overlap::kOverlapped;
  const auto simulation = run();
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  EXPECT_EQ(simulation->period, Milliseconds(30));
  EXPECT_EQ(simulation->report.step_time, Milliseconds(int64_t{20 + 3} * 30));
  run.settings.order = {{DeviceId(0), {}}};
  EXPECT_THAT(run.Refusal(), ElementsAre("order: must be empty under PERIODIC, whose pattern is the order"));
}

TEST(PlanSimulationTest, PeriodicTakesAnyNumberOfStagesPerDevice) {
  Simulated run = Of(ScheduleKind::kPeriodic, 20);
  run.problem.overlap = Overlap::kOverlapped;
  run.graph.operators.push_back(run.graph.operators.back());
  run.graph.operators.back().name = "e";
  run.graph.tensors.push_back(TimedTensor("t3", 3, {4}, 0));
  run.devices = {0, 0, 0, 0, 0};
  const auto simulation = run();
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  EXPECT_EQ(simulation->period, Milliseconds(150));
}

TEST(PlanSimulationTest, APatternIsMadeAnewForAnotherRecomputation) {
  const PeriodicExample example;
  SimulationSettings settings;
  settings.recomputation = MemoryModel::Recomputation::kFull;
  const SolverOptions options;
  const auto simulation = SimulatePlacement({example.graph, example.cluster, example.problem, options}, ModelLimits(),
                                            PeriodicExample::Fastest(), settings);
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  EXPECT_EQ(simulation->period, Picoseconds(120));
}

TEST(PlanSimulationTest, StopsWhenNobodyWaits) {
  const std::stop_source stop;
  stop.request_stop();
  SolveLimits limits;
  limits.stop = stop.get_token();
  const Simulated run;
  const SolverOptions options;
  EXPECT_EQ(SimulatePlacement({run.graph, run.cluster, run.problem, options}, ModelLimits(), Placement(), {}, limits)
                .status()
                .code(),
            absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace planwright
