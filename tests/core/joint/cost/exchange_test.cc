#include "core/joint/cost/exchange.h"

#include <gtest/gtest.h>

namespace planwright {
namespace {

constexpr double kMillisecond = 1e9;
constexpr TrainingLink kFast = {100e9, 5'000'000};
constexpr TrainingLink kSlow = {10e9, 10'000'000};
constexpr double kFastLatency = 5e6;
constexpr double kSlowLatency = 10e6;

Exchange OnNodesOfEight(bool crosses_nodes, double efficiency = 1) {
  return Exchange(
      {.device_class = DeviceClassId(0), .degrees = {}, .crosses_nodes = crosses_nodes, .devices_per_node = 8}, kFast,
      kSlow, efficiency);
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
      {.device_class = DeviceClassId(0), .degrees = {}, .crosses_nodes = true, .devices_per_node = 8}, kFast, {50e9, 0},
      1);
  EXPECT_NEAR(exchange.Ring(1e9, {16, 1}), 1e12 * 15 / 16 / 100, 1);
}

TEST(ExchangeTest, AllToAllSendsInsideAndBetweenNodesAtOnce) {
  // 7/16 of 1 GB stay in the node: 4.4 ms; 8/16 leave it through one port: 50 ms.
  EXPECT_NEAR(OnNodesOfEight(true).AllToAll(1e9, {16, 1}), 50 * kMillisecond + kSlowLatency, 1);
  EXPECT_NEAR(OnNodesOfEight(true).AllToAll(1e9, {8, 1}), 8.75 * kMillisecond + kFastLatency, 1);
}

TEST(ExchangeTest, EfficiencyDividesBandwidth) {
  EXPECT_NEAR(OnNodesOfEight(true, 0.5).Ring(1e9, {8, 1}), 17.5 * kMillisecond + kFastLatency, 1);
}

}  // namespace
}  // namespace planwright
