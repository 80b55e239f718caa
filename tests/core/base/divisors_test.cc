#include "core/base/divisors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace planwright {
namespace {

TEST(DivisorsTest, AreAllThatDivideInOrder) {
  for (int64_t number = 1; number <= 400; ++number) {
    std::vector<int64_t> expected;
    for (int64_t each = 1; each <= number; ++each) {
      if (number % each == 0) expected.push_back(each);
    }
    EXPECT_EQ(DivisorsOf(number), expected);
  }
}

TEST(DivisorsTest, OfAPrimeAreOneAndItself) {
  constexpr int64_t kPrime = (int64_t{1} << 31) - 1;
  EXPECT_THAT(DivisorsOf(kPrime), testing::ElementsAre(1, kPrime));
}

}  // namespace
}  // namespace planwright
