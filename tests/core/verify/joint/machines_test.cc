#include "core/verify/joint/machines.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace planwright::verify {
namespace {

TEST(BothWaysTest, WholePicosecondsStayWhole) {
  for (int64_t bytes = 1; bytes <= 100'000; ++bytes) {
    ASSERT_EQ(BothWaysPs(bytes, {1e9, 0}), 2'000 * bytes);
    ASSERT_EQ(BothWaysPs(bytes, {25e9, 7}), 2 * (40 * bytes + 7));
    ASSERT_EQ(BothWaysPs(bytes, {24e9, 0}), 2 * ((125 * bytes + 2) / 3));
  }
}

TEST(BothWaysTest, IsAtMostWhatAnyStepTakes) {
  constexpr int64_t kMost = int64_t{1} << 59;
  EXPECT_EQ(BothWaysPs(int64_t{1} << 62, {1, int64_t{1} << 62}), kMost);
  EXPECT_EQ(BothWaysPs(1'000'000, {0.25, 0}), kMost);
  EXPECT_EQ(BothWaysPs(0, {1, 5}), 0);
}

}  // namespace
}  // namespace planwright::verify
