// Bounds of layers that are dealt out to interleaved chunks against all ways to deal them out.
#include "core/joint/search/like_stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/joint/search/stage_table.h"
#include "core/joint/slots/chunk_slots.h"
#include "tests/property/cases.h"

namespace planwright {
namespace {

constexpr int64_t kMuchMemory = 1'000'000;
constexpr int64_t kAnything = 1'000'000'000;

// Layers that are nearly alike between two ends of any length; each is of a kind of its own, and all fit.
struct NearlyAlike {
  explicit NearlyAlike(uint64_t seed) {
    RandomStream random(seed, 1);
    interleaving.num_stages = static_cast<int32_t>(random.Between(2, 3));
    interleaving.chunks = static_cast<int32_t>(random.Between(2, 3));
    interleaving.micro_batches = interleaving.num_stages * random.Between(1, 3);
    const int64_t layers = interleaving.shape().num_chunks() + random.Between(0, 3);
    for (int64_t layer = 0; layer < layers; ++layer) {
      const bool is_end = layer == 0 || layer + 1 == layers;
      LayerPrice& price = prices.emplace_back();
      price.forward_ps = is_end ? random.Between(1, 600) : random.Between(100, 112);
      price.backward_ps = is_end ? random.Between(1, 600) : random.Between(200, 224);
      price.modes[0] = {0, 1};
      kinds.push_back(static_cast<int32_t>(layer));
    }
  }

  int32_t num_layers() const { return static_cast<int32_t>(kinds.size()); }
  int64_t WorkPs() const {
    int64_t work = 0;
    for (const LayerPrice& price : prices) work += price.forward_ps + price.backward_ps;
    return work;
  }

  std::vector<int32_t> kinds;
  std::vector<LayerPrice> prices;
  Interleaving interleaving;
};

// What the slots of both kinds take of the division that takes least.
class AllDivisions {
 public:
  explicit AllDivisions(const NearlyAlike& chain) : chain_(chain) {}

  int64_t LeastPs() {
    AddChunk(0);
    return least_;
  }

 private:
  void AddChunk(int32_t first) {
    const SlotShape shape = chain_.interleaving.shape();
    const auto left = static_cast<int32_t>(shape.num_chunks()) - static_cast<int32_t>(forward_.size());
    if (left == 0) {
      least_ = std::min(least_, SlotsPs(forward_, shape) + SlotsPs(backward_, shape));
      return;
    }
    forward_.push_back(0);
    backward_.push_back(0);
    for (int32_t end = first + 1; end <= chain_.num_layers() - left + 1; ++end) {
      const LayerPrice& price = chain_.prices[static_cast<std::size_t>(end - 1)];
      forward_.back() += price.forward_ps;
      backward_.back() += price.backward_ps;
      if (left > 1 || end == chain_.num_layers()) AddChunk(end);
    }
    forward_.pop_back();
    backward_.pop_back();
  }

  const NearlyAlike& chain_;
  std::vector<int64_t> forward_;
  std::vector<int64_t> backward_;
  int64_t least_ = std::numeric_limits<int64_t>::max();
};

TEST(LikeStagesTest, NoDivisionOfLayersNearlyAlikeTakesLess) {
  double by_levels = 0;
  double dealt = 0;
  const uint64_t cases = NumCases(1'000);
  for (uint64_t seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const NearlyAlike chain(seed);
    const SegmentNumbers segments(chain.kinds);
    const StageTable table(segments, chain.kinds, chain.prices, {true, true, true}, kMuchMemory);
    const SolveLimits limits;
    Poller poller(limits);
    LikeStages stages(table, chain.num_layers(), chain.interleaving, poller);
    ASSERT_TRUE(stages.are_alike());
    const auto least = static_cast<double>(AllDivisions(chain).LeastPs());
    const auto of_levels = static_cast<double>(stages.LeastSlotsPs(chain.WorkPs(), stages.LeastChunkPs()));
    const auto of_deals = static_cast<double>(stages.LeastDealtPs(kAnything));
    ASSERT_LE(of_levels, least);
    ASSERT_LE(of_deals, least);
    by_levels += least / of_levels;
    dealt += least / of_deals;
  }
  EXPECT_LE(by_levels, 1.03 * static_cast<double>(cases));
  // 1.102 without what they take beyond the shortest.
  EXPECT_LE(dealt, 1.095 * static_cast<double>(cases));
}

}  // namespace
}  // namespace planwright
