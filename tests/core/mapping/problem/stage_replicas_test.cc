#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/mapping/problem/mapping_instance.h"

namespace planwright {
namespace {

using Meetings = std::vector<std::pair<std::size_t, std::size_t>>;

Meetings MeetingsOf(const StageReplicas& replicas, int32_t a, int32_t b) {
  Meetings meetings;
  replicas.ForEachMeeting(a, b, [&](std::size_t first, std::size_t second) { meetings.emplace_back(first, second); });
  return meetings;
}

TEST(StageReplicasTest, NumbersEqualOnesReplicaByReplica) {
  const StageReplicas replicas(3, 2);
  EXPECT_TRUE(replicas.are_equal());
  EXPECT_EQ(replicas.num_vertices(), 6U);
  for (std::size_t vertex = 0; vertex < 6; ++vertex) {
    EXPECT_EQ(replicas.StageOf(vertex), static_cast<int32_t>(vertex % 3));
    EXPECT_EQ(replicas.ReplicaOf(vertex), static_cast<int32_t>(vertex / 3));
    EXPECT_EQ(replicas.VertexOf(replicas.StageOf(vertex), replicas.ReplicaOf(vertex)), vertex);
  }
  EXPECT_EQ(MeetingsOf(replicas, 0, 2), (Meetings{{0, 2}, {3, 5}}));
}

// Replica by replica: those of the stages 0, 1 and 2, then 1 and 2, then 2 alone.
TEST(StageReplicasTest, LeavesOutReplicasThatAStageHasNot) {
  const StageReplicas replicas({1, 2, 4});
  EXPECT_FALSE(replicas.are_equal());
  EXPECT_EQ(replicas.num_vertices(), 7U);
  const std::vector<int32_t> stages = {0, 1, 2, 1, 2, 2, 2};
  for (std::size_t vertex = 0; vertex < 7; ++vertex) {
    EXPECT_EQ(replicas.StageOf(vertex), stages[vertex]);
    EXPECT_EQ(replicas.VertexOf(replicas.StageOf(vertex), replicas.ReplicaOf(vertex)), vertex);
  }
  EXPECT_EQ(replicas.BeforeStage(2), 3U);
}

// Micro-batch n runs on replica n mod R.
TEST(StageReplicasTest, ThoseMeetThatHaveAMicroBatchInCommon) {
  const StageReplicas replicas(std::vector<int32_t>{4, 6});
  std::vector<std::vector<bool>> meet(replicas.num_vertices(), std::vector<bool>(replicas.num_vertices()));
  for (int32_t n = 0; n < 24; ++n) meet[replicas.VertexOf(0, n % 4)][replicas.VertexOf(1, n % 6)] = true;
  int64_t expected = 0;
  for (const std::vector<bool>& row : meet) expected += std::count(row.begin(), row.end(), true);
  const Meetings meetings = MeetingsOf(replicas, 0, 1);
  EXPECT_EQ(static_cast<int64_t>(meetings.size()), expected);
  for (const auto& [a, b] : meetings) EXPECT_TRUE(meet[a][b]);
}

}  // namespace
}  // namespace planwright
