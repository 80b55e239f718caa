// How the modes order the costs of one placement.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <variant>

#include "core/base/random.h"
#include "core/cost/plan_costing.h"
#include "tests/support/mode_instance.h"
#include "tests/support/random_instance.h"

namespace planwright {
namespace {

constexpr uint64_t kInstances = 200;

constexpr std::array kOverlaps = {Overlap::kSerial, Overlap::kOverlapped, Overlap::kFullDuplex};

// Calls check(instance, placement) for random instances of every throughput mode.
template <typename Check>
void ForEachPlacement(const Check& check) {
  for (const InstanceMode mode :
       {InstanceMode::kContiguous, InstanceMode::kReplicated, InstanceMode::kHierarchy, InstanceMode::kNonContiguous}) {
    for (uint64_t seed = 0; seed < kInstances && !::testing::Test::HasFailure(); ++seed) {
      const Instance instance = MakeModeInstance(mode, seed, kBruteForceOperators);
      RandomStream random(seed, 3);
      const Placement placement = MakeModePlacement(instance, random);
      SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(instance));
      check(instance, placement);
    }
  }
}

Plan Cost(const Instance& instance, const Placement& placement, Overlap overlap, ScheduleKind schedule) {
  ResolvedProblem problem = ResolveProblem(instance.graph, instance.problem);
  problem.overlap = overlap;
  problem.schedule = schedule;
  const CostTable costs(instance.graph, instance.cluster, problem.workload);
  return CostPlan({instance.graph, instance.cluster, problem, costs}, placement);
}

TEST(ModeOrderTest, MoreOverlapCostsNoMore) {
  ForEachPlacement([](const Instance& instance, const Placement& placement) {
    for (const ScheduleKind schedule : {ScheduleKind::kSteadyState, ScheduleKind::kGpipe}) {
      const Plan serial = Cost(instance, placement, Overlap::kSerial, schedule);
      const Plan overlapped = Cost(instance, placement, Overlap::kOverlapped, schedule);
      const Plan duplex = Cost(instance, placement, Overlap::kFullDuplex, schedule);
      EXPECT_LE(overlapped.objective, serial.objective);
      EXPECT_LE(duplex.objective, overlapped.objective);
    }
  });
}

TEST(ModeOrderTest, GpipeCostsNoLessAndTheSameWhereTheBottleneckIs) {
  int equal = 0;
  ForEachPlacement([&](const Instance& instance, const Placement& placement) {
    for (const Overlap overlap : kOverlaps) {
      const Plan mixed = Cost(instance, placement, overlap, ScheduleKind::kSteadyState);
      const Plan gpipe = Cost(instance, placement, overlap, ScheduleKind::kGpipe);
      EXPECT_GE(gpipe.objective, mixed.objective);
      // One device is the slowest in both passes exactly if its two loads make the objective.
      const bool one_bottleneck = std::any_of(gpipe.devices.begin(), gpipe.devices.end(),
                                              [&](const auto& usage) { return usage.load == gpipe.objective; });
      const bool is_replicated = std::any_of(mixed.stages.begin(), mixed.stages.end(),
                                             [](const Stage& stage) { return stage.replicas.size() > 1; });
      if (!one_bottleneck || is_replicated || overlap != Overlap::kSerial) continue;
      EXPECT_EQ(gpipe.objective, mixed.objective);
      ++equal;
    }
  });
  EXPECT_GT(equal, 100);
}

TEST(ModeOrderTest, InferenceKnowsNoSecondPhase) {
  ForEachPlacement([](Instance instance, const Placement& placement) {
    instance.problem.workload = Workload::kInference;
    for (const Overlap overlap : kOverlaps) {
      EXPECT_EQ(Cost(instance, placement, overlap, ScheduleKind::kGpipe).objective,
                Cost(instance, placement, overlap, ScheduleKind::kSteadyState).objective);
    }
  });
}

TEST(ModeOrderTest, TwiceTheBandwidthOfAHierarchyCostsNoMore) {
  int hierarchies = 0;
  ForEachPlacement([&](Instance instance, const Placement& placement) {
    auto* hierarchy = std::get_if<HierarchyInterconnect>(&instance.cluster.interconnect);
    if (hierarchy == nullptr) return;
    ++hierarchies;
    const Plan slow = Cost(instance, placement, Overlap::kSerial, ScheduleKind::kSteadyState);
    for (HierarchyInterconnect::Level& level : hierarchy->levels) level.bandwidth_bytes_per_second *= 2;
    const Plan fast = Cost(instance, placement, Overlap::kSerial, ScheduleKind::kSteadyState);
    EXPECT_LE(fast.objective, slow.objective);
  });
  EXPECT_GT(hierarchies, 100);
}

// Stages of one device report parts of what the device pays.
TEST(ModeOrderTest, StagesOfADeviceAddUp) {
  ForEachPlacement([](const Instance& instance, const Placement& placement) {
    const Plan plan = Cost(instance, placement, Overlap::kSerial, ScheduleKind::kSteadyState);
    for (const DeviceUsage& usage : plan.devices) {
      // Replicas of several stages round their share, and reduce, once for all of them.
      const bool is_replicated = !usage.stages.empty() && plan.stages[usage.stages.front().index()].replicas.size() > 1;
      if (is_replicated && usage.stages.size() > 1) continue;
      Picoseconds sum{0};
      for (const StageId id : usage.stages) {
        for (const Replica& replica : plan.stages[id.index()].replicas) {
          if (replica.device == usage.device) sum += replica.load;
        }
      }
      EXPECT_EQ(sum, usage.load);
    }
  });
}

}  // namespace
}  // namespace planwright
