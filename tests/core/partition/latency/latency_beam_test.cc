
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/limits.h"
#include "core/cost/terms/cost_table.h"
#include "core/partition/latency/latency_starts.h"
#include "core/partition/latency/subgraph_schedule.h"
#include "tests/core/partition/latency/latency_oracle.h"
#include "tests/support/random_instance.h"

namespace planwright {
namespace {

constexpr int64_t kPlenty = 1'000'000'000;

LatencyInstance BuildForBeam(const Instance& made) {
  PlanningProblem problem = made.problem;
  problem.objective = Objective::kMinLatency;
  const ResolvedProblem resolved = ResolveProblem(made.graph, problem);
  return BuildLatencyInstance(
      {made.graph, made.cluster, resolved, CostTable(made.graph, made.cluster, resolved.workload)});
}

struct Found {
  bool is_plan = false;
  int64_t latency = 0;
};

Found Judge(const LatencyInstance& instance, const LatencyAssignment& assignment) {
  SubgraphSchedule schedule(instance, 1);
  schedule.Load(assignment.places, assignment.sequences);
  const int64_t latency = schedule.Latency();
  return {latency != SubgraphSchedule::kCyclic && schedule.loads().MissingBytes() == 0, latency};
}

// What runs at the same time can only be quicker than what runs in turn, and the beam is wide enough here.
TEST(LatencyBeamTest, IsNoSlowerThanTheSerialCut) {
  int quicker = 0;
  int best = 0;
  int found = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Instance made = MakeLatencyInstance(seed, 7, 1);
    const LatencyInstance instance = BuildForBeam(made);
    const SolveLimits limits;
    Poller poller(limits);
    const std::vector<LatencyBlock> blocks = LatencyBlocks(instance);
    // On CPUs the vertices of a block count as if they ran in turn.
    if (instance.num_passes > 1 || blocks.size() < instance.operators.size()) continue;
    const std::optional<LatencyAssignment> serial = SerialLatencyStart(instance, 1, blocks, poller);
    int64_t work = 0;
    const std::optional<LatencyAssignment> beam = BeamLatencyStart(instance, 1, blocks, kPlenty, poller, work);
    ASSERT_EQ(beam.has_value(), serial.has_value()) << Describe(made);
    if (!beam.has_value()) continue;
    ASSERT_GT(work, 0);
    const Found of_beam = Judge(instance, *beam);
    const Found of_serial = Judge(instance, *serial);
    ASSERT_EQ(of_beam.is_plan, of_serial.is_plan) << Describe(made);
    if (!of_beam.is_plan) continue;
    ASSERT_LE(of_beam.latency, of_serial.latency) << Describe(made);
    ++found;
    if (of_beam.latency < of_serial.latency) ++quicker;
    if (of_beam.latency == LeastLatency(instance, 1)) ++best;
  }
  EXPECT_GT(found, 60);
  EXPECT_GE(quicker, 10);
  EXPECT_GT(best, found / 2);
}

// With two passes the beam only mirrors, but what it returns is a plan.
TEST(LatencyBeamTest, MakesPlansForTwoPasses) {
  int found = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Instance made = MakeLatencyInstance(seed, 12, 2);
    const LatencyInstance instance = BuildForBeam(made);
    if (instance.num_passes == 1) continue;
    const SolveLimits limits;
    Poller poller(limits);
    int64_t work = 0;
    const auto beam = BeamLatencyStart(instance, 2, LatencyBlocks(instance), kPlenty, poller, work);
    if (!beam.has_value()) continue;
    SubgraphSchedule schedule(instance, 2);
    schedule.Load(beam->places, beam->sequences);
    ASSERT_NE(schedule.Latency(), SubgraphSchedule::kCyclic) << Describe(made);
    ++found;
  }
  EXPECT_GT(found, 20);
}

TEST(LatencyBeamTest, EndsWhereEvenTheNarrowestBeamIsTooMuchWork) {
  const LatencyInstance instance = BuildForBeam(MakeLatencyInstance(1, 12, 1));
  const SolveLimits limits;
  Poller poller(limits);
  int64_t work = 0;
  EXPECT_FALSE(BeamLatencyStart(instance, 1, LatencyBlocks(instance), 0, poller, work).has_value());
}

}  // namespace
}  // namespace planwright
