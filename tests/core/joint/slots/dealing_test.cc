// Cuts and dealt layers of interleaved pipelines against all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "core/base/interruption.h"
#include "core/base/random.h"
#include "core/joint/slots/chunk_slots.h"
#include "core/joint/slots/cut_shifts.h"
#include "core/joint/slots/layer_dealing.h"
#include "tests/property/cases.h"

namespace planwright {
namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
const SolveLimits kNoLimits;

LayerChain RandomChain(RandomStream& random, int64_t num_layers) {
  LayerChain chain;
  const int64_t cut = 2 * random.Between(0, 10);
  for (int64_t layer = 0; layer < num_layers; ++layer) {
    const int64_t forward = random.Between(10, 20);
    chain.layers.push_back({forward, 2 * forward});
    chain.cut.push_back(layer == 0 ? 0 : cut);
  }
  chain.cut.push_back(0);
  return chain;
}

int64_t SlotsOf(const LayerChain& chain, const std::vector<int32_t>& cuts, const SlotShape& shape) {
  std::vector<int64_t> forward;
  std::vector<int64_t> backward;
  for (std::size_t chunk = 0; chunk + 1 < cuts.size(); ++chunk) {
    const auto begin = static_cast<std::size_t>(cuts[chunk]);
    const auto end = static_cast<std::size_t>(cuts[chunk + 1]);
    forward.push_back((chain.cut[begin] + chain.cut[end]) / 2);
    backward.push_back(forward.back());
    for (std::size_t layer = begin; layer < end; ++layer) {
      forward.back() += chain.layers[layer].forward;
      backward.back() += chain.layers[layer].backward;
    }
  }
  return SlotsPs(forward, shape) + SlotsPs(backward, shape);
}

int64_t LeastOfAllCuts(const LayerChain& chain, const SlotShape& shape, std::vector<int32_t>& cuts) {
  const auto num_layers = static_cast<int32_t>(chain.layers.size());
  const auto left = static_cast<int32_t>(shape.num_chunks()) - static_cast<int32_t>(cuts.size());
  if (left == 0) {
    cuts.push_back(num_layers);
    const int64_t slots = SlotsOf(chain, cuts, shape);
    cuts.pop_back();
    return slots;
  }
  int64_t least = kNone;
  for (int32_t cut = cuts.back() + 1; cut + left <= num_layers; ++cut) {
    cuts.push_back(cut);
    least = std::min(least, LeastOfAllCuts(chain, shape, cuts));
    cuts.pop_back();
  }
  return least;
}

std::vector<int32_t> EqualCuts(const SlotShape& shape, int32_t num_layers) {
  std::vector<int32_t> cuts;
  for (int64_t chunk = 0; chunk <= shape.num_chunks(); ++chunk) {
    cuts.push_back(static_cast<int32_t>(chunk * num_layers / shape.num_chunks()));
  }
  return cuts;
}

TEST(CutShiftsTest, AreHardlyWorseThanTheBestOfAllCuts) {
  double before = 0;
  double after = 0;
  const uint64_t cases = NumCases(200);
  for (uint64_t seed = 0; seed < cases; ++seed) {
    RandomStream random(seed, 1);
    const int64_t stages = random.Between(2, 3);
    const SlotShape shape{stages, 2, stages * random.Between(1, 3)};
    const LayerChain chain = RandomChain(random, random.Between(shape.num_chunks(), 12));
    const auto num_layers = static_cast<int32_t>(chain.layers.size());
    Poller poller(kNoLimits);
    const std::vector<int32_t> start = EqualCuts(shape, num_layers);
    const std::vector<int32_t> cuts = WithCutsShifted(chain, start, shape, poller);
    ASSERT_EQ(cuts.size(), start.size());
    ASSERT_EQ(cuts.front(), 0);
    ASSERT_EQ(cuts.back(), num_layers);
    ASSERT_TRUE(std::is_sorted(cuts.begin(), cuts.end(), std::less_equal<>())) << "a chunk has no layer";
    std::vector<int32_t> first{0};
    const auto least = static_cast<double>(LeastOfAllCuts(chain, shape, first));
    before += static_cast<double>(SlotsOf(chain, start, shape)) / least;
    after += static_cast<double>(SlotsOf(chain, cuts, shape)) / least;
  }
  EXPECT_GE(before, 1.03 * static_cast<double>(cases));
  EXPECT_LE(after, 1.01 * static_cast<double>(cases));
}

// Stages that keep so many layers of a chunk, and compute the others again, up to three.
struct Keeping {
  SlotShape shape;
  std::vector<int32_t> kept;

  std::vector<LayerPasses> PassesOf(int32_t stage, const std::vector<int32_t>& layers) const {
    std::vector<LayerPasses> passes;
    for (const int64_t own : layers) {
      const int64_t again = std::max<int64_t>(0, own - kept[static_cast<std::size_t>(stage)]);
      if (again > 3) return {};
      passes.push_back({10 * own, 20 * own + 10 * again});
    }
    return passes;
  }

  int64_t SlotsOf(const std::vector<int32_t>& layers) const {
    std::vector<int64_t> forward;
    std::vector<int64_t> backward;
    for (std::size_t chunk = 0; chunk < layers.size(); ++chunk) {
      const auto stage = static_cast<int32_t>(chunk % static_cast<std::size_t>(shape.num_stages));
      const std::vector<LayerPasses> passes = PassesOf(stage, {layers[chunk]});
      if (passes.empty()) return kNone;
      forward.push_back(passes.front().forward);
      backward.push_back(passes.front().backward);
    }
    return SlotsPs(forward, shape) + SlotsPs(backward, shape);
  }
};

int64_t LeastOfAllDeals(const Keeping& keeping, int32_t left, std::vector<int32_t>& layers) {
  const auto behind = static_cast<int32_t>(keeping.shape.num_chunks()) - 1 - static_cast<int32_t>(layers.size());
  int64_t least = kNone;
  for (int32_t own = behind == 0 ? left : 1; own + behind <= left; ++own) {
    layers.push_back(own);
    least = std::min(least, behind == 0 ? keeping.SlotsOf(layers) : LeastOfAllDeals(keeping, left - own, layers));
    layers.pop_back();
  }
  return least;
}

TEST(LayerDealingTest, IsHardlyWorseThanTheBestOfAllDeals) {
  double ratios = 0;
  int64_t held = 0;
  for (uint64_t seed = 0; seed < NumCases(300); ++seed) {
    RandomStream random(seed, 2);
    const int64_t stages = random.Between(2, 3);
    Keeping keeping{{stages, stages == 2 ? random.Between(2, 3) : 2, stages * random.Between(1, 3)}, {}};
    for (int64_t stage = 0; stage < stages; ++stage) keeping.kept.push_back(static_cast<int32_t>(random.Between(0, 3)));
    const auto chunks = static_cast<std::size_t>(keeping.shape.num_chunks());
    DealQuestion question;
    question.shape = keeping.shape;
    question.fewest.assign(chunks, 1);
    question.num_layers = static_cast<int32_t>(chunks) + static_cast<int32_t>(random.Between(0, 8));
    question.passes_of = [&](int32_t stage, const std::vector<int32_t>& own) { return keeping.PassesOf(stage, own); };
    Poller poller(kNoLimits);
    const std::vector<int32_t> dealt = DealLayers(question, {}, poller);
    std::vector<int32_t> none;
    const int64_t least = LeastOfAllDeals(keeping, question.num_layers, none);
    ASSERT_EQ(dealt.empty(), least == kNone) << "seed " << seed;
    if (dealt.empty()) continue;
    ASSERT_EQ(std::accumulate(dealt.begin(), dealt.end(), 0), question.num_layers);
    ASSERT_GE(*std::min_element(dealt.begin(), dealt.end()), 1);
    ratios += static_cast<double>(keeping.SlotsOf(dealt)) / static_cast<double>(least);
    ++held;
  }
  ASSERT_GT(held, 200 * CasesFactor());
  EXPECT_LE(ratios, 1.01 * static_cast<double>(held));
}

TEST(CutShiftsTest, HeedWhatStagesKeep) {
  double before = 0;
  double after = 0;
  int64_t held = 0;
  for (uint64_t seed = 0; seed < NumCases(300); ++seed) {
    RandomStream random(seed, 3);
    const int64_t stages = random.Between(2, 3);
    Keeping keeping{{stages, 2, stages * random.Between(1, 3)}, {}};
    for (int64_t stage = 0; stage < stages; ++stage) keeping.kept.push_back(static_cast<int32_t>(random.Between(0, 3)));
    const auto num_layers = static_cast<int32_t>(keeping.shape.num_chunks() + random.Between(0, 8));
    const auto layers_of = [](const std::vector<int32_t>& cuts) {
      std::vector<int32_t> layers;
      for (std::size_t cut = 1; cut < cuts.size(); ++cut) layers.push_back(cuts[cut] - cuts[cut - 1]);
      return layers;
    };
    const PassesOfRuns passes_of = [&](int32_t stage, const std::vector<LayerRun>& runs) {
      std::vector<int32_t> layers;
      layers.reserve(runs.size());
      for (const LayerRun& run : runs) layers.push_back(run.end - run.first);
      return keeping.PassesOf(stage, layers);
    };
    const std::vector<int32_t> start = EqualCuts(keeping.shape, num_layers);
    Poller poller(kNoLimits);
    const std::vector<int32_t> cuts = WithCutsShifted(passes_of, start, keeping.shape, poller);
    const int64_t found = keeping.SlotsOf(layers_of(cuts));
    std::vector<int32_t> none;
    const int64_t least = LeastOfAllDeals(keeping, num_layers, none);
    const int64_t own = keeping.SlotsOf(layers_of(start));
    if (own == kNone) {
      ASSERT_EQ(cuts, start) << "seed " << seed;
      continue;
    }
    ASSERT_LE(found, own) << "seed " << seed;
    ASSERT_GE(found, least) << "seed " << seed;
    before += static_cast<double>(own) / static_cast<double>(least);
    after += static_cast<double>(found) / static_cast<double>(least);
    ++held;
  }
  ASSERT_GT(held, 200 * CasesFactor());
  EXPECT_GE(before, 1.03 * static_cast<double>(held));
  EXPECT_LE(after, 1.02 * static_cast<double>(held));
}

TEST(LayerDealingTest, AStartThatIsBetterThanLayersOneByOneIsTaken) {
  DealQuestion question;
  question.shape = {2, 2, 2};
  question.fewest = {1, 1, 1, 1};
  question.num_layers = 8;
  // All but equal chunks take a hundred times as long, so that no single layer leads there.
  question.passes_of = [](int32_t, const std::vector<int32_t>& layers) {
    std::vector<LayerPasses> passes(layers.size(), {1, 1});
    for (std::size_t chunk = 0; chunk < layers.size(); ++chunk) {
      if (layers[chunk] != 2) passes[chunk] = {100 + layers[chunk], 100 + layers[chunk]};
    }
    return passes;
  };
  Poller poller(kNoLimits);
  EXPECT_EQ(DealLayers(question, {{2, 2, 2, 2}}, poller), (std::vector<int32_t>{2, 2, 2, 2}));
}

}  // namespace
}  // namespace planwright
