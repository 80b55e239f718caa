#include "core/partition/contiguous/grouped_dp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/base/random.h"
#include "core/partition/search/load_windows.h"
#include "tests/core/partition/block_oracle.h"

namespace planwright {
namespace {

struct NaiveStage {
  BlockSet blocks;
  int32_t group;
};

BlockSet Pins(const Net& net) {
  BlockSet pins = 0;
  for (const int32_t block : net.blocks) pins |= BlockSet{1} << static_cast<unsigned>(block);
  return pins;
}

// A reader pays dearly for a source in another group, the source for a reader in another group.
int64_t NaiveStageLoad(const BlockInstance& instance, const std::vector<NaiveStage>& stages, const NaiveStage& stage) {
  int64_t load = NaiveLoad(instance, 0, stage.blocks);
  for (const Net& net : instance.nets) {
    const BlockSet pins = Pins(net);
    const BlockSet source = pins & ~(pins - 1);
    if ((pins & stage.blocks) == 0) continue;
    const bool is_source = (source & stage.blocks) != 0;
    const bool is_far = std::any_of(stages.begin(), stages.end(), [&](const NaiveStage& other) {
      return other.group != stage.group && (other.blocks & (is_source ? pins : source)) != 0;
    });
    if (is_far) load += net.far_surcharge;
  }
  return load;
}

// Tries every chain of ideals with every group for each stage.
class NaiveSearch {
 public:
  NaiveSearch(const BlockInstance& instance, const Grouping& grouping, GroupOrder order)
      : instance_(instance), grouping_(grouping), order_(order), ideals_(AllIdeals(instance)) {
    Extend(0);
  }

  std::optional<int64_t> best() const { return best_; }

 private:
  void Extend(BlockSet before) {
    if (before == FullSet(instance_)) {
      int64_t max_load = 0;
      for (const NaiveStage& stage : stages_) max_load = std::max(max_load, NaiveStageLoad(instance_, stages_, stage));
      best_ = std::min(best_.value_or(max_load), max_load);
      return;
    }
    for (const BlockSet to : ideals_) {
      if (to == before || (before & ~to) != 0 || !NaiveFits(instance_, 0, to & ~before)) continue;
      for (int32_t group = 0; group < grouping_.groups; ++group) {
        const auto used = std::count_if(stages_.begin(), stages_.end(),
                                        [&](const NaiveStage& stage) { return stage.group == group; });
        const bool is_back = !stages_.empty() && group < stages_.back().group;
        if (used == grouping_.size || (order_ == GroupOrder::kRuns && is_back)) continue;
        stages_.push_back({to & ~before, group});
        Extend(to);
        stages_.pop_back();
      }
    }
  }

  const BlockInstance& instance_;
  const Grouping grouping_;
  const GroupOrder order_;
  const std::vector<BlockSet> ideals_;
  std::vector<NaiveStage> stages_;
  std::optional<int64_t> best_;
};

std::vector<NaiveStage> ToNaive(const GroupedSplit& split) {
  std::vector<NaiveStage> stages;
  for (const GroupedSplit::Stage& stage : split.stages) {
    stages.push_back({0, stage.group});
    for (const int32_t block : stage.blocks) stages.back().blocks |= BlockSet{1} << static_cast<unsigned>(block);
  }
  return stages;
}

struct FoundByGroups {
  IdealDpRun outcome;
  int64_t best = kMaxQuantity;
  int64_t bound = 0;
};

FoundByGroups SolveByGroups(const BlockInstance& instance, const Grouping& grouping, GroupOrder order,
                            const SolveLimits& limits = {}) {
  FoundByGroups found;
  TaskArena arena(1);
  const GroupedDpListener listener{[&](const GroupedSplit& split) {
                                     const std::vector<NaiveStage> stages = ToNaive(split);
                                     int64_t max_load = 0;
                                     for (const NaiveStage& stage : stages) {
                                       max_load = std::max(max_load, NaiveStageLoad(instance, stages, stage));
                                     }
                                     return found.best = std::min(found.best, max_load);
                                   },
                                   [&](int64_t bound) { found.bound = std::max(found.bound, bound); }};
  int64_t above = TrivialLoadBound(instance) + 1;
  for (const Net& net : instance.nets) above += 2 * net.far_surcharge;
  found.outcome = SolveByGroupedDp(instance, grouping, order, 0, above, {}, limits, arena, listener);
  return found;
}

BlockInstance MakeGroupedInstance(int i, RandomStream& random) {
  BlockInstance instance =
      MakeBlockInstance({.num_blocks = 5, .edge_probability = 0.5, .constrained = i % 2 == 1}, random);
  instance.pools.resize(1);
  instance.pools[0].devices.resize(4);
  for (Net& net : instance.nets) net.far_surcharge = random.Between(0, 20);
  return instance;
}

TEST(SolveByGroupedDpTest, FindsTheOptimum) {
  RandomStream random(1);
  int solved = 0;
  int in_runs_only = 0;
  for (int i = 0; i < 300; ++i) {
    const BlockInstance instance = MakeGroupedInstance(i, random);
    const Grouping grouping = i % 3 == 0 ? Grouping{4, 1} : Grouping{2, 2};
    int64_t last = 0;
    for (const GroupOrder order : {GroupOrder::kAny, GroupOrder::kRuns}) {
      ASSERT_TRUE(CanGroup(instance, grouping, order));
      const std::optional<int64_t> optimum = NaiveSearch(instance, grouping, order).best();
      const FoundByGroups found = SolveByGroups(instance, grouping, order);
      ASSERT_EQ(found.outcome.end, IdealDpEnd::kProven);
      ASSERT_EQ(found.best < kMaxQuantity, optimum.has_value()) << i;
      if (!optimum.has_value()) continue;
      ASSERT_EQ(found.best, *optimum) << i;
      if (order == GroupOrder::kAny && *optimum > 0) {
        ASSERT_EQ(found.bound, *optimum) << i;
      }
      if (order == GroupOrder::kRuns && *optimum > last) ++in_runs_only;
      last = *optimum;
      ++solved;
    }
  }
  EXPECT_GT(solved, 300);
  // Going back to a group pays now and then.
  EXPECT_GT(in_runs_only, 3);
}

TEST(SolveByGroupedDpTest, StopsAtLimits) {
  RandomStream random(2);
  const BlockInstance instance = MakeGroupedInstance(0, random);
  SolveLimits no_work;
  no_work.work = 0;
  EXPECT_EQ(SolveByGroups(instance, {2, 2}, GroupOrder::kAny, no_work).outcome.end, IdealDpEnd::kWorkLimit);
  const std::stop_source stop;
  stop.request_stop();
  SolveLimits stopped;
  stopped.stop = stop.get_token();
  EXPECT_EQ(SolveByGroups(instance, {2, 2}, GroupOrder::kAny, stopped).outcome.end, IdealDpEnd::kCancelled);
}

TEST(CanGroupTest, TellsWhatTheProgramCanTreat) {
  RandomStream random(3);
  BlockInstance instance = MakeGroupedInstance(0, random);
  EXPECT_FALSE(CanGroup(instance, {1, 4}, GroupOrder::kRuns));
  EXPECT_TRUE(CanGroup(instance, {16, 64}, GroupOrder::kRuns));
  EXPECT_FALSE(CanGroup(instance, {16, 64}, GroupOrder::kAny));
  EXPECT_FALSE(CanGroup(instance, {128, 1}, GroupOrder::kRuns));
  instance.rule.overlap = Overlap::kOverlapped;
  EXPECT_FALSE(CanGroup(instance, {2, 2}, GroupOrder::kAny));
  instance.rule = {};
  AddPool(instance, 1, std::vector<int64_t>(5, 1));
  EXPECT_FALSE(CanGroup(instance, {2, 2}, GroupOrder::kAny));
}

}  // namespace
}  // namespace planwright
