#include "core/topology/pair_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(PairClassesTest, OneDeviceHasNoPairs) {
  EXPECT_THAT(PairClasses(MatrixInterconnect{{0}, Picoseconds(0)}).speeds(), ElementsAre());
  EXPECT_THAT(PairClasses(LinksInterconnect()).speeds(), ElementsAre());
}

}  // namespace
}  // namespace planwright
