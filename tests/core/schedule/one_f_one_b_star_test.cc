#include "core/schedule/one_f_one_b_star.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/index.h"
#include "core/base/random.h"
#include "core/cost/chain/chain_costs.h"
#include "core/cost/chain/periodic_costing.h"
#include "core/schedule/pattern_search.h"
#include "tests/support/pattern_oracle.h"
#include "tests/support/random_chain.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;

struct GroupedCase {
  Chain chain;
  ChainDevices devices;
  ChainAllocation allocation;
};

// Memory binds in most cases.
GroupedCase MakeGroupedCase(uint64_t seed, const RandomChainOptions& options) {
  RandomStream random(seed);
  GroupedCase made{MakeRandomChain(options, random), {}, {}};
  made.devices.count = static_cast<int32_t>(random.Between(1, 6));
  made.devices.full_duplex = random.Below(3) == 0;
  made.allocation = MakeRandomContiguousAllocation(options.layers, made.devices.count, random);
  made.devices.memory_bytes = BytesWithBatches(made.chain, made.devices, made.allocation, 1 + 3 * random.Unit());
  return made;
}

// Loads of the stages and of the cuts between them, in turn.
std::vector<int64_t> Loads(const GroupedCase& instance) {
  const ChainSums sums(instance.chain);
  std::vector<int64_t> loads;
  for (const ChainStage& stage : instance.allocation) {
    if (stage.first_layer > 0) {
      const ChainCut& cut = instance.chain.cuts[Index(stage.first_layer) - 1];
      loads.push_back((cut.send_forward + cut.send_backward).count());
    }
    loads.push_back(sums.compute(stage.first_layer, stage.last_layer).count());
  }
  return loads;
}

// The groups of the paper: whether every stage fits with as many micro-batches as the number of its group, counted from
// the end. Links are not full duplex.
bool FitsInGroups(const GroupedCase& instance, int64_t period) {
  const ChainSums sums(instance.chain);
  const std::vector<int64_t> fixed = FixedBytes(instance.chain, sums, instance.devices, instance.allocation);
  const std::vector<int64_t> loads = Loads(instance);
  int32_t group = 1;
  int64_t work = 0;
  for (std::size_t i = loads.size(); i-- > 0;) {
    if (work + loads[i] > period) {
      ++group;
      work = 0;
    }
    work += loads[i];
    if (i % 2 != 0) continue;
    const ChainStage& stage = instance.allocation[i / 2];
    const int64_t bytes = fixed[Index(stage.device)] + group * sums.stored_bytes(stage.first_layer, stage.last_layer);
    if (bytes > *instance.devices.memory_bytes) return false;
  }
  return true;
}

bool HasEmptyPass(const GroupedCase& instance) {
  const ChainSums sums(instance.chain);
  const auto& stages = instance.allocation;
  return std::any_of(stages.begin(), stages.end(), [&sums](const ChainStage& stage) {
    const auto& [first, last, device] = stage;
    return std::min(sums.forward(first, last), sums.backward(first, last)) == Picoseconds(0);
  });
}

// The paper's search: the least sum of consecutive loads, no less than the largest load, at which the groups fit.
std::optional<Picoseconds> LeastCandidate(const GroupedCase& instance) {
  const std::vector<int64_t> loads = Loads(instance);
  const int64_t largest = std::max<int64_t>(1, *std::max_element(loads.begin(), loads.end()));
  std::optional<Picoseconds> least;
  for (std::size_t first = 0; first < loads.size(); ++first) {
    int64_t sum = 0;
    for (std::size_t last = first; last < loads.size(); ++last) {
      sum += loads[last];
      const Picoseconds candidate(std::max(sum, largest));
      if (FitsInGroups(instance, candidate.count()) && candidate <= least.value_or(candidate)) least = candidate;
    }
  }
  return least;
}

TEST(OneFOneBStarTest, FindsTheLeastCandidateOfThePaper) {
  int feasible = 0;
  int above_load = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    GroupedCase instance = MakeGroupedCase(seed, {.layers = 9});
    instance.devices.full_duplex = false;
    const std::optional<Picoseconds> period = SmallestPeriod(instance.chain, instance.allocation, instance.devices);
    // The paper knows no pass without duration.
    if (HasEmptyPass(instance)) continue;
    EXPECT_EQ(period, LeastCandidate(instance));
    if (!period.has_value()) continue;
    ++feasible;
    const std::vector<int64_t> loads = Loads(instance);
    const int64_t largest = *std::max_element(loads.begin(), loads.end());
    EXPECT_GE(period->count(), largest);
    if (period->count() > largest) ++above_load;
  }
  EXPECT_GT(feasible, 200);
  EXPECT_GT(above_load, 50);
}

// Also where every link has two directions, which the paper leaves out.
TEST(OneFOneBStarTest, NoPatternHasAShorterPeriod) {
  int feasible = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const GroupedCase instance = MakeGroupedCase(seed, {.layers = 8, .has_backward = seed % 10 != 0});
    const std::optional<Picoseconds> period = SmallestPeriod(instance.chain, instance.allocation, instance.devices);
    const PatternOutcome search = PatternSearch(instance.chain, instance.devices, instance.allocation, {});
    ASSERT_TRUE(search.is_proven);
    ASSERT_EQ(search.pattern.has_value(), period.has_value());
    if (!period.has_value()) continue;
    ++feasible;
    EXPECT_EQ(search.pattern->period, *period);
  }
  EXPECT_GT(feasible, 250);
}

TEST(OneFOneBStarTest, ItsPatternsAreValidAndStoreWhatTheySay) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    GroupedCase instance = MakeGroupedCase(seed, {.layers = 9, .has_backward = seed % 7 != 0});
    instance.devices.memory_bytes.reset();
    // A stage that takes no time stores something for no time.
    for (ChainLayer& layer : instance.chain.layers) layer.forward += Picoseconds(1);
    RandomStream random(seed, 1);
    const Picoseconds least = *SmallestPeriod(instance.chain, instance.allocation, instance.devices);
    const Picoseconds period = least + Picoseconds(random.Between(0, 3 * least.count()));
    const auto schedule = ScheduleOneFOneBStar(instance.chain, instance.allocation, instance.devices, period);
    ASSERT_TRUE(schedule.has_value());
    EXPECT_EQ(schedule->pattern.period, period);
    EXPECT_EQ(FaultOf(instance.chain, instance.devices, instance.allocation, schedule->pattern), "");
    const ChainSums sums(instance.chain);
    const PatternMemory memory =
        MemoryOf(instance.chain, sums, instance.devices, instance.allocation, schedule->pattern);
    EXPECT_EQ(memory.stored, schedule->in_flight);
    EXPECT_EQ(SweptPeaks(instance.chain, instance.devices, instance.allocation, schedule->pattern), memory.peak_bytes);
    EXPECT_FALSE(ScheduleOneFOneBStar(instance.chain, instance.allocation, instance.devices, least - Picoseconds(1))
                     .has_value());
  }
}

// Three stages of 2 + 4, cuts of 1 + 1: groups from the end. In a period of 8 the last stage and its cut are the first
// group, so every stage needs one micro-batch more than the one behind it.
TEST(OneFOneBStarTest, GroupsStagesFromTheEnd) {
  Chain chain;
  chain.layers.assign(3, {.forward = Picoseconds(2), .backward = Picoseconds(4), .stored_bytes = 10});
  chain.cuts.assign(2, {.send_forward = Picoseconds(1), .send_backward = Picoseconds(1)});
  const ChainAllocation allocation = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}};
  ChainDevices devices;
  devices.count = 3;
  const auto schedule = ScheduleOneFOneBStar(chain, allocation, devices, Picoseconds(8));
  ASSERT_TRUE(schedule.has_value());
  EXPECT_THAT(schedule->in_flight, ElementsAre(3, 2, 1));
  using enum PatternOperation;
  const auto task = [](PatternOperation operation, std::size_t stage, int64_t start, int32_t shift) {
    return PatternTask{operation, StageId(stage), Picoseconds(start), shift};
  };
  EXPECT_THAT(schedule->pattern.tasks,
              ElementsAre(task(kForward, 0, 0, 0), task(kBackward, 0, 2, 2), task(kSendForward, 0, 2, 0),
                          task(kForward, 1, 3, 0), task(kBackward, 1, 5, 1), task(kSendForward, 1, 5, 0),
                          task(kSendBackward, 1, 1, 2), task(kForward, 2, 6, 0), task(kBackward, 2, 0, 1),
                          task(kSendBackward, 2, 4, 1)));

  // With room for two, the first two stages and what is between them share a period: 6 + 2 + 6.
  devices.memory_bytes = 20;
  EXPECT_EQ(SmallestPeriod(chain, allocation, devices), Picoseconds(14));
  // With room for one, nothing overlaps.
  devices.memory_bytes = 10;
  EXPECT_EQ(SmallestPeriod(chain, allocation, devices), Picoseconds(22));
  devices.memory_bytes = 9;
  EXPECT_EQ(SmallestPeriod(chain, allocation, devices), std::nullopt);
}

TEST(OneFOneBStarTest, ScalesWithTime) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    GroupedCase instance = MakeGroupedCase(seed, {.layers = 9});
    instance.devices.full_duplex = false;
    const std::optional<Picoseconds> period = SmallestPeriod(instance.chain, instance.allocation, instance.devices);
    for (ChainLayer& layer : instance.chain.layers) {
      layer.forward *= 1000;
      layer.backward *= 1000;
    }
    for (ChainCut& cut : instance.chain.cuts) {
      cut.send_forward *= 1000;
      cut.send_backward *= 1000;
    }
    const std::optional<Picoseconds> scaled = SmallestPeriod(instance.chain, instance.allocation, instance.devices);
    ASSERT_EQ(scaled.has_value(), period.has_value());
    if (period.has_value()) {
      EXPECT_EQ(*scaled, *period * 1000) << seed;
    }
  }
}

// A period of 1 ps where nothing takes time, and counts far above the number of stages where transfers are long.
TEST(OneFOneBStarTest, BearsExtremes) {
  Chain chain;
  chain.layers.assign(2, {.stored_bytes = 1});
  chain.cuts.resize(1);
  const ChainAllocation allocation = {{0, 0, 0}, {1, 1, 1}};
  EXPECT_EQ(SmallestPeriod(chain, allocation, {.count = 2, .memory_bytes = 1}), Picoseconds(1));
  EXPECT_EQ(SmallestPeriod(chain, allocation, {.count = 2, .memory_bytes = 0}), std::nullopt);

  chain.layers.assign(2, {.forward = Picoseconds(kMaxQuantity / 8), .stored_bytes = kMaxQuantity / 2});
  EXPECT_EQ(SmallestPeriod(chain, allocation, {.count = 2, .memory_bytes = kMaxQuantity}),
            Picoseconds(kMaxQuantity / 8));
  EXPECT_EQ(SmallestPeriod(chain, allocation, {.count = 2, .memory_bytes = kMaxQuantity / 2}),
            Picoseconds(kMaxQuantity / 4));
}

}  // namespace
}  // namespace planwright
