#include "core/joint/stages/recomputation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
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
      for (auto& mode : groups[group].modes) mode = LayerPrice::Mode{random.Between(0, 20), random.Between(0, 20)};
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

}  // namespace
}  // namespace planwright
