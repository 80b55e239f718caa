// devices_to_use, max_devices and MIN_DEVICES against brute force over all sets of devices.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "core/base/infeasibility.h"
#include "tests/property/brute_force.h"
#include "tests/property/planning.h"

namespace planwright {
namespace {

constexpr uint64_t kInstances = 500;
constexpr int kOperators = 6;

// A set of devices and the best that any plan on no others can do.
struct DeviceSet {
  std::vector<DeviceId> devices;
  std::size_t accelerators = 0;
  std::optional<Picoseconds> optimum;
};

std::vector<DeviceSet> AllSets(const Instance& instance) {
  std::vector<DeviceSet> sets;
  const std::size_t devices = instance.cluster.devices.size();
  for (std::size_t mask = 1; mask < (std::size_t{1} << devices); ++mask) {
    DeviceSet set;
    Instance reduced = instance;
    reduced.cluster.devices.clear();
    for (std::size_t i = 0; i < devices; ++i) {
      if ((mask >> i & 1U) == 0) continue;
      set.devices.emplace_back(i);
      if (instance.cluster.class_of(DeviceId(i)).kind == DeviceKind::kAccelerator) ++set.accelerators;
      reduced.cluster.devices.push_back(instance.cluster.devices[i]);
    }
    set.optimum = NaiveJudge(reduced).Optimum();
    sets.push_back(set);
  }
  return sets;
}

// Of the sets that pass, the least optimum.
template <typename Pass>
std::optional<Picoseconds> BestOf(const std::vector<DeviceSet>& sets, const Pass& pass) {
  std::optional<Picoseconds> best;
  for (const DeviceSet& set : sets) {
    if (pass(set) && set.optimum.has_value()) best = std::min(best.value_or(*set.optimum), *set.optimum);
  }
  return best;
}

void ExpectBest(const Instance& instance, const std::optional<Picoseconds>& optimum) {
  const absl::StatusOr<Plan> plan = MakePlanOf(instance);
  if (!optimum.has_value()) {
    EXPECT_TRUE(InfeasibilityOf(plan.status()).has_value()) << plan.status();
    return;
  }
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_GE(plan->objective, *optimum);
  EXPECT_LE(plan->lower_bound, *optimum);
  if (!IsHostStaged(instance)) return;
  EXPECT_EQ(plan->objective, *optimum);
  EXPECT_TRUE(plan->provenance.proven_optimal);
}

TEST(DevicePropertyTest, PlansOnASelectionAreTheBestOnIt) {
  ForEachInstance(kInstances, kOperators, [](const Instance& instance, uint64_t) {
    for (const DeviceSet& set : AllSets(instance)) {
      Instance selected = instance;
      selected.problem.devices_to_use.devices = set.devices;
      ExpectBest(selected, set.optimum);
    }
  });
}

TEST(DevicePropertyTest, MaxDevicesAreTheBestSoMany) {
  ForEachInstance(kInstances, kOperators, [](const Instance& instance, uint64_t) {
    const std::vector<DeviceSet> sets = AllSets(instance);
    for (std::size_t most = 1; most <= instance.cluster.devices.size(); ++most) {
      Instance limited = instance;
      limited.problem.devices_to_use.max_devices = static_cast<int32_t>(most);
      ExpectBest(limited, BestOf(sets, [&](const DeviceSet& set) { return set.devices.size() <= most; }));
    }
  });
}

int64_t CountOf(const DeviceSet& set, bool counts_accelerators) {
  return static_cast<int64_t>(counts_accelerators ? set.accelerators : set.devices.size());
}

TEST(DevicePropertyTest, MinDevicesAreTheFewestThatMeetTheTarget) {
  int met = 0;
  int missed = 0;
  ForEachInstance(kInstances, kOperators, [&](const Instance& instance, uint64_t) {
    const std::vector<DeviceSet> sets = AllSets(instance);
    const bool counts_accelerators = sets.back().accelerators > 0;
    std::set<Picoseconds> targets;
    for (const DeviceSet& set : sets) {
      if (!set.optimum.has_value() || *set.optimum <= Picoseconds(1)) continue;
      targets.insert(*set.optimum);
      targets.insert(*set.optimum - Picoseconds(1));
    }
    for (const Picoseconds target : targets) {
      std::optional<int64_t> fewest;
      for (const DeviceSet& set : sets) {
        if (!set.optimum.has_value() || *set.optimum > target) continue;
        const int64_t count = CountOf(set, counts_accelerators);
        fewest = std::min(fewest.value_or(count), count);
      }
      Instance asked = instance;
      asked.problem.objective = Objective::kMinDevices;
      asked.problem.target_period = target;
      const absl::StatusOr<Plan> plan = MakePlanOf(asked);
      if (!plan.ok()) {
        ++missed;
        const bool is_proven = InfeasibilityOf(plan.status()).has_value();
        EXPECT_TRUE(is_proven || !IsHostStaged(instance)) << plan.status();
        EXPECT_FALSE(is_proven && fewest.has_value()) << target.count();
        continue;
      }
      ++met;
      ASSERT_TRUE(fewest.has_value());
      EXPECT_LE(plan->objective, target);
      EXPECT_GE(plan->provenance.counters.at("devices_used"), *fewest) << target.count();
      EXPECT_LE(plan->provenance.counters.at("devices_needed"), *fewest) << target.count();
      EXPECT_TRUE(plan->provenance.proven_optimal || !IsHostStaged(instance)) << target.count();
      if (plan->provenance.proven_optimal) {
        EXPECT_EQ(plan->provenance.counters.at("devices_used"), *fewest) << target.count();
      }
    }
  });
  EXPECT_GT(met, 300);
  EXPECT_GT(missed, 50);
}

}  // namespace
}  // namespace planwright
