#include "core/partition/noncontiguous/certify/configuration_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stop_token>
#include <vector>

#include "core/base/random.h"
#include "core/partition/noncontiguous/certify/set_pricing.h"

namespace planwright {
namespace {

constexpr int64_t kPlenty = 1'000'000'000;

LoadRelaxation MakeRandomRelaxation(RandomStream& random, int32_t num_groups) {
  LoadRelaxation relaxation;
  relaxation.num_payers = 2 + static_cast<int64_t>(random.Below(2));
  relaxation.num_others = static_cast<int64_t>(random.Below(2));
  for (int32_t group = 0; group < num_groups; ++group) {
    relaxation.payer_time.push_back(static_cast<int64_t>(random.Below(20)));
    relaxation.other_time.push_back(random.Below(3) == 0 ? LoadRelaxation::kNever : 3 * relaxation.payer_time.back());
  }
  for (int32_t net = 0; net < num_groups; ++net) {
    std::vector<int32_t> groups;
    for (int32_t group = 0; group < num_groups; ++group) {
      if (random.Below(3) == 0) groups.push_back(group);
    }
    if (groups.size() > 1) {
      relaxation.nets.push_back({.blocks = groups, .weight = 1 + static_cast<int64_t>(random.Below(7))});
    }
  }
  return relaxation;
}

int64_t LoadOf(const LoadRelaxation& relaxation, uint32_t set) {
  const auto holds = [set](int32_t group) { return (set >> static_cast<unsigned>(group)) % 2 != 0; };
  int64_t load = 0;
  for (int32_t group = 0; group < relaxation.num_groups(); ++group) {
    if (holds(group)) load += relaxation.payer_time[static_cast<std::size_t>(group)];
  }
  for (const Net& net : relaxation.nets) {
    const auto inside = std::ranges::count_if(net.blocks, holds);
    if (inside > 0 && inside < std::ssize(net.blocks)) load += net.weight;
  }
  return load;
}

// The least max load of all assignments, others being one pool.
int64_t NaiveOptimum(const LoadRelaxation& relaxation) {
  int64_t best = kPlenty;
  std::vector<uint32_t> sets(static_cast<std::size_t>(relaxation.num_payers), 0);
  const auto place = [&](auto& self, int32_t group, int64_t elsewhere) -> void {
    if (group == relaxation.num_groups()) {
      int64_t load = relaxation.num_others > 0 ? (elsewhere + relaxation.num_others - 1) / relaxation.num_others : 0;
      for (const uint32_t set : sets) load = std::max(load, LoadOf(relaxation, set));
      best = std::min(best, load);
      return;
    }
    for (uint32_t& set : sets) {
      set |= uint32_t{1} << static_cast<unsigned>(group);
      self(self, group + 1, elsewhere);
      set &= ~(uint32_t{1} << static_cast<unsigned>(group));
    }
    const int64_t other = relaxation.other_time[static_cast<std::size_t>(group)];
    if (relaxation.num_others > 0 && other < LoadRelaxation::kNever) self(self, group + 1, elsewhere + other);
  };
  place(place, 0, 0);
  return best;
}

RefutationVerdict Refute(ConfigurationBound& bound, int64_t max_load, int64_t steps) {
  const SolveLimits limits;
  Poller poller(limits);
  StepBudget budget{steps};
  return bound.Refute(max_load, budget, poller);
}

// Equal groups in a row; every net between neighbours.
LoadRelaxation MakeChain(int32_t num_groups, int64_t payers, int64_t time, int64_t weight) {
  LoadRelaxation chain;
  chain.num_payers = payers;
  chain.payer_time.assign(static_cast<std::size_t>(num_groups), time);
  chain.other_time.assign(static_cast<std::size_t>(num_groups), LoadRelaxation::kNever);
  for (int32_t group = 0; group + 1 < num_groups; ++group) {
    chain.nets.push_back({.blocks = {group, group + 1}, .weight = weight});
  }
  return chain;
}

TEST(SetPricingTest, FindsTheMostValuableSetWhereLevelsAreFine) {
  RandomStream random(1, 0);
  for (int round = 0; round < 200; ++round) {
    const LoadRelaxation relaxation = MakeRandomRelaxation(random, 7);
    std::vector<int64_t> prices;
    for (int32_t group = 0; group < 7; ++group) prices.push_back(static_cast<int64_t>(random.Below(30)));
    const auto max_load = static_cast<int64_t>(random.Below(60));
    int64_t best = 0;
    for (uint32_t set = 0; set < (1U << 7U); ++set) {
      if (LoadOf(relaxation, set) > max_load) continue;
      int64_t value = 0;
      for (std::size_t group = 0; group < 7; ++group) value += (set >> group) % 2 != 0 ? prices[group] : 0;
      best = std::max(best, value);
    }
    const SolveLimits limits;
    Poller poller(limits);
    StepBudget budget{kPlenty};
    SetPricing pricing(relaxation);
    const auto exact = pricing.Best(prices, max_load, max_load + 1, budget, poller);
    ASSERT_TRUE(exact.has_value());
    EXPECT_EQ(exact->value, best) << "round " << round;
    uint32_t found = 0;
    for (std::size_t group = 0; group < 7; ++group) found |= exact->holds[group] ? 1U << group : 0;
    EXPECT_LE(LoadOf(relaxation, found), max_load);
    // Coarse levels only ever say more.
    const auto coarse = pricing.Best(prices, max_load, 2, budget, poller);
    ASSERT_TRUE(coarse.has_value());
    EXPECT_GE(coarse->value, best) << "round " << round;
  }
}

TEST(SetPricingTest, EndsWithTheBudget) {
  const LoadRelaxation chain = MakeChain(50, 2, 3, 1);
  const std::vector<int64_t> prices(50, 1);
  const SolveLimits limits;
  Poller poller(limits);
  StepBudget budget{200};
  SetPricing pricing(chain);
  EXPECT_FALSE(pricing.Best(prices, 75, 100, budget, poller).has_value());
  EXPECT_LE(budget.left, 0);
}

TEST(ConfigurationBoundTest, RefutesNothingThatAPlacementReaches) {
  RandomStream random(2, 0);
  int refuted = 0;
  for (int round = 0; round < 100; ++round) {
    const LoadRelaxation relaxation = MakeRandomRelaxation(random, 6);
    const int64_t optimum = NaiveOptimum(relaxation);
    ConfigurationBound bound(relaxation);
    // From far below, so that prices are warm.
    for (const int64_t target : {optimum / 2, optimum - 1, optimum, optimum + 1}) {
      const RefutationVerdict verdict = Refute(bound, std::max<int64_t>(target, 0), 100'000);
      EXPECT_NE(verdict, RefutationVerdict::kOpen);
      EXPECT_TRUE(target < optimum || verdict == RefutationVerdict::kStopped) << "round " << round;
      if (verdict == RefutationVerdict::kRefuted) ++refuted;
    }
  }
  EXPECT_GT(refuted, 50);
}

// 60 groups of 100 on four payers: 15 of them and two cuts of 40 make 1,580.
TEST(ConfigurationBoundTest, KnowsWhatItCostsToCutAChain) {
  ConfigurationBound bound(MakeChain(60, 4, 100, 40));
  EXPECT_EQ(Refute(bound, 1'530, 50'000'000), RefutationVerdict::kRefuted);
  EXPECT_EQ(Refute(bound, 1'580, 5'000'000), RefutationVerdict::kStopped);
}

TEST(ConfigurationBoundTest, SpendsNothingOnTooSmallABudget) {
  ConfigurationBound bound(MakeChain(60, 4, 100, 40));
  const SolveLimits limits;
  Poller poller(limits);
  StepBudget budget{1'000};
  EXPECT_EQ(bound.Refute(1'000, budget, poller), RefutationVerdict::kStopped);
  EXPECT_EQ(budget.left, 1'000);
}

TEST(ConfigurationBoundTest, HeedsAStopRequest) {
  ConfigurationBound bound(MakeChain(60, 4, 100, 40));
  const std::stop_source source;
  source.request_stop();
  SolveLimits limits;
  limits.stop = source.get_token();
  Poller poller(limits);
  StepBudget budget{kPlenty};
  EXPECT_EQ(bound.Refute(1'580, budget, poller), RefutationVerdict::kStopped);
  EXPECT_GT(budget.left, kPlenty / 2);
}

// The number of nets that are open behind each place, at most.
int32_t WidthOf(const LoadRelaxation& relaxation, const std::vector<int32_t>& place_of) {
  std::vector<int32_t> open(place_of.size(), 0);
  for (const Net& net : relaxation.nets) {
    std::vector<int32_t> places;
    for (const int32_t group : net.blocks) places.push_back(place_of[static_cast<std::size_t>(group)]);
    const auto [first, last] = std::ranges::minmax(places);
    for (int32_t place = first; place < last; ++place) ++open[static_cast<std::size_t>(place)];
  }
  return *std::ranges::max_element(open);
}

TEST(NarrowOrderTest, FollowsChainsHoweverTheyAreNumbered) {
  // Two chains side by side, numbered in turns, and joined at both ends.
  LoadRelaxation relaxation = MakeChain(0, 2, 1, 1);
  constexpr int32_t kGroups = 40;
  relaxation.payer_time.assign(kGroups, 1);
  relaxation.other_time.assign(kGroups, 1);
  for (int32_t group = 0; group + 2 < kGroups; ++group) {
    relaxation.nets.push_back({.blocks = {group, group + 2}, .weight = 1});
  }
  relaxation.nets.push_back({.blocks = {0, 1}, .weight = 1});
  relaxation.nets.push_back({.blocks = {kGroups - 2, kGroups - 1}, .weight = 1});
  const std::vector<int32_t> place_of = NarrowOrder(relaxation, 8);
  std::vector<int32_t> sorted = place_of;
  std::ranges::sort(sorted);
  std::vector<int32_t> all(kGroups);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(sorted, all);
  EXPECT_EQ(WidthOf(relaxation, place_of), 2);
}

TEST(NarrowOrderTest, GivesUpOnWideGraphs) {
  // Every group is on a net with every other.
  LoadRelaxation relaxation = MakeChain(12, 2, 1, 1);
  relaxation.nets.clear();
  for (int32_t a = 0; a < 12; ++a) {
    for (int32_t b = a + 1; b < 12; ++b) relaxation.nets.push_back({.blocks = {a, b}, .weight = 1});
  }
  EXPECT_TRUE(NarrowOrder(relaxation, 35).empty());
  EXPECT_EQ(WidthOf(relaxation, NarrowOrder(relaxation, 36)), 36);
  ConfigurationBound bound(relaxation);
  EXPECT_EQ(Refute(bound, 1, kPlenty), RefutationVerdict::kStopped);
}

TEST(NarrowOrderTest, OrdersGroupsWithoutNets) {
  LoadRelaxation relaxation = MakeChain(1, 2, 1, 1);
  EXPECT_EQ(NarrowOrder(relaxation, 1), std::vector<int32_t>{0});
  relaxation.payer_time.push_back(1);
  relaxation.other_time.push_back(1);
  EXPECT_EQ(NarrowOrder(relaxation, 1).size(), 2U);
  EXPECT_TRUE(NarrowOrder(LoadRelaxation(), 1).empty());
}

}  // namespace
}  // namespace planwright
