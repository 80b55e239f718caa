// Bounds of layers that are dealt out to interleaved chunks against all ways to deal them out.
#include "core/joint/dealing/like_stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/slots/chunk_slots.h"
#include "core/joint/slots/cut_shifts.h"
#include "core/joint/stages/stage_table.h"
#include "tests/property/cases.h"

namespace planwright {
namespace {

constexpr int64_t kMuchMemory = 1'000'000;
constexpr int64_t kAnything = 1'000'000'000;
constexpr auto kKeptMode = static_cast<std::size_t>(LayerRecomputation::kNone);
constexpr auto kFullMode = static_cast<std::size_t>(LayerRecomputation::kFull);

// Layers that are nearly alike between two ends of any length, each of a kind of its own; or alike. They are kept or
// computed again.
struct DealtChain {
  DealtChain(uint64_t seed, bool are_alike) {
    RandomStream random(seed, 1);
    interleaving.num_stages = static_cast<int32_t>(random.Between(2, 3));
    interleaving.chunks = static_cast<int32_t>(random.Between(2, 3));
    interleaving.micro_batches = interleaving.num_stages * random.Between(1, 3);
    const int64_t layers = interleaving.shape().num_chunks() + random.Between(0, 3);
    for (int64_t layer = 0; layer < layers; ++layer) {
      const bool is_end = layer == 0 || layer + 1 == layers;
      LayerPrice& price = prices.emplace_back();
      price.forward_ps = is_end ? random.Between(1, 600) : random.Between(100, are_alike ? 100 : 112);
      price.backward_ps = is_end ? random.Between(1, 600) : random.Between(200, are_alike ? 200 : 224);
      price.parameter_bytes = 3;
      price.modes[kKeptMode] = {0, is_end ? random.Between(1, 20) : random.Between(10, are_alike ? 10 : 11)};
      if (!is_end) price.modes[kFullMode] = {price.forward_ps, 1};
      kinds.push_back(is_end || !are_alike ? static_cast<int32_t>(layer) : 1);
    }
    memory_bytes = random.Between(10, 30) * interleaving.shape().num_chunks();
  }

  int32_t num_layers() const { return static_cast<int32_t>(kinds.size()); }
  int64_t WorkPs() const {
    int64_t work = 0;
    for (const LayerPrice& price : prices) work += price.forward_ps + price.backward_ps;
    return work;
  }

  std::vector<int32_t> kinds;
  // By layer; those of layers alike are equal.
  std::vector<LayerPrice> prices;
  Interleaving interleaving;
  int64_t memory_bytes = 0;
};

// What the slots of both kinds take of the division that takes least, where each stage keeps what it may.
class AllDivisions {
 public:
  AllDivisions(const DealtChain& chain, const StageTable& table) : chain_(chain), table_(table) {}

  // kNoDivision: none fits.
  int64_t LeastPs() {
    AddChunk(0);
    return least_;
  }

  static constexpr int64_t kNoDivision = std::numeric_limits<int64_t>::max();

 private:
  void AddChunk(int32_t first) {
    const auto left =
        static_cast<int32_t>(chain_.interleaving.shape().num_chunks()) - static_cast<int32_t>(runs_.size());
    if (left == 0) return Judge();
    for (int32_t end = left > 1 ? first + 1 : chain_.num_layers(); end <= chain_.num_layers() - left + 1; ++end) {
      runs_.push_back({first, end});
      AddChunk(end);
      runs_.pop_back();
    }
  }

  void Judge() {
    const SlotShape shape = chain_.interleaving.shape();
    std::vector<int64_t> forward(runs_.size(), 0);
    std::vector<int64_t> backward(runs_.size(), 0);
    for (int64_t stage = 0; stage < shape.num_stages; ++stage) {
      std::vector<LayerRun> own;
      for (auto chunk = static_cast<std::size_t>(stage); chunk < runs_.size();
           chunk += static_cast<std::size_t>(shape.num_stages)) {
        own.push_back(runs_[chunk]);
      }
      const int64_t in_flight = HeldBy(PipelineOrder::kInterleaved, shape.micro_batches, shape.num_stages - stage,
                                       shape.num_stages, shape.chunks)
                                    .whole;
      const auto modes = table_.ModesOfRuns(own, in_flight);
      if (modes.empty()) return;
      for (std::size_t i = 0; i < own.size(); ++i) {
        const std::size_t chunk = static_cast<std::size_t>(stage) + i * static_cast<std::size_t>(shape.num_stages);
        for (int32_t layer = own[i].first; layer < own[i].end; ++layer) {
          const LayerPrice& price = chain_.prices[static_cast<std::size_t>(layer)];
          const auto mode = static_cast<std::size_t>(modes[i][static_cast<std::size_t>(layer - own[i].first)]);
          forward[chunk] += price.forward_ps;
          backward[chunk] += price.backward_ps + price.modes[mode]->extra_ps;
        }
      }
    }
    least_ = std::min(least_, SlotsPs(forward, shape) + SlotsPs(backward, shape));
  }

  const DealtChain& chain_;
  const StageTable& table_;
  std::vector<LayerRun> runs_;
  int64_t least_ = kNoDivision;
};

std::vector<LayerPrice> PricesByKind(const DealtChain& chain) {
  std::vector<LayerPrice> prices(chain.prices.size());
  for (std::size_t layer = 0; layer < chain.prices.size(); ++layer) {
    prices[static_cast<std::size_t>(chain.kinds[layer])] = chain.prices[layer];
  }
  return prices;
}

const std::vector<LayerRecomputation> kAllModes = {LayerRecomputation::kNone, LayerRecomputation::kSelective,
                                                   LayerRecomputation::kFull};

struct Ratios {
  int64_t plans = 0;
  // Of the least slots over their bounds.
  double by_levels = 0;
  double dealt = 0;
};

void Look(const DealtChain& chain, int64_t memory_bytes, Ratios& ratios) {
  const SegmentNumbers segments(chain.kinds);
  const StageTable table(segments, chain.kinds, PricesByKind(chain), kAllModes, memory_bytes);
  const SolveLimits limits;
  Poller poller(limits);
  LikeStages stages(table, chain.num_layers(), chain.interleaving, poller);
  ASSERT_TRUE(stages.are_alike());
  const int64_t least = AllDivisions(chain, table).LeastPs();
  if (least == AllDivisions::kNoDivision) return;
  const int64_t longest = stages.LeastChunkPs();
  ASSERT_NE(longest, kDoesNotFit);
  const int64_t by_levels = stages.LeastSlotsPs(chain.WorkPs(), longest);
  const int64_t dealt = stages.LeastDealtPs(kAnything);
  ASSERT_LE(by_levels, least);
  ASSERT_LE(dealt, least);
  ++ratios.plans;
  ratios.by_levels += static_cast<double>(least) / static_cast<double>(by_levels);
  ratios.dealt += static_cast<double>(least) / static_cast<double>(dealt);
}

TEST(LikeStagesTest, NoDivisionOfLayersNearlyAlikeTakesLess) {
  Ratios ratios;
  for (uint64_t seed = 0; seed < NumCases(1'000) && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Look(DealtChain(seed, false), kMuchMemory, ratios);
  }
  ASSERT_GE(ratios.plans, 1'000 * CasesFactor());
  EXPECT_LE(ratios.by_levels, 1.03 * static_cast<double>(ratios.plans));
  EXPECT_LE(ratios.dealt, 1.04 * static_cast<double>(ratios.plans));
}

TEST(LikeStagesTest, NorDoesOneOfWhichStagesKeepSomeLayers) {
  for (const bool are_alike : {true, false}) {
    SCOPED_TRACE(are_alike ? "alike" : "nearly alike");
    Ratios ratios;
    for (uint64_t seed = 0; seed < NumCases(1'000) && !HasFatalFailure(); ++seed) {
      SCOPED_TRACE(absl::StrCat("seed ", seed));
      const DealtChain chain(seed, are_alike);
      Look(chain, chain.memory_bytes, ratios);
    }
    ASSERT_GE(ratios.plans, 500 * CasesFactor());
    EXPECT_LE(ratios.by_levels, (are_alike ? 1.035 : 1.065) * static_cast<double>(ratios.plans));
    EXPECT_LE(ratios.dealt, (are_alike ? 1.035 : 1.06) * static_cast<double>(ratios.plans));
  }
}

}  // namespace
}  // namespace planwright
