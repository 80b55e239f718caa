#include "core/base/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace planwright {
namespace {

using ::testing::ElementsAre;

// Computed by an independent implementation in Python. The numbers are part of the promise "same request, same plan": a
// change of them is a new algorithm version.
TEST(RandomStreamTest, GoldenValues) {
  RandomStream random(1);
  EXPECT_THAT((std::array{random.Next(), random.Next(), random.Next()}),
              ElementsAre(6791897765849424158ULL, 17405687883870564846ULL, 834844254806117752ULL));
  RandomStream other(1, 1);
  EXPECT_EQ(other.Next(), 7196757926615190319ULL);
  RandomStream mixed(42, 7);
  EXPECT_THAT((std::array{mixed.Below(10), mixed.Below(10), mixed.Below(1'000'000)}), ElementsAre(5, 8, 518290));
  EXPECT_THAT((std::array{mixed.Between(-5, 5), mixed.Between(-5, 5)}), ElementsAre(5, 4));
  EXPECT_DOUBLE_EQ(mixed.Unit(), 0.8690626410578282);
}

TEST(RandomStreamTest, StreamsDiffer) {
  EXPECT_NE(RandomStream(1, 0).Next(), RandomStream(1, 1).Next());
  EXPECT_NE(RandomStream(1, 1).Next(), RandomStream(2, 1).Next());
}

TEST(RandomStreamTest, BelowCoversItsRangeEvenly) {
  RandomStream random(3);
  std::array<int, 6> counts{};
  for (int i = 0; i < 60'000; ++i) ++counts.at(random.Below(6));
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
  EXPECT_EQ(random.Below(1), 0U);
}

TEST(RandomStreamTest, BetweenReachesBothEnds) {
  RandomStream random(4);
  bool low = false;
  bool high = false;
  for (int i = 0; i < 1000; ++i) {
    const int64_t value = random.Between(-2, 2);
    ASSERT_GE(value, -2);
    ASSERT_LE(value, 2);
    low |= value == -2;
    high |= value == 2;
  }
  EXPECT_TRUE(low && high);
}

TEST(RandomStreamTest, BetweenSpansAllOfInt64) {
  RandomStream random(5);
  bool negative = false;
  bool positive = false;
  for (int i = 0; i < 100; ++i) {
    const int64_t value = random.Between(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
    negative |= value < 0;
    positive |= value > 0;
  }
  EXPECT_TRUE(negative && positive);
}

TEST(RandomStreamTest, NormalHasMeanZeroAndDeviationOne) {
  RandomStream random(6);
  constexpr int kDraws = 100'000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = random.Normal();
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.02);
  EXPECT_NEAR(std::sqrt(squares / kDraws), 1, 0.02);
}

}  // namespace
}  // namespace planwright
