#include "core/partition/search/load_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "tests/core/partition/block_oracle.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kLarge = kMaxQuantity - 1;

// The most value of whole items within the budget, with what is left of the budget where it counts.
int64_t NaiveKnapsack(const std::vector<int64_t>& times, const std::vector<int64_t>& values,
                      const std::vector<bool>& usable, bool spare_rate, int64_t budget) {
  int64_t best = 0;
  for (uint32_t set = 0; set < (1U << times.size()); ++set) {
    int64_t time = 0;
    int64_t value = 0;
    bool is_usable = true;
    for (std::size_t i = 0; i < times.size(); ++i) {
      if ((set >> i & 1U) == 0) continue;
      is_usable = is_usable && usable[i];
      time += times[i];
      value += values[i];
    }
    if (is_usable && time <= budget) best = std::max(best, value + (spare_rate ? budget - time : 0));
  }
  return best;
}

TEST(CapacityTest, IsTheFractionalKnapsackRoundedUp) {
  const Capacity capacity({4, 2, 0, 5}, {4, 6, 7, 100}, {true, true, true, false}, /*spare_rate=*/false);
  EXPECT_EQ(capacity.At(0), 7);
  EXPECT_EQ(capacity.At(1), 10);
  EXPECT_EQ(capacity.At(2), 13);
  EXPECT_EQ(capacity.At(4), 15);
  EXPECT_EQ(capacity.At(6), 17);
  EXPECT_EQ(capacity.At(kMaxQuantity), 17);
  const Capacity thirds({3}, {1}, {true}, /*spare_rate=*/false);
  EXPECT_EQ(thirds.At(1), 1);
  const Capacity spare({4, 2}, {4, 6}, {true, true}, /*spare_rate=*/true);
  EXPECT_EQ(spare.At(1), 3);
  EXPECT_EQ(spare.At(5), 9);
  EXPECT_EQ(Capacity({}, {}, {}, /*spare_rate=*/false).At(5), 0);
}

TEST(CapacityTest, BoundsTheKnapsackFromAboveAndIsMonotone) {
  RandomStream random(1);
  for (int i = 0; i < 200; ++i) {
    std::vector<int64_t> times(6);
    std::vector<int64_t> values(6);
    std::vector<bool> usable(6);
    for (std::size_t item = 0; item < 6; ++item) {
      times[item] = random.Between(0, 8);
      values[item] = random.Between(0, 8);
      usable[item] = random.Unit() < 0.8;
    }
    const bool spare_rate = random.Unit() < 0.5;
    const Capacity capacity(times, values, usable, spare_rate);
    int64_t last = 0;
    for (int64_t budget = 0; budget < 50; ++budget) {
      ASSERT_GE(capacity.At(budget), NaiveKnapsack(times, values, usable, spare_rate, budget));
      ASSERT_GE(capacity.At(budget), last);
      last = capacity.At(budget);
    }
  }
}

TEST(CapacityTest, DoesNotOverflow) {
  const Capacity capacity({kLarge / 2, kLarge / 2}, {kLarge / 2, kLarge / 2 - 1}, {true, true}, /*spare_rate=*/true);
  EXPECT_EQ(capacity.At(kMaxQuantity), kMaxQuantity);
  EXPECT_EQ(capacity.At(kLarge / 4), kLarge / 4);
  const Capacity steep({2, 1}, {kLarge - 1, 1}, {true, true}, /*spare_rate=*/false);
  EXPECT_EQ(steep.At(1), (kLarge - 1) / 2);
}

TEST(StateSpaceTest, CountsDevicesOfEachPoolUpToTheNumberOfBlocks) {
  BlockInstance instance = EmptyBlockInstance(3);
  AddPool(instance, 2, {1, 1, 1});
  AddPool(instance, 9, {1, 1, 1});
  const StateSpace states(instance);
  EXPECT_EQ(states.size(), 12U);
  EXPECT_EQ(states.devices(1), 3);
  std::set<std::pair<int64_t, int64_t>> seen;
  for (std::size_t state = 0; state < states.size(); ++state) {
    seen.emplace(states.used(state, 0), states.used(state, 1));
    EXPECT_EQ(states.used(states.complement(state), 0), 2 - states.used(state, 0));
    EXPECT_EQ(states.used(states.complement(state), 1), 3 - states.used(state, 1));
    if (states.used(state, 1) == 0) continue;
    const std::size_t less = states.without(state, 1);
    EXPECT_LT(less, state);
    EXPECT_EQ(states.used(less, 0), states.used(state, 0));
    EXPECT_EQ(states.used(less, 1), states.used(state, 1) - 1);
  }
  EXPECT_EQ(seen.size(), 12U);
  EXPECT_EQ(StateSpace(EmptyBlockInstance(0)).size(), 1U);
}

// Follows every chain of ideals with loads at most `max_load`, and checks each of its boundaries.
class WindowChecker {
 public:
  WindowChecker(const BlockInstance& instance, int64_t max_load)
      : instance_(instance), max_load_(max_load), load_windows_(instance), windows_(load_windows_.At(max_load)) {}

  // Number of splits seen.
  int Check() {
    boundaries_.push_back({0, 0});
    Extend();
    return splits_;
  }

 private:
  struct Boundary {
    BlockSet ideal;
    std::size_t state;
  };

  void Extend() {
    const Boundary last = boundaries_.back();
    if (last.ideal == FullSet(instance_)) {
      ++splits_;
      for (const Boundary& boundary : boundaries_) ExpectInside(boundary);
      return;
    }
    for (const BlockSet to : AllIdeals(instance_)) {
      if (to == last.ideal || (last.ideal & ~to) != 0) continue;
      const BlockSet stage = to & ~last.ideal;
      std::size_t stride = 1;
      for (std::size_t pool = 0; pool < instance_.pools.size(); ++pool) {
        const StateSpace& states = load_windows_.states();
        const int64_t left = states.devices(pool) - states.used(last.state, pool);
        for (int64_t replicas = 1; replicas <= std::min(left, instance_.max_replicas(pool)); ++replicas) {
          if (!NaiveFits(instance_, pool, stage) || NaiveLoad(instance_, pool, stage, replicas) > max_load_) continue;
          EXPECT_LE(Weight(stage), load_windows_.StageCapacity(pool, replicas, max_load_));
          boundaries_.push_back({to, last.state + stride * static_cast<std::size_t>(replicas)});
          Extend();
          boundaries_.pop_back();
        }
        stride *= static_cast<std::size_t>(states.devices(pool)) + 1;
      }
    }
  }

  int64_t Weight(BlockSet set) const {
    int64_t weight = 0;
    for (int32_t block = 0; block < instance_.num_blocks(); ++block) {
      if ((set >> static_cast<unsigned>(block) & 1U) != 0) weight += load_windows_.weight(block);
    }
    return weight;
  }

  void ExpectInside(const Boundary& boundary) const {
    const LoadWindow& window = windows_[boundary.state];
    const int64_t weight = Weight(boundary.ideal);
    const int64_t border = NaiveBorder(instance_, boundary.ideal);
    EXPECT_GE(weight, window.min_weight);
    EXPECT_LE(weight, window.max_weight);
    EXPECT_LE(weight + border, window.max_before);
    EXPECT_LE(load_windows_.total_weight() - weight + border, window.max_after);
  }

  const BlockInstance& instance_;
  const int64_t max_load_;
  const LoadWindows load_windows_;
  const std::vector<LoadWindow> windows_;
  std::vector<Boundary> boundaries_;
  int splits_ = 0;
};

TEST(LoadWindowsTest, HoldEveryBoundaryOfEverySplitWithinTheLoad) {
  RandomStream random(2);
  int splits = 0;
  for (int i = 0; i < 200 && !::testing::Test::HasFailure(); ++i) {
    const BlockInstance instance =
        MakeBlockInstance({.num_blocks = 5, .constrained = i % 2 == 1, .any_rule = i % 4 > 1}, random);
    const std::optional<int64_t> optimum = NaiveOptimum(instance);
    if (!optimum.has_value()) continue;
    splits += WindowChecker(instance, *optimum).Check();
    splits += WindowChecker(instance, *optimum + random.Between(0, 10)).Check();
  }
  EXPECT_GT(splits, 300);
}

TEST(LoadWindowsTest, AreTightForAChainWithoutNets) {
  BlockInstance instance = EmptyBlockInstance(4);
  AddPool(instance, 2, {3, 3, 3, 3});
  const LoadWindows windows(instance);
  EXPECT_EQ(windows.total_weight(), 12);
  const std::vector<LoadWindow> at = windows.At(7);
  ASSERT_EQ(at.size(), 3U);
  EXPECT_EQ(at[0].max_weight, 0);
  EXPECT_EQ(at[1].min_weight, 5);
  EXPECT_EQ(at[1].max_weight, 7);
  EXPECT_EQ(at[2].max_weight, 12);
  EXPECT_TRUE(windows.At(5)[0].empty());
}

TEST(LoadWindowsTest, WorkBoundIsTheLeastLoadWithEnoughCapacity) {
  BlockInstance instance = EmptyBlockInstance(3);
  AddPool(instance, 2, {5, 5, 5});
  const LoadWindows windows(instance);
  EXPECT_EQ(windows.WorkBound(15), 8);
  EXPECT_EQ(windows.WorkBound(3), 3);
  EXPECT_EQ(LoadWindows(EmptyBlockInstance(0)).WorkBound(0), 0);
}

TEST(LoadWindowsTest, WorkBoundHoldsForMoreStatesThanCanBeCounted) {
  BlockInstance instance = EmptyBlockInstance(3);
  for (int pool = 0; pool < 64; ++pool) AddPool(instance, 1, {5, 5, 5});
  const LoadWindows windows(instance);
  EXPECT_EQ(windows.states().size(), static_cast<std::size_t>(kMaxQuantity));
  EXPECT_EQ(windows.WorkBound(15), 1);
}

TEST(ElementaryBoundsTest, AreAtMostTheOptimum) {
  RandomStream random(3);
  int tight = 0;
  for (int i = 0; i < 400; ++i) {
    const BlockInstance instance =
        MakeBlockInstance({.num_blocks = 6, .constrained = i % 2 == 1, .any_rule = i % 4 > 1}, random);
    const std::optional<int64_t> optimum = NaiveOptimum(instance);
    if (!optimum.has_value()) continue;
    ASSERT_LE(*optimum, TrivialLoadBound(instance));
    for (const Bound& bound : ElementaryBounds(instance, LoadWindows(instance))) {
      ASSERT_LE(bound.value.count(), *optimum) << bound.method;
      if (bound.value.count() == *optimum) ++tight;
    }
  }
  EXPECT_GT(tight, 10);
}

TEST(ElementaryBoundsTest, NameTheirMethods) {
  BlockInstance instance = EmptyBlockInstance(3);
  AddPool(instance, 2, {4, 20, 4});
  DevicePool& slow = AddPool(instance, 1, {9, 0, 9});
  slow.supported[1] = slow.supports_all = false;
  const std::vector<Bound> bounds = ElementaryBounds(instance, LoadWindows(instance));
  ASSERT_EQ(bounds.size(), 2U);
  EXPECT_EQ(bounds[0].method, "work");
  EXPECT_EQ(bounds[1].method, "largest_block");
  EXPECT_EQ(bounds[1].value, Picoseconds(20));
}

}  // namespace
}  // namespace planwright
