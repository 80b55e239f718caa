#include "core/base/union_find.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/base/random.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(UnionFindTest, RepresentsASetByItsSmallestElement) {
  UnionFind sets(6);
  sets.Unite(5, 3);
  sets.Unite(3, 4);
  sets.Unite(4, 5);
  EXPECT_EQ(sets.Find(5), 3);
  EXPECT_EQ(sets.Find(4), 3);
  EXPECT_EQ(sets.Find(0), 0);
  sets.Unite(4, 1);
  EXPECT_EQ(sets.Find(5), 1);
}

TEST(UnionFindTest, NumbersSetsByTheirSmallestElement) {
  UnionFind sets(6);
  sets.Unite(5, 1);
  sets.Unite(4, 2);
  EXPECT_THAT(sets.Labels(), ElementsAre(0, 1, 2, 3, 2, 1));
  EXPECT_THAT(UnionFind(0).Labels(), IsEmpty());
}

TEST(UnionFindTest, AgreesWithRelabellingOnRandomUnions) {
  RandomStream random(1);
  constexpr int32_t kSize = 40;
  UnionFind sets(kSize);
  std::vector<int32_t> smallest(kSize);
  for (int32_t i = 0; i < kSize; ++i) smallest[static_cast<std::size_t>(i)] = i;
  for (int i = 0; i < 30; ++i) {
    const auto a = static_cast<std::size_t>(random.Below(kSize));
    const auto b = static_cast<std::size_t>(random.Below(kSize));
    const int32_t low = std::min(smallest[a], smallest[b]);
    const int32_t high = std::max(smallest[a], smallest[b]);
    std::replace(smallest.begin(), smallest.end(), high, low);
    sets.Unite(static_cast<int32_t>(a), static_cast<int32_t>(b));
    for (int32_t x = 0; x < kSize; ++x) ASSERT_EQ(sets.Find(x), smallest[static_cast<std::size_t>(x)]);
  }
}

}  // namespace
}  // namespace planwright
