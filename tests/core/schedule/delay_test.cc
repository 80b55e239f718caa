#include "core/schedule/delay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace planwright {
namespace {

constexpr int64_t kPeriod = 7;

Delay OfLength(int64_t length) { return {static_cast<int32_t>(length / kPeriod), Picoseconds(length % kPeriod)}; }

int64_t CeilOf(int64_t length) { return (length + kPeriod - 1) / kPeriod; }

// x (+) y as the paper prints it, with the exception for x = 0 that its groups imply.
int64_t PaperSum(int64_t x, int64_t y) {
  return x == 0 || CeilOf(x) == CeilOf(x + y) ? x + y : kPeriod * CeilOf(x) + y;
}

TEST(DelayTest, AddsAsThePaperDoes) {
  for (int64_t x = 0; x < 4 * kPeriod; ++x) {
    for (int64_t y = 0; y <= kPeriod; ++y) {
      const Delay sum = OfLength(x).Behind(Picoseconds(y), Picoseconds(kPeriod));
      EXPECT_EQ(sum.Length(Picoseconds(kPeriod)).count(), PaperSum(x, y)) << x << " (+) " << y;
      EXPECT_EQ(sum.Batches(), std::max<int64_t>(1, CeilOf(PaperSum(x, y))));
    }
  }
}

TEST(DelayTest, GrowsWithTheDelayBehind) {
  for (int64_t x = 0; x < 4 * kPeriod; ++x) {
    EXPECT_LT(OfLength(x), OfLength(x + 1));
    for (int64_t y = 0; y <= kPeriod; ++y) {
      EXPECT_LE(OfLength(x).Behind(Picoseconds(y), Picoseconds(kPeriod)),
                OfLength(x + 1).Behind(Picoseconds(y), Picoseconds(kPeriod)));
    }
  }
}

TEST(DelayTest, TwoLinksNeverWait) {
  const ChainCut cut{.send_forward = Picoseconds(6), .send_backward = Picoseconds(7)};
  EXPECT_EQ(LinkLoad(cut, /*full_duplex=*/true), Picoseconds(7));
  EXPECT_EQ(LinkLoad(cut, /*full_duplex=*/false), Picoseconds(13));
  EXPECT_EQ(AcrossCut(OfLength(5), cut, /*full_duplex=*/true, Picoseconds(kPeriod)), OfLength(18));
}

}  // namespace
}  // namespace planwright
