#include "core/verify/text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace planwright {
namespace {

TEST(TimeTextTest, IsExactInMilliseconds) {
  EXPECT_EQ(TimeText(Picoseconds(0)), "0 ms");
  EXPECT_EQ(TimeText(Picoseconds(1)), "0.000000001 ms");
  EXPECT_EQ(TimeText(Picoseconds(12'500'000'000)), "12.5 ms");
  EXPECT_EQ(TimeText(Picoseconds(100'000'000'000)), "100 ms");
  EXPECT_EQ(TimeText(Picoseconds(-1'000'000'001)), "-1.000000001 ms");
}

TEST(TimeTextTest, HandlesTheExtremes) {
  EXPECT_EQ(TimeText(Picoseconds::max()), "9223372036.854775807 ms");
  EXPECT_EQ(TimeText(Picoseconds::min()), "-9223372036.854775808 ms");
}

TEST(CountTextTest, GroupsDigitsByThree) {
  EXPECT_EQ(CountText(0), "0");
  EXPECT_EQ(CountText(999), "999");
  EXPECT_EQ(CountText(1000), "1,000");
  EXPECT_EQ(CountText(1234567), "1,234,567");
  EXPECT_EQ(CountText(-123456), "-123,456");
  EXPECT_EQ(CountText(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(SizeTextTest, KeepsThreeDigits) {
  EXPECT_EQ(SizeText(0), "0 bytes");
  EXPECT_EQ(SizeText(999), "999 bytes");
  EXPECT_EQ(SizeText(1000), "1 kB");
  EXPECT_EQ(SizeText(999'500), "1 MB");
  EXPECT_EQ(SizeText(17'179'869'184), "17.2 GB");
  EXPECT_EQ(SizeText(std::numeric_limits<int64_t>::max()), "9.22 EB");
}

}  // namespace
}  // namespace planwright
