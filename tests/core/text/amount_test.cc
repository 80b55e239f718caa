#include "core/text/amount.h"

#include <gtest/gtest.h>

#include <optional>

namespace planwright {
namespace {

TEST(AmountTest, ReadsEveryKindOfUnit) {
  EXPECT_EQ(ParseAmount("80 GB", kMemoryAmount), 80e9);
  EXPECT_EQ(ParseAmount("80GiB", kMemoryAmount), 80.0 * (int64_t{1} << 30));
  EXPECT_EQ(ParseAmount("1.5 TiB", kMemoryAmount), 1.5 * (int64_t{1} << 40));
  EXPECT_EQ(ParseAmount("7 B", kMemoryAmount), 7);
  EXPECT_EQ(ParseAmount("400 Gb/s", kBandwidthAmount), 50e9);
  EXPECT_EQ(ParseAmount("400 Gbit/s", kBandwidthAmount), 50e9);
  EXPECT_EQ(ParseAmount("400   Gbps", kBandwidthAmount), 50e9);
  EXPECT_EQ(ParseAmount("50 GB/s", kBandwidthAmount), 50e9);
  EXPECT_EQ(ParseAmount("2 KiB/s", kBandwidthAmount), 2048);
  EXPECT_EQ(ParseAmount("989 TFLOPS", kComputeSpeedAmount), 989e12);
  EXPECT_EQ(ParseAmount("1.2e0 PFLOP/s", kComputeSpeedAmount), 1.2e15);
  EXPECT_EQ(ParseAmount("5 us", kTimeAmount), 0.005);
  EXPECT_EQ(ParseAmount("5 \u00b5s", kTimeAmount), 0.005);
  EXPECT_EQ(ParseAmount("5 \u03bcs", kTimeAmount), 0.005);
  EXPECT_EQ(ParseAmount("2 s", kTimeAmount), 2000);
}

TEST(AmountTest, BitsAreNotBytes) {
  EXPECT_EQ(ParseAmount("8 Gb/s", kBandwidthAmount), ParseAmount("1 GB/s", kBandwidthAmount));
  EXPECT_EQ(ParseAmount("8 gb/s", kBandwidthAmount), std::nullopt);
  EXPECT_EQ(ParseAmount("8 Gb", kMemoryAmount), std::nullopt);
}

TEST(AmountTest, RefusesWhatIsNoAmount) {
  for (const char* text : {"", " ", "GB", "80", "80 G B", "80 GB ", " 80 GB", "-1 GB", "-0 GB", "+1 GB", "nan GB",
                           "inf GB", "0x10 GB", "1,000 GB", "80 GB/s", "eighty GB", "1e999 GB"}) {
    EXPECT_EQ(ParseAmount(text, kMemoryAmount), std::nullopt) << text;
  }
}

TEST(AmountTest, KeepsToTheRangeOfTheDimension) {
  EXPECT_EQ(ParseAmount("0 GB", kMemoryAmount), std::nullopt);
  EXPECT_EQ(ParseAmount("0 GB", kReservedMemoryAmount), 0);
  EXPECT_EQ(ParseAmount("0 us", kTimeAmount), 0);
  EXPECT_EQ(ParseAmount("0 GB/s", kBandwidthAmount), std::nullopt);
  EXPECT_EQ(ParseAmount("4194304 TiB", kMemoryAmount), 4611686018427387904.0);
  EXPECT_EQ(ParseAmount("4194305 TiB", kMemoryAmount), std::nullopt);
  EXPECT_EQ(ParseAmount("1e308 TB/s", kBandwidthAmount), std::nullopt);
}

TEST(AmountTest, SizesAreBytesOrAmountsOfMemory) {
  EXPECT_EQ(ParseSize("0"), 0);
  EXPECT_EQ(ParseSize("1000"), 1000);
  EXPECT_EQ(ParseSize("3KiB"), 3 * 1024);
  EXPECT_EQ(ParseSize("1.5 GB"), 1'500'000'000);
  EXPECT_EQ(ParseSize("0 B"), 0);
  EXPECT_EQ(ParseSize("4611686018427387904"), int64_t{1} << 62);
  for (const char* text : {"", "GiB", "-1", "-0", "1.5", "1 MiB GiB", "4611686018427387905", "9 Gb", "1e3"}) {
    EXPECT_EQ(ParseSize(text), std::nullopt) << text;
  }
}

TEST(AmountTest, NumbersHaveNoUnit) {
  EXPECT_EQ(ParseNumber("0.5"), 0.5);
  EXPECT_EQ(ParseNumber("5e-1"), 0.5);
  for (const char* text : {"", "0.5 ", "50 %", "-0.5", "nan", "half"})
    EXPECT_EQ(ParseNumber(text), std::nullopt) << text;
}

}  // namespace
}  // namespace planwright
