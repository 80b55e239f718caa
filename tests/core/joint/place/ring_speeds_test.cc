// How fast rings can be, against every ring of every set of devices.
#include "core/joint/place/ring_speeds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/limits.h"
#include "core/base/polling.h"
#include "core/base/random.h"
#include "core/joint/cost/pair_links.h"

namespace planwright {
namespace {

constexpr std::size_t kRingDevices = 6;
constexpr TrainingLink kFastestOfRing{100e9, 7};

class SymmetricPairs : public PairLinks {
 public:
  // `bandwidths`: by both devices.
  explicit SymmetricPairs(std::vector<double> bandwidths) : bandwidths_(std::move(bandwidths)) {}

  TrainingLink Between(DeviceId a, DeviceId b) const override {
    return {bandwidths_[a.index() * kRingDevices + b.index()], 7};
  }

 private:
  std::vector<double> bandwidths_;
};

TrainingCluster ClusterOf(const std::vector<double>& bandwidths) {
  TrainingCluster cluster{.classes = {}, .devices = {}, .inside = kFastestOfRing, .between = kFastestOfRing};
  for (std::size_t d = 0; d < kRingDevices; ++d) cluster.devices.emplace_back(d);
  cluster.pairs = std::make_shared<SymmetricPairs>(bandwidths);
  return cluster;
}

std::vector<double> RandomBandwidths(uint64_t seed) {
  RandomStream random(seed);
  std::vector<double> bandwidths(kRingDevices * kRingDevices, 0);
  for (std::size_t a = 0; a < kRingDevices; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      bandwidths[a * kRingDevices + b] = bandwidths[b * kRingDevices + a] =
          1e9 * static_cast<double>(random.Between(1, 60));
    }
  }
  return bandwidths;
}

// The fastest slowest link of a ring of so many devices, whichever they are and in whatever order.
double FastestRing(const std::vector<double>& bandwidths, std::size_t ranks) {
  std::vector<std::size_t> order(kRingDevices);
  std::iota(order.begin(), order.end(), std::size_t{0});
  double best = 0;
  do {
    double slowest = kFastestOfRing.bytes_per_second;
    for (std::size_t r = 0; r < ranks; ++r) {
      slowest = std::min(slowest, bandwidths[order[r] * kRingDevices + order[(r + 1) % ranks]]);
    }
    best = std::max(best, slowest);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(RingSpeedsTest, NoRingIsFaster) {
  const SolveLimits limits;
  Poller poller(limits);
  for (uint64_t seed = 0; seed < 60 && !testing::Test::HasFailure(); ++seed) {
    const std::vector<double> bandwidths = RandomBandwidths(seed);
    const RingSpeeds speeds(ClusterOf(bandwidths), poller);
    for (std::size_t ranks = 2; ranks <= kRingDevices; ++ranks) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, ", ring of ", ranks));
      const double fastest = FastestRing(bandwidths, ranks);
      const TrainingLink best = speeds.BestOf(static_cast<int64_t>(ranks), kFastestOfRing);
      EXPECT_GE(best.bytes_per_second, fastest);
      EXPECT_EQ(best.latency_ps, kFastestOfRing.latency_ps);
      // A pair needs one link.
      if (ranks == 2) {
        EXPECT_EQ(best.bytes_per_second, fastest);
      }
    }
  }
}

// Neighbours on a ring of devices have 40 GB/s, others 10.
TEST(RingSpeedsTest, IsMetWhereTheDevicesAreARing) {
  std::vector<double> bandwidths(kRingDevices * kRingDevices, 10e9);
  for (std::size_t d = 0; d < kRingDevices; ++d) {
    const std::size_t next = (d + 1) % kRingDevices;
    bandwidths[d * kRingDevices + next] = bandwidths[next * kRingDevices + d] = 40e9;
  }
  const SolveLimits limits;
  Poller poller(limits);
  const RingSpeeds speeds(ClusterOf(bandwidths), poller);
  EXPECT_EQ(speeds.BestOf(static_cast<int64_t>(kRingDevices), kFastestOfRing).bytes_per_second, 40e9);
  EXPECT_EQ(speeds.BestOf(2, kFastestOfRing).bytes_per_second, 40e9);
  // One device alone needs none, and none is faster than the fastest.
  EXPECT_EQ(speeds.BestOf(1, kFastestOfRing).bytes_per_second, kFastestOfRing.bytes_per_second);
  EXPECT_EQ(speeds.BestOf(2, {20e9, 7}).bytes_per_second, 20e9);
}

}  // namespace
}  // namespace planwright
