#include "core/joint/stages/recomputation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "core/base/random.h"

namespace planwright {
namespace {

constexpr int64_t kNoExtra = std::numeric_limits<int64_t>::max();

TEST(RecomputationTest, TakesTheLeastExtraTimeThatFits) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    RandomStream random(seed);
    std::vector<LayerGroup> groups(random.Below(2) + 1);
    std::vector<std::size_t> layers;
    for (std::size_t group = 0; group < groups.size(); ++group) {
      groups[group].count = static_cast<int32_t>(random.Between(1, 3));
      for (auto& mode : groups[group].modes) mode = LayerMode{random.Between(0, 20), random.Between(0, 20)};
      layers.insert(layers.end(), static_cast<std::size_t>(groups[group].count), group);
    }
    const int64_t in_flight = random.Between(1, 4);
    const int64_t budget = random.Between(0, 150);
    const int64_t full_budget = budget - random.Between(0, 20);
    int64_t best = kNoExtra;
    int64_t combinations = 1;
    for (std::size_t i = 0; i < layers.size(); ++i) combinations *= kNumRecomputations;
    for (int64_t code = 0; code < combinations; ++code) {
      int64_t extra = 0;
      int64_t kept = 0;
      bool is_full = false;
      int64_t rest = code;
      for (const std::size_t group : layers) {
        const auto mode = static_cast<std::size_t>(rest % kNumRecomputations);
        rest /= kNumRecomputations;
        extra += groups[group].modes[mode]->extra_ps;
        kept += groups[group].modes[mode]->kept_bytes;
        is_full = is_full || mode == static_cast<std::size_t>(LayerRecomputation::kFull);
      }
      if (in_flight * kept <= (is_full ? full_budget : budget)) best = std::min(best, extra);
    }
    const auto choice = ChooseRecomputation(groups, in_flight, budget, full_budget);
    ASSERT_EQ(choice.has_value(), best != kNoExtra) << seed;
    if (!choice.has_value()) continue;
    EXPECT_EQ(choice->extra_ps, best) << seed;
    EXPECT_EQ(choice->bound_ps, best) << seed;
  }
}

struct BestCounts {
  int64_t extra = kNoExtra;
  int64_t kept = 0;
  // Layers computed again whole, then in part, over all groups.
  std::array<int32_t, 2> again{};
};

// Looks at all numbers of layers by mode, group by group.
void LookAtCounts(const std::vector<LayerGroup>& groups, std::size_t group, const BestCounts& sum, int64_t budget,
                  int64_t full_budget, BestCounts& best) {
  if (group == groups.size()) {
    if (sum.kept > (sum.again[0] > 0 ? full_budget : budget)) return;
    if (std::tuple(sum.extra, sum.kept, sum.again) < std::tuple(best.extra, best.kept, best.again)) best = sum;
    return;
  }
  const auto& [count, modes] = groups[group];
  for (int32_t full = 0; full <= count; ++full) {
    for (int32_t selective = 0; selective <= count - full; ++selective) {
      BestCounts next = sum;
      const std::array<int32_t, kNumRecomputations> layers = {count - full - selective, selective, full};
      bool may_be = true;
      for (std::size_t mode = 0; mode < layers.size(); ++mode) {
        may_be = may_be && (layers[mode] == 0 || modes[mode].has_value());
        next.extra += layers[mode] * modes[mode].value_or(LayerMode{}).extra_ps;
        next.kept += layers[mode] * modes[mode].value_or(LayerMode{}).kept_bytes;
      }
      next.again = {sum.again[0] + full, sum.again[1] + selective};
      if (may_be) LookAtCounts(groups, group + 1, next, budget, full_budget, best);
    }
  }
}

// Three modes: any, each cheaper where it keeps more, or such that whole layers cost as much for a byte as parts do.
LayerGroup RandomGroup(RandomStream& random) {
  LayerGroup group{.count = static_cast<int32_t>(random.Between(1, 24)), .modes = {}};
  const uint64_t kind = random.Below(3);
  int64_t extra = 0;
  int64_t kept = 60;
  const int64_t unit = random.Between(1, 4);
  for (auto& mode : group.modes) {
    mode = kind == 0 ? LayerMode{random.Between(0, 20), random.Between(0, 20)} : LayerMode{extra, kept};
    const int64_t more = random.Between(1, 9);
    extra += kind == 1 ? random.Between(1, 20) : unit * more;
    kept -= kind == 1 ? random.Between(1, 25) : more;
  }
  if (random.Below(6) == 0) group.modes[random.Below(kNumRecomputations)].reset();
  return group;
}

TEST(RecomputationTest, ManyLayersTakeTheLeastExtraTimeThatFits) {
  int chosen = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    RandomStream random(seed, 1);
    std::vector<LayerGroup> groups;
    for (uint64_t group = random.Below(2) + 1; group > 0; --group) groups.push_back(RandomGroup(random));
    // Without a choice.
    if (seed % 3 == 0) groups.push_back({.count = 2, .modes = {LayerMode{1, 5}, std::nullopt, std::nullopt}});
    const int64_t budget = random.Between(0, 60 * groups.front().count);
    const int64_t full_budget = budget - random.Between(0, 20);
    BestCounts best;
    LookAtCounts(groups, 0, {.extra = 0}, budget, full_budget, best);
    const auto choice = ChooseRecomputation(groups, 1, budget, full_budget);
    ASSERT_EQ(choice.has_value(), best.extra != kNoExtra) << seed;
    if (!choice.has_value()) continue;
    ++chosen;
    EXPECT_EQ(choice->extra_ps, best.extra) << seed;
    EXPECT_EQ(choice->bound_ps, best.extra) << seed;
    // Of a group alone, also which one of those that are as good.
    if (groups.size() > 1 || best.again[0] == 0) continue;
    EXPECT_EQ(choice->counts[0][2], best.again[0]) << seed;
    EXPECT_EQ(choice->counts[0][1], best.again[1]) << seed;
  }
  EXPECT_GT(chosen, 200);
}

// All pairs of numbers of layers took a second and a half a gigabyte here.
TEST(RecomputationTest, ThousandsOfLayersTakeNoTimeThatGrowsWithTheirSquare) {
  const LayerGroup ends{.count = 1, .modes = {LayerMode{0, 100}, std::nullopt, std::nullopt}};
  for (int32_t count = 4'000; count < 4'100; ++count) {
    // Nearly in proportion, so that hardly any way to mix them beats another.
    const LayerGroup group{.count = count,
                           .modes = {LayerMode{0, 1'000'000}, LayerMode{1'000'003, 500'000}, LayerMode{2'000'007, 0}}};
    const int64_t budget = 200 + int64_t{count} * 250'000;
    const auto choice = ChooseRecomputation({ends, group}, 1, budget, budget);
    ASSERT_TRUE(choice.has_value());
    EXPECT_EQ(choice->extra_ps, choice->bound_ps);
  }
}

}  // namespace
}  // namespace planwright
