#include "client/webhook/review/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/webhook/review/objects.h"

namespace planwright::webhook {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kResource[] = "example.com/chip";

struct Taken {
  JobShape job;
  Demand demand;
};

Taken TakenBy(int pods, int devices) {
  Taken taken{.job = *ReadJob(JobKind::kJob, MakeJob(pods, devices, Json::object())), .demand = {}};
  taken.demand = *DemandOf(taken.job, kResource);
  return taken;
}

TEST(DevicesTest, PacksAsWellAsTheNumberOfPodsAllows) {
  const Pools pools = TestPools();
  const Pool& pool = pools.pools.front();
  EXPECT_THAT(PodsTogether(TakenBy(8, 8).demand, pool), ElementsAre(2, 8));
  EXPECT_THAT(PodsTogether(TakenBy(7, 8).demand, pool), ElementsAre(1, 7));
  // Two pods of a node, so four of a rack; three divide six.
  EXPECT_THAT(PodsTogether(TakenBy(6, 4).demand, pool), ElementsAre(3, 6));
}

TEST(DevicesTest, MakesAHostOfEveryPod) {
  const Pools pools = TestPools();
  const v1::Cluster cluster = ClusterFor(TakenBy(8, 8).demand, pools.pools.front());
  EXPECT_EQ(cluster.device_groups(0).count(), 64);
  EXPECT_EQ(cluster.device_groups(0).hosts_size(), 8);
  ASSERT_EQ(cluster.interconnect().hierarchy().levels_size(), 3);
  EXPECT_EQ(cluster.interconnect().hierarchy().levels(0).fan_out(), 8);
  EXPECT_EQ(cluster.interconnect().hierarchy().levels(1).fan_out(), 2);
  EXPECT_EQ(cluster.interconnect().hierarchy().levels(2).fan_out(), 4);
  EXPECT_EQ(cluster.interconnect().hierarchy().levels(2).bandwidth_bytes_per_second(), 25e9);
}

TEST(DevicesTest, IsUniformWhereOneLevelIsLeft) {
  const Pools pools = TestPools();
  const v1::Cluster one_node = ClusterFor(TakenBy(1, 8).demand, pools.pools.front());
  EXPECT_EQ(one_node.interconnect().uniform().bandwidth_bytes_per_second(), 100e9);
  const v1::Cluster one_each = ClusterFor(TakenBy(7, 1).demand, pools.pools.front());
  EXPECT_EQ(one_each.interconnect().uniform().bandwidth_bytes_per_second(), 50e9);
  const v1::Cluster one_device = ClusterFor(TakenBy(1, 1).demand, pools.pools.front());
  EXPECT_TRUE(one_device.interconnect().has_uniform());
}

TEST(DevicesTest, LeavesReservedMemoryAlone) {
  Pools pools = TestPools();
  pools.pools.front().reserved_memory_bytes = int64_t{6} << 30;
  EXPECT_EQ(ClusterFor(TakenBy(1, 1).demand, pools.pools.front()).device_classes(0).memory_bytes(), int64_t{10} << 30);
}

TEST(DevicesTest, RefusesTemplatesThatDifferAndCountsWithoutEnd) {
  JobShape job = TakenBy(2, 4).job;
  job.sets.push_back(TakenBy(1, 2).job.sets.front());
  EXPECT_THAT(DemandOf(job, kResource).status().message(), HasSubstr("different numbers"));
  const JobShape none = *ReadJob(JobKind::kJob, MakeJob(1, 0, Json::object()));
  EXPECT_THAT(DemandOf(none, kResource).status().message(), HasSubstr("no pod asks"));
  const JobShape endless = *ReadJob(JobKind::kJob, MakeJob(1 << 30, 8, Json::object()));
  EXPECT_THAT(DemandOf(endless, kResource).status().message(), HasSubstr("more than 16384"));
}

}  // namespace
}  // namespace planwright::webhook
