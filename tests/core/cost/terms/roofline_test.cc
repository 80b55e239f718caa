#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/cost/terms/cost_table.h"
#include "tests/support/small_models.h"

namespace planwright {
namespace {

// 1 TFLOP/s of which half is reached, 1 GB/s, 0.01 ms to start.
DeviceClass SmallDevice() {
  DeviceClass device_class;
  device_class.peak_flops = 1e12;
  device_class.compute_efficiency = 0.5;
  device_class.memory_bandwidth_bytes_per_second = 1e9;
  device_class.kernel_overhead = Picoseconds(10'000'000);
  return device_class;
}

Picoseconds Microseconds(int64_t microseconds) { return Picoseconds(microseconds * 1'000'000); }

// docs/cost-model-examples.md, example 10: 2e9 / 5e11 = 4 ms of arithmetic; 3 or 6 ms of traffic.
TEST(RooflineTest, TakesTheSlowerOfArithmeticAndTraffic) {
  EXPECT_EQ(RooflineTime(SmallDevice(), 2e9, 3'000'000), Microseconds(4'010));
  EXPECT_EQ(RooflineTime(SmallDevice(), 2e9, 6'000'000), Microseconds(6'010));
}

TEST(RooflineTest, OneNumberIsEnough) {
  EXPECT_EQ(RooflineTime(SmallDevice(), 2e9, 0), Microseconds(4'010));
  EXPECT_EQ(RooflineTime(SmallDevice(), 0, 3'000'000), Microseconds(3'010));
}

TEST(RooflineTest, RoundsToTheNearestPicosecond) {
  DeviceClass device_class = SmallDevice();
  device_class.kernel_overhead = Picoseconds(0);
  device_class.peak_flops = 6e12;  // 3 FLOP per picosecond
  EXPECT_EQ(RooflineTime(device_class, 4, 0), Picoseconds(1));
  EXPECT_EQ(RooflineTime(device_class, 5, 0), Picoseconds(2));
}

TEST(RooflineTest, KnowsNothingWithoutNumbers) {
  EXPECT_EQ(RooflineTime(SmallDevice(), 0, 0), std::nullopt);
  DeviceClass device_class = SmallDevice();
  device_class.peak_flops = 0;
  EXPECT_EQ(RooflineTime(device_class, 1, 1), std::nullopt);
  EXPECT_EQ(RooflineTime(device_class, 0, 3'000'000), Microseconds(3'010));
  device_class = SmallDevice();
  device_class.memory_bandwidth_bytes_per_second = 0;
  EXPECT_EQ(RooflineTime(device_class, 1, 1), std::nullopt);
  EXPECT_EQ(RooflineTime(device_class, 2e9, 0), Microseconds(4'010));
}

}  // namespace
}  // namespace planwright
