#include "core/joint/cost/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace planwright {
namespace {

constexpr double kMillisecond = 1e9;
constexpr TrainingLink kFast = {100e9, 5'000'000};
constexpr TrainingLink kSlow = {10e9, 10'000'000};
constexpr double kFastLatency = 5e6;
constexpr double kSlowLatency = 10e6;

// A stage of so many devices.
Exchange OnNodesOf(int32_t size, int32_t devices, double efficiency = 1) {
  return Exchange({.device_class = DeviceClassId(0),
                   .degrees = {.data = devices},
                   .crosses_nodes = devices > size,
                   .devices_per_node = size},
                  kFast, kSlow, efficiency);
}

Exchange OnNodesOfEight(bool crosses_nodes, double efficiency = 1) {
  return OnNodesOf(8, crosses_nodes ? 16 : 8, efficiency);
}

TEST(ExchangeTest, ARingInsideANodePassesAllButOneShare) {
  // 7/8 of 1 GB at 100 GB/s.
  EXPECT_NEAR(OnNodesOfEight(true).Ring(1e9, {8, 1}), 8.75 * kMillisecond + kFastLatency, 1);
  EXPECT_NEAR(OnNodesOfEight(false).Ring(1e9, {8, 1}), 8.75 * kMillisecond + kFastLatency, 1);
  EXPECT_EQ(OnNodesOfEight(true).Ring(1e9, {1, 1}), 0);
  EXPECT_EQ(OnNodesOfEight(true).Ring(0, {8, 1}), 0);
}

TEST(ExchangeTest, ARingOfOneRankPerNodeHasOnePort) {
  // Half of 1 GB at 10 GB/s.
  EXPECT_NEAR(OnNodesOfEight(true).Ring(1e9, {2, 8}), 50 * kMillisecond + kSlowLatency, 1);
}

TEST(ExchangeTest, ARingOfManyRanksPerNodeHasTheirPorts) {
  // 15/16 of 1 GB through eight ports.
  EXPECT_NEAR(OnNodesOfEight(true).Ring(1e9, {16, 1}), 1e12 * 15 / 16 / 80 + kSlowLatency, 1);
  // Two ranks per node.
  EXPECT_NEAR(OnNodesOfEight(true).Ring(1e9, {4, 4}), 1e12 * 3 / 4 / 20 + kSlowLatency, 1);
}

TEST(ExchangeTest, PortsAreNoFasterThanTheNode) {
  const Exchange exchange(
      {.device_class = DeviceClassId(0), .degrees = {.data = 16}, .crosses_nodes = true, .devices_per_node = 8}, kFast,
      {50e9, 0}, 1);
  EXPECT_NEAR(exchange.Ring(1e9, {16, 1}), 1e12 * 15 / 16 / 100, 1);
}

TEST(ExchangeTest, AllToAllSendsInsideAndBetweenNodesAtOnce) {
  // 7/16 of 1 GB stay in the node: 4.4 ms; 8/16 leave it through one port: 50 ms.
  EXPECT_NEAR(OnNodesOfEight(true).AllToAll(1e9, {16, 1}), 50 * kMillisecond + kSlowLatency, 1);
  EXPECT_NEAR(OnNodesOfEight(true).AllToAll(1e9, {8, 1}), 8.75 * kMillisecond + kFastLatency, 1);
}

// Of neighbours in groups of two on nodes of five the third group has a rank in each of two nodes.
TEST(ExchangeTest, GroupsThatDoNotDivideANodeLeaveIt) {
  EXPECT_NEAR(OnNodesOf(5, 10).Ring(1e9, {2, 1}), 50 * kMillisecond + kSlowLatency, 1);
  EXPECT_NEAR(OnNodesOf(6, 12).Ring(1e9, {2, 1}), 5 * kMillisecond + kFastLatency, 1);
  // Two and two of groups of four.
  EXPECT_NEAR(OnNodesOf(6, 12).Ring(1e9, {4, 1}), 1e12 * 3 / 4 / 20 + kSlowLatency, 1);
  // Two in each of five nodes, but one of every other group in the first.
  EXPECT_NEAR(OnNodesOf(3, 20).Ring(1e9, {10, 2}), 1e12 * 9 / 10 / 10 + kSlowLatency, 1);
}

TEST(ExchangeTest, TheNodeWithTheFewestRanksIsTheSlowest) {
  // Eight and four.
  EXPECT_NEAR(OnNodesOf(8, 12).Ring(1e9, {12, 1}), 1e12 * 11 / 12 / 40 + kSlowLatency, 1);
  EXPECT_NEAR(OnNodesOf(8, 9).Ring(1e9, {9, 1}), 1e12 * 8 / 9 / 10 + kSlowLatency, 1);
  // Seven others are inside for those in the full node, eight outside for the one alone.
  EXPECT_NEAR(OnNodesOf(8, 9).AllToAll(1e9, {9, 1}), 1e12 * 8 / 9 / 10 + kSlowLatency, 1);
}

// Against every group rank by rank.
TEST(ExchangeTest, RanksOfANodeAreThoseOfTheGroupsThatLieThere) {
  for (int32_t node = 1; node <= 9; ++node) {
    for (int32_t ranks = 2; ranks <= 9; ++ranks) {
      for (int32_t stride = 1; stride <= 4; ++stride) {
        for (int32_t count = 1; count <= 7; ++count) {
          const int32_t devices = ranks * stride * count;
          if (devices <= node) continue;
          std::map<std::pair<int32_t, int32_t>, int32_t> in_node;
          for (int32_t rank = 0; rank < devices; ++rank) {
            ++in_node[{rank / (ranks * stride) * stride + rank % stride, rank / node}];
          }
          int32_t least = ranks;
          for (const auto& [where, own] : in_node) least = std::min(least, own);
          const double share = 1.0 - 1.0 / ranks;
          const double expected = least == ranks ? 1e12 * share / 100 + kFastLatency
                                                 : 1e12 * share / std::min(100, 10 * least) + kSlowLatency;
          ASSERT_NEAR(OnNodesOf(node, devices).Ring(1e9, {ranks, stride}), expected, 1)
              << node << " " << ranks << " " << stride << " " << count;
        }
      }
    }
  }
}

TEST(ExchangeTest, EfficiencyDividesBandwidth) {
  EXPECT_NEAR(OnNodesOfEight(true, 0.5).Ring(1e9, {8, 1}), 17.5 * kMillisecond + kFastLatency, 1);
}

}  // namespace
}  // namespace planwright
