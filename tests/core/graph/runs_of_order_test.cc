#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "core/graph/chain.h"

namespace planwright {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(RunsOfOrderTest, CutsWhereLittleCrosses) {
  const std::vector<double> weights(6, 1);
  EXPECT_THAT(RunsOfOrder(weights, std::vector<int64_t>{0, 9, 1, 9, 9, 2}, 3), ElementsAre(0, 0, 1, 1, 1, 2));
}

TEST(RunsOfOrderTest, CutsMoreWhereMostOfTheWeightIs) {
  std::vector<double> weights(20, 0);
  for (std::size_t i = 0; i < 5; ++i) weights[i] = 1;
  const std::vector<int32_t> runs = RunsOfOrder(weights, std::vector<int64_t>(20, 1), 9);
  EXPECT_GE(runs[4], 4);
}

TEST(RunsOfOrderTest, NeverMakesMoreRunsThanAllowed) {
  RandomStream random(1);
  for (int i = 0; i < 300; ++i) {
    const auto positions = static_cast<std::size_t>(random.Between(1, 40));
    const auto max_runs = random.Between(1, 12);
    std::vector<double> weights(positions);
    std::vector<int64_t> borders(positions);
    for (double& weight : weights) weight = random.Below(3) == 0 ? 0 : random.Unit();
    for (int64_t& border : borders) border = random.Between(0, 5);
    const std::vector<int32_t> runs = RunsOfOrder(weights, borders, static_cast<std::size_t>(max_runs));
    ASSERT_EQ(runs.size(), positions);
    EXPECT_EQ(runs.front(), 0);
    EXPECT_LT(runs.back(), max_runs);
    for (std::size_t position = 1; position < positions; ++position) {
      const int32_t step = runs[position] - runs[position - 1];
      EXPECT_TRUE(step == 0 || step == 1);
    }
  }
  EXPECT_THAT(RunsOfOrder(std::vector<double>(4, 1), std::vector<int64_t>(4, 0), 1), Each(0));
}

}  // namespace
}  // namespace planwright
