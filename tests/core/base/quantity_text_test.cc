#include "core/base/quantity_text.h"

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

TEST(CountedTextTest, OneIsOne) {
  EXPECT_EQ(CountedText(1, "stage"), "1 stage");
  EXPECT_EQ(CountedText(0, "stage"), "0 stages");
  EXPECT_EQ(CountedText(1024, "stage"), "1,024 stages");
}

TEST(SizeTextTest, HasBinaryUnits) {
  EXPECT_EQ(SizeText(0), "0 bytes");
  EXPECT_EQ(SizeText(1), "1 byte");
  EXPECT_EQ(SizeText(1023), "1,023 bytes");
  EXPECT_EQ(SizeText(1024), "1.00 KiB");
  EXPECT_EQ(SizeText(-1536), "-1.50 KiB");
  EXPECT_EQ(SizeText(17'179'869'184), "16.00 GiB");
  EXPECT_EQ(SizeText(std::numeric_limits<int64_t>::max()), "8.00 EiB");
}

TEST(SizeTextTest, SaysTheBytesWhereTheyDecide) {
  EXPECT_EQ(ExactSizeText(12), "12 bytes");
  EXPECT_EQ(MissingText(1), "1 byte is missing");
  EXPECT_EQ(MissingText(2048), "2.00 KiB (2,048 bytes) are missing");
  EXPECT_EQ(ExactSizeText(212'400'168), "202.56 MiB (212,400,168 bytes)");
}

}  // namespace
}  // namespace planwright
