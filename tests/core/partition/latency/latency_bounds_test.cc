#include "core/partition/latency/latency_bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "core/cost/terms/cost_table.h"
#include "core/partition/latency/latency_feasibility.h"
#include "tests/core/partition/latency/latency_oracle.h"
#include "tests/support/builders.h"

namespace planwright {
namespace {

int64_t ValueOf(const std::string& method, const LatencyInstance& instance) {
  for (const Bound& bound : LatencyBounds(instance, SolveLimits())) {
    if (bound.method == method) return bound.value.count();
  }
  ADD_FAILURE() << "no bound " << method;
  return -1;
}

// Four operators in a row of 10 ps and 4 bytes, 100 ps on CPUs; tensors of 3, 1 and 2 ps.
OperatorGraph Chain() {
  OperatorGraph graph;
  for (const char* name : {"a", "b", "c", "d"}) {
    const OperatorId op = AddOperator(graph, name, 10, 100);
    graph.operators[op.index()].memory_bytes = 4;
  }
  AddTensor(graph, OperatorId(0), {OperatorId(1)}, 3);
  AddTensor(graph, OperatorId(1), {OperatorId(2)}, 1);
  AddTensor(graph, OperatorId(2), {OperatorId(3)}, 2);
  return graph;
}

TEST(LatencyBoundsTest, TheCriticalPathTakesTheFastestPlaces) {
  OperatorGraph graph = Chain();
  EXPECT_EQ(ValueOf("critical_path", BuildForLatency(graph, MakeCluster(2, 1))), 40);
  graph.operators[1].costs[1].forward = Picoseconds(4);
  EXPECT_EQ(ValueOf("critical_path", BuildForLatency(graph, MakeCluster(2, 1))), 34);
}

TEST(LatencyBoundsTest, AcceleratorsShareTheWorkThatCpusAreTooSlowFor) {
  OperatorGraph graph;
  for (int i = 0; i < 6; ++i) AddOperator(graph, std::to_string(i), 10, 100);
  EXPECT_EQ(ValueOf("accelerator_work", BuildForLatency(graph, MakeCluster(2, 1))), 30);
  // A CPU is as fast as sharing.
  graph.operators[0].costs[1].forward = Picoseconds(25);
  EXPECT_EQ(ValueOf("accelerator_work", BuildForLatency(graph, MakeCluster(2, 1))), 25);
}

TEST(LatencyBoundsTest, APathIsCutWhereMemoryForcesItAndTransfersAreShort) {
  // Everything fits.
  EXPECT_EQ(ValueOf("path_cut", BuildForLatency(Chain(), MakeCluster(2, 0, 16))), 40);
  // Two and two: the tensor of 1 ps is paid on both sides.
  EXPECT_EQ(ValueOf("path_cut", BuildForLatency(Chain(), MakeCluster(2, 0, 8))), 42);
  // One operator each.
  EXPECT_EQ(ValueOf("path_cut", BuildForLatency(Chain(), MakeCluster(4, 0, 4))), 40 + 2 * (3 + 1 + 2));
}

TEST(LatencyBoundsTest, APathHasNoMoreSegmentsThanSubgraphs) {
  // One accelerator for one operator, the others on CPUs.
  PlanningProblem problem;
  EXPECT_EQ(ValueOf("path_cut", BuildForLatency(Chain(), MakeCluster(1, 1, 4))), 300 + 10 + 2);
  // Without a limit of subgraphs each may run on it, as far as one path can tell.
  problem.split = Split::kNonContiguous;
  EXPECT_EQ(ValueOf("path_cut", BuildForLatency(Chain(), MakeCluster(1, 1, 4), problem)), 40 + 2 * (3 + 1 + 2));
}

// Two branches between the ends of a path: a subgraph that holds both ends holds and runs both.
TEST(LatencyBoundsTest, ASegmentHoldsWhatIsBetweenItsEnds) {
  OperatorGraph graph;
  for (const char* name : {"a", "b", "c", "d"}) AddOperator(graph, name, 10, 100);
  AddTensor(graph, OperatorId(0), {OperatorId(1), OperatorId(2)}, 50);
  AddTensor(graph, OperatorId(1), {OperatorId(3)}, 50);
  AddTensor(graph, OperatorId(2), {OperatorId(3)}, 50);
  EXPECT_EQ(ValueOf("path_cut", BuildForLatency(graph, MakeCluster(2, 0))), 40);
}

TEST(LatencyBoundsTest, NoBoundExceedsTheLeastLatency) {
  int met = 0;
  int plans = 0;
  for (const int32_t slots_per_pass : {1, 2}) {
    for (uint64_t seed = 0; seed < 150; ++seed) {
      const Instance made = MakeLatencyInstance(seed, slots_per_pass == 1 ? 7 : 5, slots_per_pass);
      const LatencyInstance instance = BuildForLatency(made.graph, made.cluster, made.problem);
      if (FindLatencyShortages(made.graph, made.cluster, instance).has_value()) continue;
      const std::optional<int64_t> least = LeastLatency(instance, slots_per_pass);
      if (!least.has_value()) continue;
      ++plans;
      int64_t best = 0;
      for (const Bound& bound : LatencyBounds(instance, SolveLimits())) {
        EXPECT_LE(bound.value.count(), *least) << bound.method << "\n" << Describe(made);
        best = std::max(best, bound.value.count());
      }
      if (best == *least) ++met;
    }
  }
  EXPECT_GT(plans, 100);
  // They are of some use.
  EXPECT_GT(2 * met, plans);
}

TEST(LatencyBoundsTest, NoPathIsCutWhereASimplerBoundIsEnough) {
  const LatencyInstance instance = BuildForLatency(Chain(), MakeCluster(2, 0));
  EXPECT_EQ(LatencyBounds(instance, SolveLimits(), Picoseconds(40)).size(), 2U);
  EXPECT_EQ(LatencyBounds(instance, SolveLimits(), Picoseconds(41)).size(), 3U);
}

TEST(LatencyBoundsTest, APathThatTakesTooManyStepsIsGivenUp) {
  OperatorGraph graph;
  for (std::size_t i = 0; i < 3000; ++i) {
    AddOperator(graph, std::to_string(i), 1, 1);
    if (i > 0) AddTensor(graph, OperatorId(i - 1), {OperatorId(i)}, 1);
  }
  PlanningProblem problem;
  problem.max_subgraphs_per_device = 2000;
  EXPECT_EQ(ValueOf("path_cut", BuildForLatency(graph, MakeCluster(1, 0), problem)), 0);
  // Without counting subgraphs there are few.
  problem.max_subgraphs_per_device = 3000;
  EXPECT_EQ(ValueOf("path_cut", BuildForLatency(graph, MakeCluster(1, 0), problem)), 3000);
}

TEST(LatencyBoundsTest, StopsWhenTold) {
  const std::stop_source source;
  source.request_stop();
  SolveLimits limits;
  limits.stop = source.get_token();
  EXPECT_EQ(LatencyBounds(BuildForLatency(Chain(), MakeCluster(2, 0)), limits).size(), 2U);
}

}  // namespace
}  // namespace planwright
