// How fast so many devices reach each other, against every set of them.
#include "core/joint/place/linked_devices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/polling.h"
#include "core/base/random.h"
#include "core/joint/cost/pair_links.h"

namespace planwright {
namespace {

constexpr std::size_t kDevices = 6;
constexpr TrainingLink kFastest{1e12, 3};

class SomePairs : public PairLinks {
 public:
  // `links`: by both devices.
  explicit SomePairs(std::vector<TrainingLink> links) : links_(std::move(links)) {}

  TrainingLink Between(DeviceId a, DeviceId b) const override { return links_[a.index() * kDevices + b.index()]; }

 private:
  std::vector<TrainingLink> links_;
};

std::vector<TrainingLink> RandomLinks(uint64_t seed) {
  RandomStream random(seed);
  std::vector<TrainingLink> links(kDevices * kDevices);
  for (std::size_t a = 0; a < kDevices; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const TrainingLink link{1e9 * static_cast<double>(random.Between(1, 9)), random.Between(0, 5)};
      links[a * kDevices + b] = links[b * kDevices + a] = link;
    }
  }
  return links;
}

// Whether the devices in `set` all reach each other over links of them that are no slower than `bandwidth`.
bool AreJoined(const std::vector<TrainingLink>& links, unsigned set, double bandwidth) {
  unsigned reached = set & ~(set - 1);
  for (std::size_t round = 0; round < kDevices; ++round) {
    for (std::size_t a = 0; a < kDevices; ++a) {
      for (std::size_t b = 0; b < kDevices && (reached >> a & 1) != 0; ++b) {
        if (a != b && links[a * kDevices + b].bytes_per_second >= bandwidth) reached |= (1U << b) & set;
      }
    }
  }
  return reached == set;
}

double FastestOf(const std::vector<TrainingLink>& links, int count) {
  double best = 0;
  for (unsigned set = 1; set < (1U << kDevices); ++set) {
    if (std::popcount(set) != count) continue;
    for (const TrainingLink& link : links) {
      if (link.bytes_per_second > best && AreJoined(links, set, link.bytes_per_second)) best = link.bytes_per_second;
    }
  }
  return best;
}

TEST(LinkedDevicesTest, AreTheNearestOfAllSets) {
  for (uint64_t seed = 0; seed < 60 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<TrainingLink> links = RandomLinks(seed);
    TrainingCluster cluster{.classes = {}, .devices = {}, .inside = kFastest, .between = kFastest};
    for (std::size_t device = 0; device < kDevices; ++device) cluster.devices.emplace_back(device);
    cluster.pairs = std::make_shared<SomePairs>(links);
    const SolveLimits limits;
    Poller poller(limits);
    const LinkedDevices linked(cluster, poller);
    for (int count = 2; count <= static_cast<int>(kDevices); ++count) {
      EXPECT_EQ(linked.LinkOf(count, kFastest).bytes_per_second, FastestOf(links, count)) << count;
      EXPECT_LE(linked.LinkOf(count, kFastest).latency_ps, 5);
    }
    EXPECT_EQ(linked.LinkOf(1, kFastest), kFastest);
    EXPECT_EQ(linked.LinkOf(kDevices + 1, kFastest), kFastest);
  }
}

}  // namespace
}  // namespace planwright
