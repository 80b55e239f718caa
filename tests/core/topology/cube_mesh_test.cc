#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/topology/built_networks.h"

namespace planwright {
namespace {

constexpr CubeMeshSpeeds kSpeeds{.nvlink_bytes_per_second = 25e9,
                                 .nvlink_latency = Picoseconds(1),
                                 .pcie_bytes_per_second = 10e9,
                                 .pcie_latency = Picoseconds(2),
                                 .between_bytes_per_second = 3e9,
                                 .between_latency = Picoseconds(3)};

TEST(CubeMeshTest, EveryGpuHasSixNvlinksToFourOthers) {
  const NodesInterconnect machine = CubeMeshes(1, kSpeeds);
  std::array<double, 8> bandwidth = {};
  std::array<int, 8> partners = {};
  for (const NodesInterconnect::Link& link : machine.links) {
    EXPECT_LT(link.place_a, link.place_b);
    for (const int32_t place : {link.place_a, link.place_b}) {
      bandwidth.at(static_cast<std::size_t>(place)) += link.bandwidth_bytes_per_second;
      ++partners.at(static_cast<std::size_t>(place));
    }
  }
  EXPECT_THAT(bandwidth, ::testing::Each(6 * 25e9));
  EXPECT_THAT(partners, ::testing::Each(4));
  EXPECT_EQ(machine.bandwidth_bytes_per_second, 10e9);
  EXPECT_TRUE(machine.levels.empty());
}

TEST(CubeMeshTest, EightPairsAreDoubleAndEightSingle) {
  const NodesInterconnect machine = CubeMeshes(1, kSpeeds);
  const auto count = [&](double bandwidth) {
    return std::ranges::count(machine.links, bandwidth, &NodesInterconnect::Link::bandwidth_bytes_per_second);
  };
  EXPECT_EQ(count(50e9), 8);
  EXPECT_EQ(count(25e9), 8);
}

// Double links lie on one ring of all eight, so a pipeline of eight stages crosses double links only.
TEST(CubeMeshTest, DoubleLinksFormOneRingOfAllDevices) {
  std::vector<std::vector<int32_t>> neighbours(8);
  for (const NodesInterconnect::Link& link : CubeMeshes(1, kSpeeds).links) {
    if (link.bandwidth_bytes_per_second < 50e9) continue;
    neighbours[static_cast<std::size_t>(link.place_a)].push_back(link.place_b);
    neighbours[static_cast<std::size_t>(link.place_b)].push_back(link.place_a);
  }
  std::vector<int32_t> ring = {0, neighbours[0].front()};
  while (ring.back() != 0) {
    const std::vector<int32_t>& next = neighbours[static_cast<std::size_t>(ring.back())];
    ASSERT_EQ(next.size(), 2U);
    ring.push_back(next[0] == ring[ring.size() - 2] ? next[1] : next[0]);
  }
  EXPECT_EQ(ring.size(), 9U);
}

TEST(CubeMeshTest, MachinesAreConnectedAlike) {
  const NodesInterconnect machines = CubeMeshes(512, kSpeeds);
  EXPECT_EQ(machines.links.size(), 16U);
  ASSERT_EQ(machines.levels.size(), 1U);
  EXPECT_EQ(machines.levels[0].fan_out, 512);
  EXPECT_EQ(machines.levels[0].bandwidth_bytes_per_second, 3e9);
}

}  // namespace
}  // namespace planwright
