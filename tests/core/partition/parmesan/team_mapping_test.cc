#include "core/partition/parmesan/team_mapping.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/index.h"
#include "core/cost/plan_costing.h"
#include "tests/support/builders.h"
#include "tests/support/random_instance.h"

namespace planwright {
namespace {

// Three or four stages in a row, with skips, on seven accelerators whose links differ.
struct Teams {
  explicit Teams(uint64_t seed) {
    RandomStream random(seed);
    const auto stages = static_cast<std::size_t>(random.Between(2, 4));
    instance.cluster = MakeCluster(7, 0);
    MatrixInterconnect matrix{.bandwidth_bytes_per_second = std::vector<double>(49, 0), .latency = Picoseconds(2)};
    for (std::size_t a = 0; a < 7; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const auto bandwidth = 1e11 * static_cast<double>(random.Between(1, 20));
        matrix.bandwidth_bytes_per_second[7 * a + b] = bandwidth;
        matrix.bandwidth_bytes_per_second[7 * b + a] = bandwidth;
      }
    }
    instance.cluster.interconnect = std::move(matrix);
    for (std::size_t i = 0; i < stages; ++i) {
      AddOperator(instance.graph, absl::StrCat("op", i), 1'000'000 * random.Between(1, 9), 1);
      Operator& op = instance.graph.operators.back();
      op.costs[0].backward = Picoseconds(1'000'000 * random.Between(1, 9));
      op.parameter_bytes = 1'000 * random.Between(1, 2'000);
      for (std::size_t j = 0; j < i; ++j) {
        if (j + 1 < i && random.Unit() < 0.5) continue;
        AddTensor(instance.graph, OperatorId(j), {OperatorId(i)}, 0, 1'000 * random.Between(1, 2'000));
      }
      partition.stages.push_back({OperatorId(i)});
      partition.classes.emplace_back(0);
      replicas.push_back(1);
    }
    for (int extra = 0; extra < 3; ++extra) ++replicas[random.Below(stages)];
    instance.problem.replication = Replication::kPerStage;
    instance.problem.overlap = static_cast<Overlap>(random.Below(3));
    if (random.Unit() < 0.3) instance.problem.workload = Workload::kInference;
    problem = ResolveProblem(instance.graph, instance.problem);
  }

  Placement On(const std::vector<DeviceId>& devices) const {
    Placement placement;
    std::size_t next = 0;
    for (std::size_t stage = 0; stage < replicas.size(); ++stage) {
      placement.stages.push_back({partition.stages[stage], {}});
      for (int32_t replica = 0; replica < replicas[stage]; ++replica)
        placement.stages[stage].devices.push_back(devices[next++]);
    }
    return placement;
  }

  Instance instance;
  ResolvedProblem problem;
  StagePartition partition;
  std::vector<int32_t> replicas;
};

std::vector<DeviceId> AllDevices() {
  std::vector<DeviceId> devices;
  for (std::size_t i = 0; i < 7; ++i) devices.emplace_back(i);
  return devices;
}

TEST(TeamMappingTest, CountsWhatCoreCostCounts) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const Teams teams(seed);
    const auto& [graph, cluster, posed] = teams.instance;
    const ResolvedProblem& problem = teams.problem;
    const CostTable costs(graph, cluster, problem.workload);
    const SolverOptions options;
    const SearchRequest request{graph, cluster, problem, costs, options, Algorithm::kParmesan, {}};
    const TeamMapping mapping(request, teams.partition, teams.replicas);
    std::vector<DeviceId> devices = AllDevices();
    RandomStream random(seed, 1);
    for (std::size_t i = 6; i > 0; --i) std::swap(devices[i], devices[random.Below(i + 1)]);
    const Placement placement = teams.On(devices);
    const Picoseconds exact = CostPlan({graph, cluster, problem, costs}, placement).objective;
    // Rounded up a few times.
    EXPECT_NEAR(mapping.ValueMs(placement) * 1e9, static_cast<double>(exact.count()), 40) << seed;
  }
}

TEST(TeamMappingTest, FindsTheBestDevices) {
  int best = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const Teams teams(seed);
    const auto& [graph, cluster, posed] = teams.instance;
    const ResolvedProblem& problem = teams.problem;
    const CostTable costs(graph, cluster, problem.workload);
    const SolverOptions options;
    const SearchRequest request{graph, cluster, problem, costs, options, Algorithm::kParmesan, {}};
    TeamMapping mapping(request, teams.partition, teams.replicas);
    std::vector<DeviceId> devices = AllDevices();
    double least = mapping.ValueMs(teams.On(devices));
    while (std::next_permutation(devices.begin(), devices.end())) {
      least = std::min(least, mapping.ValueMs(teams.On(devices)));
    }
    const std::optional<Placement> found = mapping.Find(SolveLimits());
    ASSERT_TRUE(found.has_value());
    EXPECT_LE(mapping.ValueMs(*found), 1.05 * least) << seed;
    best += mapping.ValueMs(*found) <= least * (1 + 1e-9) ? 1 : 0;
  }
  EXPECT_GE(best, 10);
}

// Two stages of two on devices of 8, 4, 4 and 8 bytes, where one needs 8.
TEST(TeamMappingTest, LeavesTheLargestDevicesToThoseThatNeedThem) {
  Teams teams(1);
  Instance& instance = teams.instance;
  instance.graph = {};
  for (int i = 0; i < 2; ++i) {
    AddOperator(instance.graph, absl::StrCat("op", i), 1000, 1);
    instance.graph.operators.back().memory_bytes = i == 0 ? 2 : 8;
  }
  AddTensor(instance.graph, OperatorId(0), {OperatorId(1)}, 0, 1);
  instance.cluster = MakeCluster(4, 0);
  instance.cluster.interconnect = UniformInterconnect{1e12, Picoseconds(0)};
  instance.cluster.device_classes[0].memory_bytes = 8;
  for (const std::size_t small : {1, 2}) instance.cluster.devices[small].reserved_memory_bytes = 4;
  instance.problem = {};
  instance.problem.replication = Replication::kPerStage;
  teams.problem = ResolveProblem(instance.graph, instance.problem);
  teams.partition.stages = {{OperatorId(0)}, {OperatorId(1)}};
  teams.partition.classes = {DeviceClassId(0), DeviceClassId(0)};
  const CostTable costs(instance.graph, instance.cluster, teams.problem.workload);
  const SolverOptions options;
  const SearchRequest request{
      instance.graph, instance.cluster, teams.problem, costs, options, Algorithm::kParmesan, {}};
  std::optional<Placement> found = TeamMapping(request, teams.partition, {2, 2}).Find(SolveLimits());
  ASSERT_TRUE(found.has_value());
  std::ranges::sort(found->stages[1].devices);
  EXPECT_EQ(found->stages[1].devices, (std::vector<DeviceId>{DeviceId(0), DeviceId(3)}));
  EXPECT_FALSE(TeamMapping(request, teams.partition, {1, 3}).Find(SolveLimits()).has_value());
}

}  // namespace
}  // namespace planwright
