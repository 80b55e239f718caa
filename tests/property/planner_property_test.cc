// The planner against brute force: right optima, right bounds, right proofs that there is no plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <variant>

#include "core/base/infeasibility.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/planner/planner.h"
#include "tests/core/verify/plan_mutations.h"
#include "tests/property/brute_force.h"
#include "tests/property/metamorphosis.h"
#include "tests/support/random_instance.h"

namespace planwright {
namespace {

using ::testing::Contains;
using ::testing::Field;

constexpr uint64_t kInstances = 2000;
constexpr uint64_t kMetamorphicInstances = 600;
constexpr uint64_t kMutatedInstances = 60;
constexpr int64_t kFactor = 7;

absl::StatusOr<Plan> MakePlanOf(const Instance& instance, Algorithm algorithm = Algorithm::kAuto) {
  static TaskArena arena(2);
  PlannerObserver observer;
  SolverOptions options;
  options.algorithm = algorithm;
  return MakePlan({instance.graph, instance.cluster, instance.problem, options}, ModelLimits(), SolveLimits(), arena,
                  observer);
}

bool IsHostStaged(const Instance& instance) {
  return std::holds_alternative<HostStagedInterconnect>(instance.cluster.interconnect);
}

// Calls check(instance, seed) until the first failure, which the trace then describes in full.
template <typename Check>
void ForEachInstance(uint64_t count, const Check& check) {
  for (uint64_t seed = 0; seed < count && !::testing::Test::HasFailure(); ++seed) {
    const Instance instance = MakeRandomInstance(seed);
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(instance));
    check(instance, seed);
  }
}

void ExpectInfeasible(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  const std::optional<Infeasibility> infeasibility = InfeasibilityOf(status);
  ASSERT_TRUE(infeasibility.has_value()) << status;
  EXPECT_FALSE(infeasibility->shortages.empty());
}

TEST(PlannerPropertyTest, FindsTheOptimumOrItsProofOfInfeasibilityIsRight) {
  int planned = 0;
  int infeasible = 0;
  ForEachInstance(kInstances, [&](const Instance& instance, uint64_t) {
    const std::optional<Picoseconds> optimum = NaiveJudge(instance).Optimum();
    const absl::StatusOr<Plan> plan = MakePlanOf(instance);
    if (!optimum.has_value()) {
      ++infeasible;
      ExpectInfeasible(plan.status());
      return;
    }
    ++planned;
    ASSERT_TRUE(plan.ok()) << plan.status() << "\nbrute force finds " << optimum->count();
    EXPECT_GE(plan->objective, *optimum);
    EXPECT_LE(plan->lower_bound, *optimum);
    if (IsHostStaged(instance)) {
      EXPECT_TRUE(plan->provenance.proven_optimal) << "lower bound " << plan->lower_bound.count();
      EXPECT_EQ(plan->provenance.stop_reason, StopReason::kOptimal);
      EXPECT_EQ(plan->objective, *optimum);
    }
  });
  EXPECT_GT(planned, 1000);
  EXPECT_GT(infeasible, 300);
}

TEST(PlannerPropertyTest, LinearizedDpIsFeasibleAndItsBoundHolds) {
  int planned = 0;
  ForEachInstance(kInstances, [&](const Instance& instance, uint64_t) {
    const std::optional<Picoseconds> optimum = NaiveJudge(instance).Optimum();
    const absl::StatusOr<Plan> plan = MakePlanOf(instance, Algorithm::kLinearizedDp);
    if (!plan.ok()) {
      // One linear order may hold no plan although there is one.
      if (!IsNoPlanFound(plan.status())) ExpectInfeasible(plan.status());
      EXPECT_TRUE(IsNoPlanFound(plan.status()) || !optimum.has_value());
      return;
    }
    ++planned;
    ASSERT_TRUE(optimum.has_value());
    EXPECT_GE(plan->objective, *optimum);
    EXPECT_LE(plan->lower_bound, *optimum);
    EXPECT_EQ(plan->provenance.proven_optimal, plan->lower_bound == plan->objective);
  });
  EXPECT_GT(planned, 1000);
}

TEST(PlannerPropertyTest, EveryMutationOfAPlanIsCaught) {
  ForEachInstance(kMutatedInstances, [&](const Instance& instance, uint64_t) {
    const absl::StatusOr<Plan> plan = MakePlanOf(instance);
    if (!plan.ok()) return;
    for (const PlanMutation& mutation : MutationsOf(*plan)) {
      // An operator that costs nothing may move to another stage, and the plan is still correct.
      if (mutation.expected_path.empty()) continue;
      Plan mutated = *plan;
      mutation.apply(mutated);
      Violations violations;
      VerifyPlan(instance.graph, instance.cluster, mutated, violations);
      EXPECT_THAT(violations.listed(), Contains(Field("path", &Violation::path, mutation.expected_path)))
          << mutation.name;
    }
  });
}

// Checks compare(before, after) for each pair of proven optima, and that `change` keeps feasible what was.
template <typename Change, typename Compare>
void ExpectMetamorphosis(const Change& change, const Compare& compare) {
  int compared = 0;
  ForEachInstance(kMetamorphicInstances, [&](const Instance& instance, uint64_t seed) {
    RandomStream random(seed, 2);
    const std::optional<Instance> changed = change(instance, random);
    if (!changed.has_value()) return;
    const absl::StatusOr<Plan> before = MakePlanOf(instance);
    const absl::StatusOr<Plan> after = MakePlanOf(*changed);
    if (!before.ok()) return;
    ASSERT_TRUE(after.ok()) << after.status() << "\nafter the change:\n" << Describe(*changed);
    if (!before->provenance.proven_optimal || !after->provenance.proven_optimal) return;
    ++compared;
    EXPECT_TRUE(compare(before->objective, after->objective))
        << "before " << before->objective.count() << " after " << after->objective.count() << "\nafter the change:\n"
        << Describe(*changed);
  });
  EXPECT_GT(compared, 100);
}

using MaybeInstance = std::optional<Instance>;

TEST(MetamorphicTest, LongerTimesScaleTheOptimum) {
  ExpectMetamorphosis(
      [](const Instance& instance, RandomStream&) {
        return HasTransferTimes(instance) ? MaybeInstance(Slowed(instance, kFactor)) : std::nullopt;
      },
      [](Picoseconds before, Picoseconds after) { return after == kFactor * before; });
}

TEST(MetamorphicTest, NamesAndOrderChangeNothing) {
  ExpectMetamorphosis(
      [](const Instance& instance, RandomStream& random) { return MaybeInstance(Shuffled(instance, random)); },
      [](Picoseconds before, Picoseconds after) { return after == before; });
}

TEST(MetamorphicTest, MoreBandwidthNeverHurts) {
  ExpectMetamorphosis(
      [](const Instance& instance, RandomStream&) { return MaybeInstance(WithMoreBandwidth(instance)); },
      [](Picoseconds before, Picoseconds after) { return after <= before; });
}

TEST(MetamorphicTest, OneMoreDeviceNeverHurts) {
  ExpectMetamorphosis(
      [](const Instance& instance, RandomStream&) { return MaybeInstance(WithOneMoreDevice(instance)); },
      [](Picoseconds before, Picoseconds after) { return after <= before; });
}

}  // namespace
}  // namespace planwright
