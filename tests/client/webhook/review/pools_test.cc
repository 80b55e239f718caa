#include "client/webhook/review/pools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/client/webhook/review/objects.h"

namespace planwright::webhook {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string ErrorOfPools(const std::string& text) { return std::string(ParsePools(text, "pools").status().message()); }

TEST(PoolsTest, ReadsNumbersWithTheirUnits) {
  const Pools pools = TestPools();
  ASSERT_THAT(pools.pools, SizeIs(1));
  const Pool& pool = pools.pools.front();
  EXPECT_EQ(pool.resource, "example.com/chip");
  EXPECT_EQ(pool.device_class.memory_bytes(), int64_t{16} << 30);
  EXPECT_EQ(pool.nodes, 8);
  EXPECT_EQ(pool.max_nodes, 8);
  EXPECT_EQ(pool.inside.bytes_per_second, 100e9);
  EXPECT_EQ(pool.levels[0].link.bytes_per_second, 50e9);
  EXPECT_EQ(pool.levels[0].nodes, 2);
  EXPECT_EQ(pool.levels[1].label, "");
  EXPECT_FALSE(pools.IsStale(absl::Now(), absl::Seconds(1)));
}

TEST(PoolsTest, IsEmptyBeforeTheInventoryHasRun) {
  EXPECT_THAT(ParsePools("", "pools")->pools, IsEmpty());
  EXPECT_THAT(ParsePools("pools: []", "pools")->pools, IsEmpty());
}

TEST(PoolsTest, GoesStale) {
  const auto pools = ParsePools("updated: 2026-11-23T09:00:00Z\npools: []\n", "pools");
  ASSERT_TRUE(pools.ok()) << pools.status();
  const absl::Time later = *pools->updated + absl::Hours(2);
  EXPECT_TRUE(pools->IsStale(later, absl::Hours(1)));
  EXPECT_FALSE(pools->IsStale(later, absl::Hours(3)));
}

TEST(PoolsTest, NamesEverythingThatIsWrong) {
  EXPECT_THAT(ErrorOfPools("pools: [{name: a, resource: r, class: h1000, nodes: -1, devices: 8, colour: red}]"),
              AllOf(HasSubstr("pools[0].class"), HasSubstr("did you mean h100?"), HasSubstr("pools[0].nodes"),
                    HasSubstr("pools[0].inside"), HasSubstr("pools[0].levels"), HasSubstr("colour")));
  EXPECT_THAT(ErrorOfPools("updated: yesterday"), HasSubstr("updated: must be a time"));
  EXPECT_THAT(ErrorOfPools("pools: 3"), HasSubstr("pools: must be a list"));
  EXPECT_THAT(ErrorOfPools("- a"), HasSubstr("map"));
  const std::string pool = "{name: a, resource: r, class: h100, nodes: 1, devices: 1, levels: [{bandwidth: 1 GB/s}]}";
  EXPECT_TRUE(ParsePools("pools: [" + pool + "]", "pools").ok());
  EXPECT_THAT(ErrorOfPools("pools: [" + pool + ", " + pool + "]"), HasSubstr("pools[1].name: must be the only one"));
}

TEST(PoolsTest, RefusesLevelsThatShrinkAndQueuesWithoutNamespace) {
  EXPECT_THAT(ErrorOfPools("pools: [{name: a, resource: r, class: h100, nodes: 9, devices: 1, queues: [gpu], levels: "
                           "[{nodes: 4, bandwidth: 1 GB/s}, {nodes: 2, bandwidth: 1 GB/s}]}]"),
              AllOf(HasSubstr("levels[1].nodes"), HasSubstr("NAMESPACE/NAME")));
}

TEST(PoolsTest, FindsPoolsByNameThenQueueThenSelector) {
  const Pools pools = TestPools();
  EXPECT_THAT(CandidatePools(pools, "chips", "other", "", {}), SizeIs(1));
  EXPECT_THAT(CandidatePools(pools, "unknown", "team-a", "gpu", {}), IsEmpty());
  EXPECT_THAT(CandidatePools(pools, "", "team-a", "gpu", {}), SizeIs(1));
  EXPECT_THAT(CandidatePools(pools, "", "team-b", "gpu", {}), IsEmpty());
  EXPECT_THAT(CandidatePools(pools, "", "team-b", "", {{"pool", "chips"}}), SizeIs(1));
  EXPECT_THAT(CandidatePools(pools, "", "team-b", "", {{"pool", "chips"}, {"zone", "b"}}), IsEmpty());
  EXPECT_THAT(CandidatePools(pools, "", "team-b", "", {}), IsEmpty());
}

}  // namespace
}  // namespace planwright::webhook
