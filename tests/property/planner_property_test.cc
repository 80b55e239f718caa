// The planner against brute force: right optima, right bounds, right proofs that there is no plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "core/base/infeasibility.h"
#include "tests/core/verify/plan_mutations.h"
#include "tests/property/brute_force.h"
#include "tests/property/metamorphosis.h"
#include "tests/property/planning.h"
#include "tests/support/random_instance.h"

namespace planwright {
namespace {

using ::testing::Contains;
using ::testing::Field;

constexpr uint64_t kInstances = 2000;
constexpr uint64_t kMutatedInstances = 60;

SolverOptions Using(Algorithm algorithm) {
  SolverOptions options;
  options.algorithm = algorithm;
  return options;
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
  ForEachInstance(kInstances, kBruteForceOperators, [&](const Instance& instance, uint64_t seed) {
    const std::optional<Picoseconds> optimum = OptimumOf(seed);
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
  ForEachInstance(kInstances, kBruteForceOperators, [&](const Instance& instance, uint64_t seed) {
    const std::optional<Picoseconds> optimum = OptimumOf(seed);
    const absl::StatusOr<Plan> plan = MakePlanOf(instance, Using(Algorithm::kLinearizedDp));
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

// The greedy split reached the bound of 0, and the linearized program was then asked for a load of -1.
TEST(PlannerPropertyTest, PlansGraphsThatTakeNoTime) {
  ForEachInstance(kMutatedInstances, kBruteForceOperators, [](const Instance& instance, uint64_t) {
    if (!HasTransferTimes(instance) || !MakePlanOf(instance).ok()) return;
    const absl::StatusOr<Plan> plan = MakePlanOf(Slowed(instance, 0));
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->objective, Picoseconds(0));
    EXPECT_TRUE(plan->provenance.proven_optimal);
  });
}

TEST(PlannerPropertyTest, EveryMutationOfAPlanIsCaught) {
  ForEachInstance(kMutatedInstances, kBruteForceOperators, [&](const Instance& instance, uint64_t) {
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

}  // namespace
}  // namespace planwright
