#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/topology/built_networks.h"

namespace planwright {
namespace {

constexpr double kGigabyte = 1e9;

double Speed(const RandomTopology& topology, std::size_t a, std::size_t b) {
  return topology.interconnect.bandwidth_bytes_per_second[a * topology.block_of.size() + b] / kGigabyte;
}

class RandomTopologyTest : public ::testing::TestWithParam<RandomFamily> {};

TEST_P(RandomTopologyTest, IsAlikeInBothDirectionsAndRounded) {
  const RandomTopology topology = MakeRandomTopology(GetParam(), 50, 3);
  ASSERT_EQ(topology.block_of.size(), 50U);
  ASSERT_EQ(topology.interconnect.bandwidth_bytes_per_second.size(), 2'500U);
  for (std::size_t a = 0; a < 50; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      EXPECT_EQ(Speed(topology, a, b), Speed(topology, b, a));
      EXPECT_NEAR(std::round(100 * Speed(topology, a, b)), 100 * Speed(topology, a, b), 1e-6);
      EXPECT_GT(Speed(topology, a, b), 0);
    }
  }
}

TEST_P(RandomTopologyTest, DependsOnTheSeedOnly) {
  const auto draw = [](uint64_t seed) {
    return MakeRandomTopology(GetParam(), 20, seed).interconnect.bandwidth_bytes_per_second;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

INSTANTIATE_TEST_SUITE_P(Families, RandomTopologyTest,
                         ::testing::Values(RandomFamily::kBlocksAlike, RandomFamily::kBlocksVaried,
                                           RandomFamily::kUniform));

TEST(RandomTopologyTest, BlocksAlikeHaveOneSpeedInsideAndOneBetweenEachTwo) {
  const RandomTopology topology = MakeRandomTopology(RandomFamily::kBlocksAlike, 40, 1);
  std::map<std::pair<int32_t, int32_t>, std::set<double>> speeds;
  for (std::size_t a = 0; a < 40; ++a) {
    EXPECT_EQ(topology.block_of[a], static_cast<int32_t>(a / 8));
    for (std::size_t b = 0; b < a; ++b) {
      speeds[{topology.block_of[b], topology.block_of[a]}].insert(Speed(topology, a, b));
    }
  }
  EXPECT_EQ(speeds.size(), 15U);
  for (const auto& [blocks, values] : speeds) {
    ASSERT_EQ(values.size(), 1U);
    const bool inside = blocks.first == blocks.second;
    EXPECT_GE(*values.begin(), inside ? 20 : 2);
    EXPECT_LE(*values.begin(), inside ? 100 : 20);
  }
}

TEST(RandomTopologyTest, VariedBlocksDifferInSizeAndTheirPairsInSpeed) {
  const RandomTopology topology = MakeRandomTopology(RandomFamily::kBlocksVaried, 500, 1);
  std::map<int32_t, int> sizes;
  for (const int32_t block : topology.block_of) ++sizes[block];
  std::set<int> different;
  // The last one may be cut off.
  for (int32_t block = 0; block < topology.block_of.back(); ++block) different.insert(sizes[block]);
  EXPECT_GE(*different.begin(), 2);
  EXPECT_LE(*different.rbegin(), 16);
  EXPECT_GT(different.size(), 5U);
  for (std::size_t a = 0; a < 500; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const bool inside = topology.block_of[a] == topology.block_of[b];
      EXPECT_GE(Speed(topology, a, b), inside ? 7.99 : 0.39);
      EXPECT_LE(Speed(topology, a, b), inside ? 240.01 : 30.01);
    }
  }
}

TEST(RandomTopologyTest, UniformPairsFillTheirRange) {
  const RandomTopology topology = MakeRandomTopology(RandomFamily::kUniform, 100, 1);
  std::set<double> speeds;
  for (std::size_t a = 0; a < 100; ++a) {
    for (std::size_t b = 0; b < a; ++b) speeds.insert(Speed(topology, a, b));
  }
  EXPECT_GE(*speeds.begin(), 1);
  EXPECT_LT(*speeds.begin(), 1.5);
  EXPECT_GT(*speeds.rbegin(), 99.5);
  EXPECT_LE(*speeds.rbegin(), 100);
  EXPECT_GT(speeds.size(), 3'000U);
}

TEST(RandomTopologyTest, OneDeviceHasNoLinks) {
  EXPECT_EQ(MakeRandomTopology(RandomFamily::kBlocksVaried, 1, 1).interconnect.bandwidth_bytes_per_second.size(), 1U);
}

}  // namespace
}  // namespace planwright
