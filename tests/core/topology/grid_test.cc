#include "core/topology/grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace planwright {
namespace {

GridInterconnect Grid(std::vector<int32_t> dimensions, bool wrap_around) {
  GridInterconnect grid;
  grid.dimensions = std::move(dimensions);
  grid.wrap_around = wrap_around;
  return grid;
}

TEST(GridTest, DevicesFillTheFirstDimensionFirst) {
  const GridInterconnect mesh = Grid({4, 3}, /*wrap_around=*/false);
  EXPECT_EQ(HopsBetween(mesh, DeviceId(0), DeviceId(3)), 3);
  EXPECT_EQ(HopsBetween(mesh, DeviceId(0), DeviceId(4)), 1);
  EXPECT_EQ(HopsBetween(mesh, DeviceId(3), DeviceId(8)), 3 + 2);
}

TEST(GridTest, TorusGoesAroundWhereThatIsShorter) {
  const GridInterconnect torus = Grid({4, 3}, /*wrap_around=*/true);
  EXPECT_EQ(HopsBetween(torus, DeviceId(0), DeviceId(3)), 1);
  EXPECT_EQ(HopsBetween(torus, DeviceId(0), DeviceId(2)), 2);
  EXPECT_EQ(HopsBetween(torus, DeviceId(0), DeviceId(8)), 1);
}

TEST(GridTest, WaysGoDimensionAfterDimension) {
  const GridInterconnect mesh = Grid({4, 3}, /*wrap_around=*/false);
  EXPECT_EQ(WayBetween(mesh, DeviceId(1), DeviceId(7)),
            (std::vector<DeviceId>{DeviceId(1), DeviceId(2), DeviceId(3), DeviceId(7)}));
  const GridInterconnect torus = Grid({4, 3}, /*wrap_around=*/true);
  EXPECT_EQ(WayBetween(torus, DeviceId(8), DeviceId(3)),
            (std::vector<DeviceId>{DeviceId(8), DeviceId(11), DeviceId(3)}));
  EXPECT_EQ(WayBetween(torus, DeviceId(0), DeviceId(2)),
            (std::vector<DeviceId>{DeviceId(0), DeviceId(1), DeviceId(2)}));
}

TEST(GridTest, WaysAreAsLongAsTheDistance) {
  for (const bool wraps : {false, true}) {
    const GridInterconnect grid = Grid({3, 4, 2}, wraps);
    for (std::size_t a = 0; a < 24; ++a) {
      for (std::size_t b = 0; b < 24; ++b) {
        const std::vector<DeviceId> way = WayBetween(grid, DeviceId(a), DeviceId(b));
        EXPECT_EQ(static_cast<int32_t>(way.size()), HopsBetween(grid, DeviceId(a), DeviceId(b)) + 1);
        EXPECT_EQ(way.back(), DeviceId(b));
        for (std::size_t i = 1; i < way.size(); ++i) EXPECT_EQ(HopsBetween(grid, way[i - 1], way[i]), 1);
      }
    }
  }
}

// Hops are the distances of a breadth-first search over the links of neighbours.
class GridDistanceTest : public ::testing::TestWithParam<GridInterconnect> {
 protected:
  // Neighbours differ by one in one dimension, or are its two ends.
  static bool AreNeighbours(const GridInterconnect& grid, std::size_t a, std::size_t b) {
    int differing = 0;
    bool is_step = true;
    for (const int32_t dimension : grid.dimensions) {
      const auto size = static_cast<std::size_t>(dimension);
      const std::size_t low = std::min(a % size, b % size);
      const std::size_t high = std::max(a % size, b % size);
      if (low != high) {
        ++differing;
        is_step &= high - low == 1 || (grid.wrap_around && low == 0 && high == size - 1);
      }
      a /= size;
      b /= size;
    }
    return differing == 1 && is_step;
  }

  static std::vector<int32_t> Distances(const GridInterconnect& grid, std::size_t count, std::size_t source) {
    std::vector<int32_t> distances(count, -1);
    std::vector<std::size_t> queue = {source};
    distances[source] = 0;
    for (std::size_t next = 0; next < queue.size(); ++next) {
      for (std::size_t device = 0; device < count; ++device) {
        if (distances[device] >= 0 || !AreNeighbours(grid, queue[next], device)) continue;
        distances[device] = distances[queue[next]] + 1;
        queue.push_back(device);
      }
    }
    return distances;
  }
};

TEST_P(GridDistanceTest, EqualsTheSearchOverLinks) {
  const GridInterconnect& grid = GetParam();
  std::size_t count = 1;
  for (const int32_t size : grid.dimensions) count *= static_cast<std::size_t>(size);
  int32_t largest = 0;
  for (std::size_t a = 0; a < count; ++a) {
    const std::vector<int32_t> distances = Distances(grid, count, a);
    for (std::size_t b = 0; b < count; ++b) EXPECT_EQ(HopsBetween(grid, DeviceId(a), DeviceId(b)), distances[b]);
    largest = std::max(largest, *std::max_element(distances.begin(), distances.end()));
  }
  EXPECT_EQ(GridDiameter(grid), largest);
}

INSTANTIATE_TEST_SUITE_P(Grids, GridDistanceTest,
                         ::testing::Values(Grid({1}, false), Grid({7}, false), Grid({7}, true), Grid({2, 2}, true),
                                           Grid({5, 4}, false), Grid({5, 4}, true), Grid({3, 4, 2}, false),
                                           Grid({3, 4, 5}, true), Grid({1, 6, 1}, true)));

}  // namespace
}  // namespace planwright
