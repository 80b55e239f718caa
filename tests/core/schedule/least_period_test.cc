#include "core/schedule/least_period.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace planwright {
namespace {

struct Probed {
  std::optional<Picoseconds> least;
  int probes = 0;
};

// Where periods of at least `threshold` are possible; a probe that succeeds knows a period `gain` shorter, if there is.
Probed Search(int64_t low, int64_t high, int64_t threshold, int64_t gain) {
  Probed probed;
  probed.least = LeastPeriod(Picoseconds(low), Picoseconds(high), [&](Picoseconds period) {
    ++probed.probes;
    const Picoseconds known = std::max(Picoseconds(threshold), period - Picoseconds(gain));
    return period.count() < threshold ? std::nullopt : std::optional(known);
  });
  return probed;
}

TEST(LeastPeriodTest, FindsEveryThreshold) {
  for (int64_t high = 3; high < 20; ++high) {
    for (int64_t threshold = 3; threshold <= high; ++threshold) {
      EXPECT_EQ(Search(3, high, threshold, 0).least, Picoseconds(threshold));
      EXPECT_EQ(Search(3, high, threshold, 2).least, Picoseconds(threshold));
    }
    EXPECT_EQ(Search(3, high, high + 1, 0).least, std::nullopt);
  }
}

TEST(LeastPeriodTest, TakesFewProbes) {
  EXPECT_EQ(Search(5, int64_t{1} << 40, 4, 0).probes, 1);
  EXPECT_LE(Search(0, int64_t{1} << 40, 123'456'789'012, 0).probes, 42);
  EXPECT_LE(Search(0, int64_t{1} << 40, 123'456'789'012, int64_t{1} << 36).probes, 40);
  EXPECT_EQ(Search(7, 7, 8, 0).probes, 1);
}

}  // namespace
}  // namespace planwright
