#include "core/zoo/keys/closest_name.h"

#include <gtest/gtest.h>

#include <array>

namespace planwright {
namespace {

TEST(EditDistanceTest, CountsTheFewestEdits) {
  EXPECT_EQ(EditDistance("", ""), 0U);
  EXPECT_EQ(EditDistance("abc", "abc"), 0U);
  EXPECT_EQ(EditDistance("", "abc"), 3U);
  EXPECT_EQ(EditDistance("abc", ""), 3U);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3U);
  EXPECT_EQ(EditDistance("sitting", "kitten"), 3U);
  EXPECT_EQ(EditDistance("saturday", "sunday"), 3U);
}

TEST(ClosestNameTest, TakesTheFirstOfTheClosest) {
  constexpr std::array<std::string_view, 3> kNames = {"aa", "ab", "zz"};
  EXPECT_EQ(ClosestName("ac", kNames), "aa");
  EXPECT_EQ(ClosestName("zzz", kNames), "zz");
  EXPECT_EQ(ClosestName("", kNames), "aa");
}

TEST(ClosestNameTest, PrefersNamesThatWereCutShort) {
  constexpr std::array<std::string_view, 3> kNames = {"bert-base", "bert-large", "gnmt"};
  EXPECT_EQ(ClosestName("bert", kNames), "bert-base");
  EXPECT_EQ(ClosestName("bert-large-cased", kNames), "bert-large");
  EXPECT_EQ(ClosestName("gnm", kNames), "gnmt");
}

}  // namespace
}  // namespace planwright
