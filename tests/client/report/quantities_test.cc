#include "client/report/quantities.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace planwright::client {
namespace {

TEST(QuantitiesTest, BytesHaveBinaryUnits) {
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(1023), "1023 B");
  EXPECT_EQ(BytesText(1024), "1.00 KiB");
  EXPECT_EQ(BytesText(int64_t{3} << 39), "1.50 TiB");
  EXPECT_EQ(BytesText(INT64_MAX), "8.00 EiB");
}

TEST(QuantitiesTest, CountsAreGrouped) {
  EXPECT_EQ(GroupedText(0), "0");
  EXPECT_EQ(GroupedText(999), "999");
  EXPECT_EQ(GroupedText(1'234'567), "1,234,567");
  EXPECT_EQ(GroupedText(-123'456), "-123,456");
}

TEST(QuantitiesTest, OneThingIsNoMultitude) {
  EXPECT_EQ(CountedText(1, "stage", "stages"), "1 stage");
  EXPECT_EQ(CountedText(0, "stage", "stages"), "0 stages");
  EXPECT_EQ(CountedText(1024, "micro-batch", "micro-batches"), "1,024 micro-batches");
}

TEST(QuantitiesTest, TimesHaveThreeDigits) { EXPECT_EQ(MillisecondsText(12.3456), "12.346 ms"); }

}  // namespace
}  // namespace planwright::client
