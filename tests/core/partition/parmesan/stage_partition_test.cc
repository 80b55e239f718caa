#include "core/partition/parmesan/stage_partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "tests/core/partition/block_oracle.h"
#include "tests/support/builders.h"
#include "tests/support/random_instance.h"

namespace planwright {
namespace {

constexpr int32_t kDevices = 3;

// Problem number `seed` for alike accelerators, connected alike.
struct PartitionCase {
  explicit PartitionCase(uint64_t seed)
      : instance(MakeRandomInstance(seed, 8)),
        random(seed),
        problem(Resolve()),
        costs(instance.graph, instance.cluster, problem.workload) {}

  ResolvedProblem Resolve() {
    const std::optional<int64_t> memory = random.Unit() < 0.5 ? std::nullopt : std::optional(random.Between(20, 80));
    instance.cluster = MakeCluster(kDevices, 0, memory);
    instance.cluster.interconnect = UniformInterconnect{1e12, Picoseconds(0)};
    instance.problem = {};
    return ResolveProblem(instance.graph, instance.problem);
  }

  SearchRequest Request() const {
    return {instance.graph, instance.cluster, problem, costs, options, Algorithm::kParmesan, {}};
  }

  Instance instance;
  RandomStream random;
  ResolvedProblem problem;
  CostTable costs;
  SolverOptions options;
};

BlockSet SetOf(const BlockInstance& blocks, const std::vector<OperatorId>& operators) {
  BlockSet set = 0;
  for (std::size_t block = 0; block < blocks.operators.size(); ++block) {
    const bool holds = std::binary_search(operators.begin(), operators.end(), blocks.operators[block].front());
    if (holds) set |= BlockSet{1} << block;
  }
  return set;
}

// The largest load of its stages with every tensor counted once, as the dynamic program does.
int64_t PaidOnce(const BlockInstance& blocks, const StagePartition& partition) {
  int64_t load = 0;
  for (const auto& stage : partition.stages) load = std::max(load, NaiveLoad(blocks, 0, SetOf(blocks, stage)));
  return load;
}

void ExpectValid(const BlockInstance& blocks, const StagePartition& partition, int32_t stages) {
  ASSERT_EQ(partition.stages.size(), Index(stages));
  BlockSet before = 0;
  for (const auto& stage : partition.stages) {
    EXPECT_FALSE(stage.empty());
    const BlockSet set = SetOf(blocks, stage);
    EXPECT_EQ(before & set, 0U);
    EXPECT_TRUE(NaiveFits(blocks, 0, set));
    before |= set;
    EXPECT_TRUE(IsIdeal(blocks, before));
  }
  EXPECT_EQ(before, FullSet(blocks));
}

TEST(StagePartitionerTest, MatchesBruteForceWithoutClustersAndRefinement) {
  TaskArena arena(1);
  int solved = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    const PartitionCase given(seed);
    const UniformLinksProblem flat =
        WithUniformLinks(given.Request(), ConsumerCharge::kPerStage, AssumedSpeed::kMedian);
    PartitionOptions options;
    options.refinement_steps = 0;
    const StagePartitioner partitioner(flat, given.problem, options, SolveLimits());
    const BlockInstance& blocks = partitioner.blocks();
    if (blocks.num_blocks() == 0) continue;
    int64_t best = std::numeric_limits<int64_t>::max();
    for (int32_t stages = 1; stages <= std::min(kDevices, blocks.num_blocks()); ++stages) {
      const auto partition = partitioner.Partition({1, {stages}}, 1'000'000, SolveLimits(), arena);
      if (!partition.has_value()) continue;
      ExpectValid(blocks, *partition, stages);
      best = std::min(best, PaidOnce(blocks, *partition));
    }
    const std::optional<int64_t> optimum = NaiveOptimum(blocks);
    ASSERT_EQ(best, optimum.value_or(std::numeric_limits<int64_t>::max())) << seed;
    solved += optimum.has_value() ? 1 : 0;
  }
  EXPECT_GT(solved, 150);
}

TEST(StagePartitionerTest, RefinementNeverWorsens) {
  TaskArena arena(1);
  int better = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const PartitionCase given(seed);
    const UniformLinksProblem flat =
        WithUniformLinks(given.Request(), ConsumerCharge::kPerStage, AssumedSpeed::kMedian);
    PartitionOptions options;
    options.clustering.max_clusters = 4;
    const StagePartitioner refining(flat, given.problem, options, SolveLimits());
    options.refinement_steps = 0;
    const StagePartitioner plain(flat, given.problem, options, SolveLimits());
    for (int32_t stages = 1; stages <= std::min(kDevices, plain.num_clusters()); ++stages) {
      const auto before = plain.Partition({1, {stages}}, 0, SolveLimits(), arena);
      const auto after = refining.Partition({1, {stages}}, 0, SolveLimits(), arena);
      ASSERT_EQ(before.has_value(), after.has_value());
      if (!before.has_value()) continue;
      ExpectValid(refining.blocks(), *after, stages);
      EXPECT_LE(after->predicted, before->predicted);
      better += after->predicted < before->predicted ? 1 : 0;
    }
  }
  EXPECT_GT(better, 10);
}

}  // namespace
}  // namespace planwright
