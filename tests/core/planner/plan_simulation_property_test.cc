// Simulations of random placements in every mode: they run or are refused with a reason, and agree with the cost model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <string>

#include "core/base/violations.h"
#include "core/cost/plan_costing.h"
#include "core/cost/terms/cost_table.h"
#include "core/planner/plan_simulation.h"
#include "tests/support/mode_instance.h"

namespace planwright {
namespace {

constexpr int32_t kMicroBatches = 5;
constexpr ScheduleKind kSchedules[] = {
    ScheduleKind::kGpipe,   ScheduleKind::kOneFOneB,     ScheduleKind::kPipedreamAsync, ScheduleKind::kInterleaved,
    ScheduleKind::kChimera, ScheduleKind::kZeroBubbleH1, ScheduleKind::kPeriodic};

absl::StatusOr<PlanSimulation> Simulate(const Instance& instance, const Placement& placement, ScheduleKind schedule,
                                        Contention contention) {
  SimulationSettings settings;
  settings.schedule = schedule;
  settings.micro_batches = kMicroBatches;
  settings.contention = contention;
  settings.recomputation = MemoryModel::Recomputation::kNone;
  const SolverOptions options;
  return SimulatePlacement({instance.graph, instance.cluster, instance.problem, options}, ModelLimits(), placement,
                           settings);
}

// What each device does, by name.
std::map<std::string, Picoseconds> BusyTimes(const PlanSimulation& simulation) {
  std::map<std::string, Picoseconds> busy;
  for (std::size_t i = 0; i < simulation.list.resources.size(); ++i) {
    const TaskResource& resource = simulation.list.resources[i];
    if (resource.kind == TaskResource::Kind::kDevice) busy[resource.name] = simulation.report.resources[i].busy;
  }
  return busy;
}

TEST(PlanSimulationPropertyTest, EveryPlacementRunsOrIsRefusedWithAReason) {
  std::map<ScheduleKind, int> runs;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const auto mode = static_cast<InstanceMode>(seed % 4);
    const Instance instance = MakeModeInstance(mode, seed, 10);
    RandomStream random(seed);
    const Placement placement = MakeModePlacement(instance, random);
    for (const ScheduleKind schedule : kSchedules) {
      for (const Contention contention : {Contention::kExclusive, Contention::kFairShare}) {
        const auto simulation = Simulate(instance, placement, schedule, contention);
        if (!simulation.ok()) {
          EXPECT_FALSE(ViolationsOf(simulation.status()).empty()) << seed << simulation.status();
          continue;
        }
        ++runs[schedule];
        EXPECT_EQ(simulation->timeline.sequence.size(), simulation->list.tasks.size());
        for (const Precedence& precedence : simulation->list.precedences) {
          ASSERT_LE(simulation->timeline.ends[static_cast<std::size_t>(precedence.before)],
                    simulation->timeline.starts[static_cast<std::size_t>(precedence.after)])
              << seed;
        }
      }
    }
  }
  // None of the placements deals its stages out in turn.
  EXPECT_EQ(runs.count(ScheduleKind::kInterleaved), 0U);
  EXPECT_EQ(runs.size(), std::size(kSchedules) - 1);
}

TEST(PlanSimulationPropertyTest, SerialDevicesAreBusyForTheirLoads) {
  int compared = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const auto mode = seed % 2 == 0 ? InstanceMode::kContiguous : InstanceMode::kNonContiguous;
    Instance instance = MakeModeInstance(mode, seed, 10);
    instance.problem.overlap = Overlap::kSerial;
    instance.problem.schedule = ScheduleKind::kSteadyState;
    instance.problem.replication = Replication::kNone;
    RandomStream random(seed);
    const Placement placement = MakeModePlacement(instance, random);
    const auto simulation = Simulate(instance, placement, ScheduleKind::kOneFOneB, Contention::kExclusive);
    const SolverOptions options;
    const auto verdict =
        EvaluatePlacement({instance.graph, instance.cluster, instance.problem, options}, ModelLimits(), placement);
    ASSERT_TRUE(verdict.ok()) << seed << verdict.status();
    if (!simulation.ok() || !verdict->costed.has_value()) continue;
    const std::map<std::string, Picoseconds> busy = BusyTimes(*simulation);
    for (const DeviceUsage& usage : verdict->costed->devices) {
      if (usage.stages.empty()) continue;
      EXPECT_EQ(busy.at(instance.cluster.devices[usage.device.index()].name), kMicroBatches * usage.load) << seed;
    }
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

}  // namespace
}  // namespace planwright
