#include "core/topology/pair_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/random.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;

TEST(PairClassesTest, PairsOfAMatrixShareClassesByBandwidthFastestFirst) {
  const MatrixInterconnect matrix{{0, 5, 2,  //
                                   5, 0, 5,  //
                                   2, 5, 0},
                                  Picoseconds(3)};
  const PairClasses classes(matrix);
  EXPECT_THAT(classes.speeds(), ElementsAre(Route{5, Picoseconds(3)}, Route{2, Picoseconds(3)}));
  EXPECT_EQ(classes.ClassOf(DeviceId(0), DeviceId(1)), 0U);
  EXPECT_EQ(classes.ClassOf(DeviceId(2), DeviceId(0)), 1U);
  EXPECT_EQ(classes.ClassOf(DeviceId(2), DeviceId(1)), 0U);
}

TEST(PairClassesTest, LinksAreRouted) {
  const LinksInterconnect links{
      {{DeviceId(0), DeviceId(1), 4, Picoseconds(1)}, {DeviceId(1), DeviceId(2), 4, Picoseconds(1)}}};
  const PairClasses classes(links);
  EXPECT_THAT(classes.speeds(), ElementsAre(Route{4, Picoseconds(1)}, Route{4, Picoseconds(2)}));
  EXPECT_EQ(classes.ClassOf(DeviceId(0), DeviceId(2)), 1U);
}

TEST(PairClassesTest, PlacesOfAMachineHaveTheirLinkOrTheCommonSpeed) {
  const NodesInterconnect nodes{.devices_per_node = 3,
                                .links = {{2, 0, 9, Picoseconds(1)}},
                                .bandwidth_bytes_per_second = 4,
                                .latency = Picoseconds(2),
                                .levels = {{.fan_out = 5, .bandwidth_bytes_per_second = 1}}};
  const PairClasses classes(nodes);
  EXPECT_THAT(classes.speeds(), ElementsAre(Route{9, Picoseconds(1)}, Route{4, Picoseconds(2)}));
  EXPECT_EQ(classes.ClassOf(DeviceId(0), DeviceId(2)), 0U);
  EXPECT_EQ(classes.ClassOf(DeviceId(0), DeviceId(1)), 1U);
}

// Some pairs have two directions that differ, many share a speed, and speeds differ in their first and last bits.
TEST(PairClassesTest, EveryPairHasItsSpeedAndNoTwoAreEqual) {
  constexpr std::size_t kDevices = 37;
  RandomStream random(1);
  MatrixInterconnect matrix{std::vector<double>(kDevices * kDevices, 0), Picoseconds(1)};
  for (std::size_t a = 0; a < kDevices; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const double bandwidth =
          std::ldexp(static_cast<double>(random.Between(1, 9)), static_cast<int>(10 * random.Between(-5, 5)));
      matrix.bandwidth_bytes_per_second[a * kDevices + b] = bandwidth;
      matrix.bandwidth_bytes_per_second[b * kDevices + a] = random.Between(0, 3) == 0 ? 3.0 : bandwidth;
    }
  }
  const PairClasses classes(matrix);
  for (std::size_t a = 0; a < kDevices; ++a) {
    for (std::size_t b = 0; b < kDevices; ++b) {
      if (a == b) continue;
      EXPECT_EQ(classes.speeds()[classes.ClassOf(DeviceId(a), DeviceId(b))].bandwidth_bytes_per_second,
                matrix.bandwidth_bytes_per_second[a * kDevices + b]);
    }
  }
  const auto is_not_slower = [](const Route& a, const Route& b) {
    return a.bandwidth_bytes_per_second <= b.bandwidth_bytes_per_second;
  };
  EXPECT_EQ(std::adjacent_find(classes.speeds().begin(), classes.speeds().end(), is_not_slower),
            classes.speeds().end());
}

TEST(PairClassesTest, OfEquallyFastPairsTheLatencyDecides) {
  const NodesInterconnect nodes{
      .devices_per_node = 4,
      .links = {{0, 1, 4, Picoseconds(7)}, {0, 2, 4, Picoseconds(1)}, {2, 3, 9, Picoseconds(8)}},
      .bandwidth_bytes_per_second = 4,
      .latency = Picoseconds(2),
      .levels = {}};
  EXPECT_THAT(PairClasses(nodes).speeds(), ElementsAre(Route{9, Picoseconds(8)}, Route{4, Picoseconds(1)},
                                                       Route{4, Picoseconds(2)}, Route{4, Picoseconds(7)}));
}

TEST(PairClassesTest, OneDeviceHasNoPairs) {
  EXPECT_THAT(PairClasses(MatrixInterconnect{{0}, Picoseconds(0)}).speeds(), ElementsAre());
  EXPECT_THAT(PairClasses(LinksInterconnect()).speeds(), ElementsAre());
}

}  // namespace
}  // namespace planwright
