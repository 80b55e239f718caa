#include "core/base/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace planwright {
namespace {

TEST(MillisecondsTest, RoundsToTheNearestPicosecond) {
  EXPECT_EQ(FromMilliseconds(1), Picoseconds(1'000'000'000));
  EXPECT_EQ(FromMilliseconds(27.9204), Picoseconds(27'920'400'000));
  EXPECT_EQ(FromMilliseconds(0.4e-9), Picoseconds(0));
  EXPECT_EQ(FromMilliseconds(0.6e-9), Picoseconds(1));
  EXPECT_EQ(FromMilliseconds(-0.6e-9), Picoseconds(-1));
}

TEST(MillisecondsTest, RefusesWhatPicosecondsCannotHold) {
  EXPECT_EQ(FromMilliseconds(std::numeric_limits<double>::quiet_NaN()), std::nullopt);
  EXPECT_EQ(FromMilliseconds(std::numeric_limits<double>::infinity()), std::nullopt);
  EXPECT_EQ(FromMilliseconds(-std::numeric_limits<double>::infinity()), std::nullopt);
  EXPECT_EQ(FromMilliseconds(4.7e9), std::nullopt);  // 2^62 ps is about 4.61e9 ms
  EXPECT_NE(FromMilliseconds(4.6e9), std::nullopt);
}

TEST(MillisecondsTest, RoundTripsPublishedDigits) {
  for (const double milliseconds : {27.92, 0.001, 65.3, 1234.567891}) {
    EXPECT_DOUBLE_EQ(ToMilliseconds(*FromMilliseconds(milliseconds)), milliseconds);
  }
}

TEST(CeilDivideTest, RoundsUp) {
  EXPECT_EQ(CeilDivide(0, 3), 0);
  EXPECT_EQ(CeilDivide(1, 3), 1);
  EXPECT_EQ(CeilDivide(3, 3), 1);
  EXPECT_EQ(CeilDivide(4, 3), 2);
  EXPECT_EQ(CeilDivide(std::numeric_limits<int64_t>::max(), 2), int64_t{1} << 62);
}

TEST(TransferTimeTest, RoundsUp) {
  EXPECT_EQ(TransferTime(0, 1), Picoseconds(0));
  EXPECT_EQ(TransferTime(1, 1e12), Picoseconds(1));
  EXPECT_EQ(TransferTime(1, 2e12), Picoseconds(1));
  EXPECT_EQ(TransferTime(1, 3), Picoseconds(333'333'333'334));
  EXPECT_EQ(TransferTime(16'000, 16e9), Picoseconds(1'000'000));
}

TEST(TransferTimeTest, IsExactWhereDoublesAreNot) {
  // (2^53 + 1) bytes x 1e12 needs 93 bits; a double would lose the last byte.
  const int64_t bytes = (int64_t{1} << 53) + 1;
  EXPECT_EQ(TransferTime(bytes, 1e12), Picoseconds(bytes));
  EXPECT_EQ(TransferTime(int64_t{1} << 62, 1e12), Picoseconds(int64_t{1} << 62));
}

TEST(TransferTimeTest, SaturatesInsteadOfOverflowing) {
  EXPECT_EQ(TransferTime(kMaxQuantity, 1), Picoseconds(kMaxQuantity));
  EXPECT_EQ(TransferTime(1, 1e-300), Picoseconds(1'000'000'000'000));
}

TEST(TransferTimeTest, KeepsBandwidthsBeyondInt64) {
  EXPECT_EQ(TransferTime(1, 1e300), Picoseconds(1));
  EXPECT_EQ(TransferTime(kMaxQuantity, 1e300), Picoseconds(1'000'000'000'000));
}

TEST(TransferTimeTest, RoundsAShareOnce) {
  // 2 x 1 / 3 bytes at 1 B/s, not 2 bytes divided by 3 afterwards.
  EXPECT_EQ(TransferTime(1, 2, 3, 1), Picoseconds(666'666'666'667));
  EXPECT_EQ(TransferTime(kMaxQuantity, 1 << 24, 1 << 24, 1e12), Picoseconds(kMaxQuantity));
  EXPECT_EQ(TransferTime(kMaxQuantity, 1 << 24, 1, 1), Picoseconds(kMaxQuantity));
}

TEST(MeanTimeTest, WeighsAndRoundsUp) {
  const std::vector<int64_t> counts = {1, 2, 0};
  const std::vector<Picoseconds> times = {Picoseconds(1), Picoseconds(3), Picoseconds(100)};
  EXPECT_EQ(MeanTime(counts, times), Picoseconds(3));  // 7 / 3
}

TEST(MeanTimeTest, OfNothingIsNothing) {
  EXPECT_EQ(MeanTime({}, {}), Picoseconds(0));
  EXPECT_EQ(MeanTime(std::vector<int64_t>{0}, std::vector<Picoseconds>{Picoseconds(5)}), Picoseconds(0));
}

TEST(MeanTimeTest, DoesNotOverflow) {
  const std::vector<int64_t> counts = {1'000'000, 1'000'000};
  const std::vector<Picoseconds> times(2, Picoseconds(kMaxQuantity));
  EXPECT_EQ(MeanTime(counts, times), Picoseconds(kMaxQuantity));
}

TEST(SaturatingTest, AddStopsAtTheMaximum) {
  EXPECT_EQ(SaturatingAdd(2, 3), 5);
  EXPECT_EQ(SaturatingAdd(kMaxQuantity, 0), kMaxQuantity);
  EXPECT_EQ(SaturatingAdd(kMaxQuantity - 1, 1), kMaxQuantity);
  EXPECT_EQ(SaturatingAdd(std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max()), kMaxQuantity);
}

TEST(SaturatingTest, MultiplyStopsAtTheMaximum) {
  EXPECT_EQ(SaturatingMultiply(0, kMaxQuantity), 0);
  EXPECT_EQ(SaturatingMultiply(kMaxQuantity, 0), 0);
  EXPECT_EQ(SaturatingMultiply(6, 7), 42);
  EXPECT_EQ(SaturatingMultiply(int64_t{1} << 31, int64_t{1} << 31), kMaxQuantity);
  EXPECT_EQ(SaturatingMultiply(int64_t{1} << 40, int64_t{1} << 40), kMaxQuantity);
}

}  // namespace
}  // namespace planwright
