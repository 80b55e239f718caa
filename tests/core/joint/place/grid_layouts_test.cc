#include "core/joint/place/grid_layouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

int32_t StepsBetween(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  int32_t steps = 0;
  for (std::size_t i = 0; i < a.size(); ++i) steps += std::abs(a[i] - b[i]);
  return steps;
}

int32_t LongestStep(const std::vector<std::vector<int32_t>>& way) {
  int32_t longest = 0;
  for (std::size_t i = 0; i < way.size(); ++i)
    longest = std::max(longest, StepsBetween(way[i], way[(i + 1) % way.size()]));
  return longest;
}

GridInterconnect Mesh(std::vector<int32_t> dimensions) {
  GridInterconnect grid;
  grid.dimensions = std::move(dimensions);
  return grid;
}

TEST(GridLayoutsTest, WaysGoAroundBoxes) {
  using Box = std::vector<int32_t>;
  for (const Box& box : std::vector<Box>{{2, 2}, {4, 3}, {3, 4}, {2, 5}, {8, 8}, {2, 3, 5}, {3, 3, 4}, {2, 1, 2}}) {
    std::vector<std::vector<int32_t>> way = WayAround(box);
    EXPECT_EQ(LongestStep(way), 1) << testing::PrintToString(box);
    std::sort(way.begin(), way.end());
    EXPECT_TRUE(std::adjacent_find(way.begin(), way.end()) == way.end());
    EXPECT_EQ(way.size(), static_cast<std::size_t>(std::accumulate(box.begin(), box.end(), 1, std::multiplies<>())));
  }
  EXPECT_THAT(WayAround({5}),
              ElementsAre(ElementsAre(0), ElementsAre(2), ElementsAre(4), ElementsAre(3), ElementsAre(1)));
  EXPECT_EQ(LongestStep(WayAround({1, 8})), 2);
  // No way around places whose number is odd has steps of one alone.
  EXPECT_GT(LongestStep(WayAround({3, 3})), 1);
  EXPECT_THAT(WayAround({1, 1}), ElementsAre(ElementsAre(0, 0)));
}

TEST(GridLayoutsTest, HoldEveryDeviceOnce) {
  const std::vector<std::vector<std::size_t>> layouts =
      GridLayouts(Mesh({4, 6, 2}), {.tensor = 4, .copies = 3, .stages = 4}, 1'000);
  EXPECT_GT(layouts.size(), 20U);
  for (std::vector<std::size_t> layout : layouts) {
    std::sort(layout.begin(), layout.end());
    std::vector<std::size_t> all(48);
    std::iota(all.begin(), all.end(), std::size_t{0});
    EXPECT_EQ(layout, all);
  }
  EXPECT_EQ(GridLayouts(Mesh({4, 6, 2}), {.tensor = 4, .copies = 3, .stages = 4}, 5).size(), 5U);
  EXPECT_THAT(GridLayouts(Mesh({4, 4}), {.tensor = 3, .copies = 1, .stages = 1}, 5), IsEmpty());
  EXPECT_THAT(GridLayouts(Mesh({4, 4}), {.tensor = 4, .copies = 4, .stages = 2}, 5), IsEmpty());
}

// Rows are tensor rings, columns rings of copies.
TEST(GridLayoutsTest, LinesGoAroundTori) {
  GridInterconnect torus = Mesh({4, 3});
  torus.wrap_around = true;
  const auto layouts = GridLayouts(torus, {.tensor = 4, .copies = 3, .stages = 1}, 100);
  const std::vector<std::size_t> rows = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  EXPECT_THAT(layouts, testing::Contains(rows));
}

}  // namespace
}  // namespace planwright
