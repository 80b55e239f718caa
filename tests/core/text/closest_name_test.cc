#include "core/text/closest_name.h"

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

TEST(EditDistanceTest, CountsSwapsAsOne) {
  EXPECT_EQ(EditDistance("paln", "plan"), 1U);
  EXPECT_EQ(EditDistance("lpna", "plan"), 2U);
  EXPECT_EQ(EditDistance("ca", "abc"), 3U);
}

TEST(ClosestNameTest, TakesTheFirstOfTheClosest) {
  constexpr std::array<std::string_view, 3> kNames = {"aa", "ab", "zz"};
  EXPECT_EQ(kNames[ClosestName("ac", kNames)], "aa");
  EXPECT_EQ(kNames[ClosestName("zzz", kNames)], "zz");
  EXPECT_EQ(kNames[ClosestName("", kNames)], "aa");
}

TEST(ClosestNameTest, PrefersNamesThatWereCutShort) {
  constexpr std::array<std::string_view, 3> kNames = {"bert-base", "bert-large", "gnmt"};
  EXPECT_EQ(kNames[ClosestName("bert", kNames)], "bert-base");
  EXPECT_EQ(kNames[ClosestName("bert-large-cased", kNames)], "bert-large");
  EXPECT_EQ(kNames[ClosestName("gnm", kNames)], "gnmt");
}

TEST(LikelyNameTest, IsSilentWhereNothingIsClose) {
  constexpr std::array<std::string_view, 3> kNames = {"plan", "models", "evaluate"};
  EXPECT_EQ(LikelyName("paln", kNames), 0U);
  EXPECT_EQ(LikelyName("evalute", kNames), 2U);
  EXPECT_EQ(LikelyName("eval", kNames), 2U);
  EXPECT_EQ(LikelyName("serve", kNames), std::nullopt);
  EXPECT_EQ(LikelyName("plot", kNames), std::nullopt);
  EXPECT_EQ(LikelyName("serve", {}), std::nullopt);
}

}  // namespace
}  // namespace planwright
