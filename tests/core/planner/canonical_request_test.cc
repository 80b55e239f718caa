#include "core/planner/canonical_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/cost/plan_costing.h"
#include "core/cost/terms/cost_table.h"
#include "tests/support/builders.h"
#include "tests/support/mode_instance.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> NamesOf(const OperatorGraph& graph) {
  std::vector<std::string> names;
  for (const Operator& op : graph.operators) names.push_back(op.name);
  return names;
}

ResolvedProblem Resolved(const OperatorGraph& graph) { return ResolveProblem(graph, PlanningProblem()); }

// "in" -> "stem" -> two branches of different cost -> "join", which also reads "mask". Listed in the order of `names`.
OperatorGraph Branches(const std::vector<std::string>& names) {
  OperatorGraph graph;
  const auto cost = [](const std::string& name) { return name == "long1" ? 7 : 5; };
  for (const std::string& name : names) AddOperator(graph, name, cost(name), 100);
  const auto find = [&](const std::string& name) {
    return OperatorId(static_cast<std::size_t>(std::ranges::find(names, name) - names.begin()));
  };
  const auto connect = [&](const std::string& from, const std::string& to) {
    AddTensor(graph, find(from), {find(to)}, 1);
  };
  connect("in", "stem");
  connect("stem", "long1");
  connect("long1", "long2");
  connect("long2", "join");
  connect("stem", "short");
  connect("short", "join");
  connect("mask", "join");
  return graph;
}

TEST(CanonicalRequestTest, FollowsTheLongestBranchAndPutsInputsBeforeTheirReader) {
  const OperatorGraph graph = Branches({"mask", "join", "short", "long2", "in", "long1", "stem"});
  const CanonicalRequest canonical(graph, MakeCluster(2, 0), Resolved(graph));
  EXPECT_THAT(NamesOf(canonical.graph()), ElementsAre("in", "stem", "long1", "long2", "short", "mask", "join"));
}

TEST(CanonicalRequestTest, DependsOnNoOrderOfTheInput) {
  const OperatorGraph first = Branches({"in", "mask", "stem", "long1", "long2", "short", "join"});
  const OperatorGraph second = Branches({"join", "short", "long2", "long1", "stem", "in", "mask"});
  const Cluster cluster = MakeCluster(2, 0);
  for (const int64_t variant : {0, 1, 2}) {
    const CanonicalRequest a(first, cluster, Resolved(first), variant);
    const CanonicalRequest b(second, cluster, Resolved(second), variant);
    EXPECT_EQ(NamesOf(a.graph()), NamesOf(b.graph())) << variant;
  }
}

// Names are the last resort, and other names may sort otherwise: what costs less must not change its place for that.
TEST(CanonicalRequestTest, LooksAtStructureBeforeNames) {
  const auto order = [](const std::string& cheap, const std::string& dear) {
    OperatorGraph graph;
    AddOperator(graph, cheap, 1, 1);
    AddOperator(graph, dear, 2, 2);
    const CanonicalRequest canonical(graph, MakeCluster(1, 0), Resolved(graph));
    return canonical.graph().operators.front().name == cheap;
  };
  EXPECT_EQ(order("a", "b"), order("b", "a"));
}

TEST(CanonicalRequestTest, NumbersDevicesByNameOnlyWhereTheyAreAlike) {
  OperatorGraph graph;
  AddOperator(graph, "a", 1, 1);
  Cluster cluster = MakeCluster(11, 0);
  std::swap(cluster.devices.front(), cluster.devices.back());
  const auto names = [&] {
    std::vector<std::string> result;
    const CanonicalRequest canonical(graph, cluster, Resolved(graph));
    for (const Device& device : canonical.cluster().devices) result.push_back(device.name);
    return result;
  };
  EXPECT_EQ(names().front(), "acc0");
  EXPECT_EQ(names().back(), "acc10");
  cluster.devices[3].reserved_memory_bytes = 1;
  EXPECT_EQ(names().back(), "acc3");
  cluster.interconnect = HierarchyInterconnect{{{11, 1e9, Picoseconds(0)}}};
  EXPECT_EQ(names().front(), "acc10");
}

// Two pairs with fast links, listed crosswise.
TEST(CanonicalRequestTest, PutsNearDevicesNextToEachOther) {
  OperatorGraph graph;
  AddOperator(graph, "a", 1, 1);
  Cluster cluster = MakeCluster(4, 0);
  MatrixInterconnect matrix;
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t b = 0; b < 4; ++b) matrix.bandwidth_bytes_per_second.push_back(a % 2 == b % 2 ? 1e9 : 1e6);
  }
  cluster.interconnect = matrix;
  const CanonicalRequest canonical(graph, cluster, Resolved(graph));
  const auto& renumbered = std::get<MatrixInterconnect>(canonical.cluster().interconnect);
  EXPECT_EQ(renumbered.bandwidth_bytes_per_second[1], 1e9);
  EXPECT_EQ(renumbered.bandwidth_bytes_per_second[4 + 2], 1e6);
  EXPECT_EQ(renumbered.bandwidth_bytes_per_second[8 + 3], 1e9);
}

// Rings included, whose order may be that of the devices.
TEST(CanonicalRequestTest, PlacementsCostTheSameInBothNumberings) {
  for (const InstanceMode mode : {InstanceMode::kContiguous, InstanceMode::kTopology, InstanceMode::kSteps,
                                  InstanceMode::kNonContiguous, InstanceMode::kReplicated}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const Instance instance = MakeModeInstance(mode, seed, 8);
      const ResolvedProblem problem = ResolveProblem(instance.graph, instance.problem);
      const CanonicalRequest canonical(instance.graph, instance.cluster, problem);
      RandomStream random(seed);
      const Placement given = MakeModePlacement(instance, random);
      const CostTable costs(instance.graph, instance.cluster, problem.workload);
      const CostTable canonical_costs(canonical.graph(), canonical.cluster(), problem.workload);
      const Placement renumbered = canonical.ToCanonical(given);
      EXPECT_EQ(CostPlan({instance.graph, instance.cluster, problem, costs}, given).objective,
                CostPlan({canonical.graph(), canonical.cluster(), canonical.problem(), canonical_costs}, renumbered)
                    .objective)
          << Describe(instance);
      EXPECT_EQ(CostPlan({instance.graph, instance.cluster, problem, costs}, canonical.ToGiven(renumbered)).objective,
                CostPlan({instance.graph, instance.cluster, problem, costs}, given).objective);
    }
  }
}

}  // namespace
}  // namespace planwright
