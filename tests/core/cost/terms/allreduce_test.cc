#include <gtest/gtest.h>

#include "core/cost/terms/transfer.h"

namespace planwright {
namespace {

const LinkSpeed kGigabyte{.bandwidth_bytes_per_second = 1e9, .latency = Picoseconds(5)};

TEST(AllReduceTimeTest, RingMovesAllParametersAlmostTwice) {
  EXPECT_EQ(AllReduceTime(1'000, 2, kGigabyte, AllReduce::Factor::kRing), Picoseconds(1'000'000 + 2 * 5));
  EXPECT_EQ(AllReduceTime(1'000, 4, kGigabyte, AllReduce::Factor::kRing), Picoseconds(1'500'000 + 6 * 5));
}

TEST(AllReduceTimeTest, HalfMovesHalfOfThat) {
  EXPECT_EQ(AllReduceTime(1'000, 4, kGigabyte, AllReduce::Factor::kHalf), Picoseconds(750'000 + 6 * 5));
}

TEST(AllReduceTimeTest, RoundsTheExactProductUpOnce) {
  // 7 bytes x 4 / 3 at 3 B/s: 28 / 9 s.
  const LinkSpeed slow{.bandwidth_bytes_per_second = 3};
  EXPECT_EQ(AllReduceTime(7, 3, slow, AllReduce::Factor::kRing), Picoseconds(3'111'111'111'112));
}

TEST(AllReduceTimeTest, OneReplicaHasNobodyToAgreeWith) {
  EXPECT_EQ(AllReduceTime(1'000, 1, {}, AllReduce::Factor::kRing), Picoseconds(0));
}

TEST(RingSpeedTest, TheClosingEdgeCounts) {
  const HierarchyInterconnect levels{
      .levels = {{.fan_out = 2, .bandwidth_bytes_per_second = 8, .latency = Picoseconds(7)},
                 {.fan_out = 2, .bandwidth_bytes_per_second = 4, .latency = Picoseconds(3)}}};
  const Network network{Interconnect(levels)};
  const LinkSpeed inside = RingSpeed(network, {DeviceId(2), DeviceId(3)});
  EXPECT_EQ(inside.bandwidth_bytes_per_second, 8);
  EXPECT_EQ(inside.latency, Picoseconds(7));
  // The slowest edge by bandwidth is not the one of greatest latency.
  const LinkSpeed across = RingSpeed(network, {DeviceId(0), DeviceId(1), DeviceId(2)});
  EXPECT_EQ(across.bandwidth_bytes_per_second, 4);
  EXPECT_EQ(across.latency, Picoseconds(7));
}

}  // namespace
}  // namespace planwright
