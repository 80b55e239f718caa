#include "tests/benchmarks/mapping/topologies.h"

#include <gtest/gtest.h>

#include "core/cost/terms/transfer.h"

namespace planwright::benchmarks {
namespace {

// 10^9 bytes/s between two devices.
double Speed(std::string_view name, int32_t num_devices, std::size_t a, std::size_t b) {
  const Network network(MakeTopology(name, num_devices, 1)->interconnect);
  return *network.speed(network.LinkClassOf(DeviceId(a), DeviceId(b))).bandwidth_bytes_per_second / 1e9;
}

TEST(TopologiesTest, NodesAreFasterInside) {
  EXPECT_EQ(Speed("hier", 64, 0, 7), 150);
  EXPECT_EQ(Speed("hier", 64, 7, 8), 6);
  EXPECT_EQ(Speed("dgx1", 64, 0, 3), 50);
  EXPECT_EQ(Speed("dgx1", 64, 8, 9), 25);
  EXPECT_EQ(Speed("dgx1", 64, 0, 5), 10);
  EXPECT_EQ(Speed("dgx1", 64, 0, 8), 3);
}

TEST(TopologiesTest, GridsDivideTheirLinksByHops) {
  EXPECT_DOUBLE_EQ(Speed("mesh2", 64, 0, 9), 12.5);
  EXPECT_DOUBLE_EQ(Speed("mesh2", 64, 0, 7), 25.0 / 7);
  EXPECT_DOUBLE_EQ(Speed("torus2", 64, 0, 7), 25);
  EXPECT_DOUBLE_EQ(Speed("torus3", 64, 0, 21), 25.0 / 3);
}

TEST(TopologiesTest, GridsNeedEqualSides) {
  EXPECT_FALSE(MakeTopology("mesh2", 512, 1).has_value());
  EXPECT_FALSE(MakeTopology("torus3", 256, 1).has_value());
  EXPECT_TRUE(MakeTopology("torus3", 512, 1).has_value());
  EXPECT_FALSE(MakeTopology("ring", 64, 1).has_value());
}

TEST(TopologiesTest, MachinesAreNamedForEveryDevice) {
  for (const std::string_view name : {"hier", "dgx1", "mesh2", "torus2", "mesh3", "torus3", "blk1", "blk2", "uni"}) {
    EXPECT_EQ(MakeTopology(name, 64, 1)->machine_of.size(), 64U) << name;
  }
}

}  // namespace
}  // namespace planwright::benchmarks
