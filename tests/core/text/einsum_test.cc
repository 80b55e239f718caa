#include "core/text/einsum.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace planwright {
namespace {

using Sizes = std::vector<std::vector<int64_t>>;

std::optional<double> Products(std::string_view equation, const Sizes& operands) {
  return EinsumProducts(equation, operands);
}

TEST(EinsumTest, EveryIndexCountsOnce) {
  EXPECT_EQ(Products("mk,kn->mn", {{2, 3}, {3, 5}}), 2 * 3 * 5);
  EXPECT_EQ(Products("bhqd, bhkd -> bhqk", {{8, 12, 128, 64}, {8, 12, 256, 64}}), 8.0 * 12 * 128 * 64 * 256);
  EXPECT_EQ(Products("ii", {{7, 7}}), 7);
  EXPECT_EQ(Products("i,j,k->", {{2}, {3}, {5}}), 30);
}

TEST(EinsumTest, AnEllipsisIsWhatIsLeft) {
  EXPECT_EQ(Products("...mk,...kn->...mn", {{4, 6, 2, 3}, {6, 3, 5}}), 4 * 6 * 2 * 3 * 5);
  EXPECT_EQ(Products("...k,k", {{3}, {3}}), 3);
  EXPECT_EQ(Products("a...,a", {{2, 9, 7}, {2}}), 2 * 9 * 7);
  // One is as many as the other has.
  EXPECT_EQ(Products("...k,...k", {{1, 3}, {5, 3}}), 15);
}

TEST(EinsumTest, NothingAndVeryMuchAreNumbers) {
  EXPECT_EQ(Products("mk,mk", {{0, 3}, {1, 3}}), 0);
  std::vector<int64_t> many(18, int64_t{1} << 62);
  EXPECT_EQ(Products("abcdefghijklmnopqr", {many}), 1e300);
  many.push_back(0);
  EXPECT_EQ(Products("abcdefghijklmnopqrs", {many}), 0);
}

TEST(EinsumTest, OtherOperandsAreToldApart) {
  EXPECT_EQ(Products("mk,kn->mn", {{2, 3}}), std::nullopt);
  EXPECT_EQ(Products("mk->m", {{2, 3}, {3, 5}}), std::nullopt);
  EXPECT_EQ(Products("mk,kn", {{2, 3, 4}, {3, 5}}), std::nullopt);
  EXPECT_EQ(Products("m1,1n", {{2, 3}, {3, 5}}), std::nullopt);
  EXPECT_EQ(Products("", {}), std::nullopt);
}

}  // namespace
}  // namespace planwright
