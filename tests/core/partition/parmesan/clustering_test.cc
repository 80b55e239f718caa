#include "core/partition/parmesan/clustering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <stop_token>
#include <vector>

#include "core/base/index.h"
#include "core/graph/components.h"
#include "tests/core/partition/block_oracle.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;

std::vector<int32_t> ClustersOf(const BlockInstance& instance, int32_t max_clusters, double alpha = 0.001) {
  return ClusterBlocks(instance, {.max_clusters = max_clusters, .alpha = alpha}, SolveLimits());
}

int32_t Count(const std::vector<int32_t>& labels) { return *std::max_element(labels.begin(), labels.end()) + 1; }

bool IsAcyclic(const BlockInstance& instance, const std::vector<int32_t>& labels) {
  std::vector<Digraph::Edge> edges;
  for (const auto& [from, to] : instance.precedence.edges()) {
    if (labels[Index(from)] != labels[Index(to)]) edges.emplace_back(labels[Index(from)], labels[Index(to)]);
  }
  const std::vector<int32_t> components = StronglyConnectedComponents(Digraph(Count(labels), edges));
  return std::set<int32_t>(components.begin(), components.end()).size() == Index(Count(labels));
}

// Blocks 0 - 1 - 2 - 3 with these times.
BlockInstance ChainOf(const std::vector<int64_t>& times) {
  BlockInstance instance = EmptyBlockInstance(static_cast<int32_t>(times.size()));
  std::vector<Digraph::Edge> edges;
  for (int32_t block = 1; block < instance.num_blocks(); ++block) edges.emplace_back(block - 1, block);
  AddEdges(instance, edges);
  AddPool(instance, 2, times);
  return instance;
}

TEST(ClusterBlocksTest, JoinsTheSmallestNeighboursFirst) {
  const BlockInstance instance = ChainOf({4, 3, 2, 9});
  EXPECT_THAT(ClustersOf(instance, 4), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ClustersOf(instance, 3), ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(ClustersOf(instance, 2), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(ClustersOf(instance, 1), ElementsAre(0, 0, 0, 0));
}

TEST(ClusterBlocksTest, CountsTransfersByAlpha) {
  BlockInstance instance = ChainOf({4, 3, 2, 9});
  AddNet(instance, {2, 3}, 1000);
  EXPECT_THAT(ClustersOf(instance, 3, 0), ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(ClustersOf(instance, 3, 0.01), ElementsAre(0, 1, 2, 2));
}

TEST(ClusterBlocksTest, StaysAcyclicAndWithinMemory) {
  RandomStream random(7);
  int reached = 0;
  for (int i = 0; i < 300; ++i) {
    const BlockInstance instance = MakeBlockInstance(
        {.num_blocks = static_cast<int32_t>(random.Between(2, 14)), .constrained = i % 2 == 1}, random);
    const auto most = static_cast<int32_t>(random.Between(1, instance.num_blocks()));
    const std::vector<int32_t> labels = ClustersOf(instance, most);
    ASSERT_TRUE(IsAcyclic(instance, labels)) << i;
    reached += Count(labels) == most ? 1 : 0;
    for (int32_t label = 0; label < Count(labels); ++label) {
      MemorySums sums;
      int64_t workspace = 0;
      std::vector<std::size_t> members;
      for (std::size_t block = 0; block < labels.size(); ++block) {
        if (labels[block] != label) continue;
        members.push_back(block);
        sums.Add(instance.memory, block);
        workspace = std::max(workspace, instance.memory.workspace[block]);
      }
      const int64_t bytes = sums.Total(instance.memory, 0, workspace);
      const auto holds = [&](const DevicePool& pool) {
        return bytes <= pool.memory_bytes.value_or(bytes) &&
               std::all_of(members.begin(), members.end(), [&](std::size_t block) { return pool.supported[block]; });
      };
      ASSERT_TRUE(members.size() == 1 || std::any_of(instance.pools.begin(), instance.pools.end(), holds)) << i;
    }
  }
  EXPECT_GT(reached, 100);
}

TEST(ClusterBlocksTest, LeavesBlocksApartWhenStopped) {
  const std::stop_source stop;
  stop.request_stop();
  SolveLimits limits;
  limits.stop = stop.get_token();
  EXPECT_THAT(ClusterBlocks(ChainOf({4, 3, 2, 9}), {.max_clusters = 1}, limits), ElementsAre(0, 1, 2, 3));
}

}  // namespace
}  // namespace planwright
