// devices_to_use, max_devices and MIN_DEVICES against brute force over all sets of devices.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/infeasibility.h"
#include "tests/property/brute_force.h"
#include "tests/property/planning.h"
#include "tests/support/mode_instance.h"

namespace planwright {
namespace {

constexpr uint64_t kDeviceInstances = 500;
constexpr int kDeviceOperators = 6;

// A set of devices and the best that any plan on no others can do.
struct DeviceSet {
  std::vector<DeviceId> devices;
  std::size_t accelerators = 0;
  std::optional<Picoseconds> optimum;
};

// The devices of `mask`, without an optimum.
DeviceSet SetOf(const Instance& instance, std::size_t mask) {
  DeviceSet set;
  for (std::size_t i = 0; i < instance.cluster.devices.size(); ++i) {
    if ((mask >> i & 1U) == 0) continue;
    set.devices.emplace_back(i);
    if (instance.cluster.class_of(DeviceId(i)).kind == DeviceKind::kAccelerator) ++set.accelerators;
  }
  return set;
}

// REQUIRES: all pairs of devices are connected alike.
std::vector<DeviceSet> AllSets(const Instance& instance) {
  std::vector<DeviceSet> sets;
  for (std::size_t mask = 1; mask < (std::size_t{1} << instance.cluster.devices.size()); ++mask) {
    DeviceSet set = SetOf(instance, mask);
    Instance reduced = instance;
    reduced.cluster.devices.clear();
    for (const DeviceId device : set.devices) {
      reduced.cluster.devices.push_back(instance.cluster.devices[device.index()]);
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
  ForEachInstance(kDeviceInstances, kDeviceOperators, [](const Instance& instance, uint64_t) {
    for (const DeviceSet& set : AllSets(instance)) {
      Instance selected = instance;
      selected.problem.devices_to_use.devices = set.devices;
      ExpectBest(selected, set.optimum);
    }
  });
}

TEST(DevicePropertyTest, MaxDevicesAreTheBestSoMany) {
  ForEachInstance(kDeviceInstances, kDeviceOperators, [](const Instance& instance, uint64_t) {
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
  ForEachInstance(kDeviceInstances, kDeviceOperators, [&](const Instance& instance, uint64_t) {
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

// `instance` on three hosts of two accelerators, where transfers between hosts take four times as long.
Instance OnHosts(Instance instance) {
  constexpr double kBytePerPicosecond = 1e12;
  for (Tensor& tensor : instance.graph.tensors) {
    if (tensor.transfer.has_value()) tensor.size_bytes = tensor.transfer->count();
    tensor.transfer.reset();
  }
  instance.cluster.devices.resize(1);
  instance.cluster.devices.front().device_class = DeviceClassId(0);
  for (int i = 1; i < 6; ++i) {
    instance.cluster.devices.push_back(instance.cluster.devices.front());
    instance.cluster.devices.back().name += std::to_string(i);
  }
  instance.cluster.interconnect = HierarchyInterconnect{{{2, kBytePerPicosecond, {}}, {3, kBytePerPicosecond / 4, {}}}};
  return instance;
}

// The devices that were taken need not be the best ones, but what is proven must hold for all others.
TEST(DevicePropertyTest, ProofsOnAHierarchyHoldForEveryChoiceOfDevices) {
  int proven = 0;
  ForEachInstance(kDeviceInstances / 4, kDeviceOperators, [&](const Instance& random, uint64_t) {
    const Instance instance = OnHosts(random);
    // By number of devices, the best time that is known.
    std::vector<Picoseconds> best(7, Picoseconds::max());
    for (std::size_t mask = 1; mask < 64; ++mask) {
      Instance selected = instance;
      for (std::size_t i = 0; i < 6; ++i) {
        if ((mask >> i & 1U) != 0) selected.problem.devices_to_use.devices.emplace_back(i);
      }
      const std::size_t count = selected.problem.devices_to_use.devices.size();
      const absl::StatusOr<Plan> plan = MakePlanOf(selected);
      if (plan.ok()) best[count] = std::min(best[count], plan->objective);
    }
    for (std::size_t most = 1; most <= 6; ++most) {
      best[most] = std::min(best[most], best[most - 1]);
      Instance limited = instance;
      limited.problem.devices_to_use.max_devices = static_cast<int32_t>(most);
      const absl::StatusOr<Plan> plan = MakePlanOf(limited);
      EXPECT_TRUE(!plan.ok() || plan->lower_bound <= best[most]);
      if (best[most] == Picoseconds::max() || best[most] == Picoseconds(0)) continue;
      limited.problem.devices_to_use.max_devices.reset();
      limited.problem.objective = Objective::kMinDevices;
      limited.problem.target_period = best[most];
      const absl::StatusOr<Plan> fewest = MakePlanOf(limited);
      EXPECT_FALSE(InfeasibilityOf(fewest.status()).has_value()) << fewest.status();
      if (!fewest.ok()) continue;
      const auto needed = static_cast<std::size_t>(fewest->provenance.counters.at("devices_needed"));
      EXPECT_TRUE(needed == 0 || best[needed - 1] > best[most]) << needed << " devices for " << best[most].count();
      if (fewest->provenance.proven_optimal) ++proven;
    }
  });
  EXPECT_GT(proven, 100);
}

// A plan on so many devices refutes every claim that more are needed.
TEST(DevicePropertyTest, MinDevicesAgreesWithMaxDevicesInOtherModes) {
  const auto in_mode = [](Instance instance, uint64_t mode) {
    PlanningProblem& problem = instance.problem;
    if (mode == 0) problem.split = Split::kNonContiguous;
    if (mode == 1) problem.overlap = Overlap::kFullDuplex;
    if (mode == 2) problem.overlap = Overlap::kOverlapped;
    return instance;
  };
  SolverOptions options;
  options.work_limit = 2000;
  int asked = 0;
  ForEachInstance(kDeviceInstances / 5, kDeviceOperators, [&](const Instance& random, uint64_t seed) {
    Instance instance = in_mode(random, seed % 3);
    std::erase_if(instance.cluster.devices,
                  [&](const Device& device) { return instance.cluster.class_of(device).kind == DeviceKind::kCpu; });
    for (std::size_t most = 1; most <= instance.cluster.devices.size(); ++most) {
      instance.problem.devices_to_use.max_devices = static_cast<int32_t>(most);
      const absl::StatusOr<Plan> plan = MakePlanOf(instance, options);
      if (!plan.ok() || plan->objective == Picoseconds(0)) continue;
      Instance fewest = instance;
      fewest.problem.devices_to_use.max_devices.reset();
      fewest.problem.objective = Objective::kMinDevices;
      fewest.problem.target_period = plan->objective;
      const absl::StatusOr<Plan> answer = MakePlanOf(fewest, options);
      EXPECT_FALSE(InfeasibilityOf(answer.status()).has_value()) << answer.status();
      if (!answer.ok()) continue;
      ++asked;
      EXPECT_LE(answer->provenance.counters.at("devices_needed"), static_cast<int64_t>(most));
    }
  });
  EXPECT_GT(asked, 50);
}

// Stages, with equally many replicas or none, on accelerators of one class joined in any way. Brute force looks at one
// order of each ring, so what it finds is a plan but need not be the best one.
std::optional<Instance> OnAnyInterconnect(uint64_t seed) {
  Instance instance = MakeModeInstance(InstanceMode::kSteps, seed, 5);
  for (Device& device : instance.cluster.devices) device.device_class = instance.cluster.devices.front().device_class;
  const DeviceClassId used = instance.cluster.devices.front().device_class;
  instance.cluster.device_classes[used.index()].kind = DeviceKind::kAccelerator;
  // The activations that brute force counts for a stage depend on the order of its list.
  if (instance.problem.schedule == ScheduleKind::kOneFOneB) return std::nullopt;
  instance.problem.num_stages.reset();
  instance.problem.num_replicas.reset();
  return instance;
}

TEST(DevicePropertyTest, AnyInterconnectHasPlansWithinALimit) {
  SolverOptions options;
  options.algorithm = Algorithm::kParmesan;
  options.work_limit = 20'000;
  int found = 0;
  int best = 0;
  int proven = 0;
  for (uint64_t seed = 0; seed < NumCases(150) && !::testing::Test::HasFailure(); ++seed) {
    const std::optional<Instance> instance = OnAnyInterconnect(seed);
    if (!instance.has_value() || !IsSupported(*instance, options)) continue;
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(*instance));
    for (std::size_t most = 1; most <= instance->cluster.devices.size(); ++most) {
      Instance limited = *instance;
      limited.problem.devices_to_use.max_devices = static_cast<int32_t>(most);
      const std::optional<Picoseconds> optimum = NaiveJudge(limited).Optimum();
      const absl::StatusOr<Plan> plan = MakePlanOf(limited, options);
      EXPECT_FALSE(optimum.has_value() && InfeasibilityOf(plan.status()).has_value()) << plan.status();
      if (!optimum.has_value()) continue;
      ++found;
      EXPECT_TRUE(!plan.ok() || plan->lower_bound <= *optimum);
      if (plan.ok() && plan->objective <= *optimum) ++best;
      if (*optimum <= Picoseconds(0)) continue;
      // So few devices are enough, whatever is proven of fewer.
      limited.problem.devices_to_use.max_devices.reset();
      limited.problem.objective = Objective::kMinDevices;
      limited.problem.target_period = *optimum;
      const absl::StatusOr<Plan> fewer = MakePlanOf(limited, options);
      EXPECT_FALSE(InfeasibilityOf(fewer.status()).has_value()) << fewer.status();
      if (!fewer.ok()) continue;
      EXPECT_LE(fewer->objective, *optimum);
      EXPECT_LE(fewer->provenance.counters.at("devices_needed"), static_cast<int64_t>(most));
      proven += fewer->provenance.proven_optimal ? 1 : 0;
    }
  }
  EXPECT_GT(found, 100);
  EXPECT_GE(best, 0.95 * found) << best << " of " << found;
  EXPECT_GT(proven, 20);
}

// Only accelerators count where CPUs take part as well.
TEST(DevicePropertyTest, ParmesanCountsAcceleratorsBesideCpus) {
  SolverOptions options;
  options.algorithm = Algorithm::kParmesan;
  options.work_limit = 20'000;
  int met = 0;
  for (uint64_t seed = 0; seed < NumCases(120) && !::testing::Test::HasFailure(); ++seed) {
    Instance instance = MakeModeInstance(InstanceMode::kSteps, seed, 5);
    instance.problem.replication = Replication::kNone;
    instance.problem.allreduce = {};
    instance.problem.num_replicas.reset();
    if (instance.problem.schedule == ScheduleKind::kOneFOneB || !IsSupported(instance, options)) continue;
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(instance));
    std::vector<DeviceSet> sets;
    for (std::size_t mask = 1; mask < (std::size_t{1} << instance.cluster.devices.size()); ++mask) {
      DeviceSet& set = sets.emplace_back(SetOf(instance, mask));
      Instance selected = instance;
      selected.problem.devices_to_use.devices = set.devices;
      set.optimum = NaiveJudge(selected).Optimum();
    }
    if (sets.back().accelerators == 0 || sets.back().accelerators == sets.back().devices.size()) continue;
    for (const DeviceSet& target : sets) {
      if (target.optimum.value_or(Picoseconds(0)) == Picoseconds(0)) continue;
      std::size_t fewest = target.accelerators;
      for (const DeviceSet& set : sets) {
        if (set.optimum.has_value() && *set.optimum <= *target.optimum) fewest = std::min(fewest, set.accelerators);
      }
      instance.problem.objective = Objective::kMinDevices;
      instance.problem.target_period = target.optimum;
      const absl::StatusOr<Plan> plan = MakePlanOf(instance, options);
      EXPECT_FALSE(InfeasibilityOf(plan.status()).has_value()) << plan.status();
      if (!plan.ok()) continue;
      ++met;
      EXPECT_GE(plan->provenance.counters.at("devices_used"), static_cast<int64_t>(fewest));
      EXPECT_LE(plan->provenance.counters.at("devices_needed"), static_cast<int64_t>(fewest));
    }
  }
  EXPECT_GT(met, 100);
}

}  // namespace
}  // namespace planwright
