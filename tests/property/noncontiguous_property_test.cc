// Non-contiguous plans against brute force, and against the contiguous plans of the same problem.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/base/infeasibility.h"
#include "tests/property/brute_force.h"
#include "tests/property/planning.h"
#include "tests/support/mode_instance.h"
#include "tests/support/random_instance.h"

namespace planwright {
namespace {

constexpr uint64_t kNetInstances = 500;
constexpr int kNetOperators = 8;
constexpr int64_t kMoves = 60'000;

SolverOptions Moves(int64_t moves) {
  SolverOptions options;
  options.work_limit = moves;
  return options;
}

Instance NonContiguous(Instance instance) {
  instance.problem.split = Split::kNonContiguous;
  return instance;
}

TEST(NonContiguousPropertyTest, FindsTheOptimumOfSmallInstances) {
  int feasible = 0;
  int optimal = 0;
  int proven = 0;
  for (uint64_t seed = 0; seed < kNetInstances && !HasFailure(); ++seed) {
    const Instance instance = MakeModeInstance(InstanceMode::kNonContiguous, seed, kNetOperators);
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(instance));
    const std::optional<Picoseconds> optimum = OptimumOf(InstanceMode::kNonContiguous, seed, kNetOperators);
    const absl::StatusOr<Plan> plan = MakePlanOf(instance, Moves(kMoves));
    if (!optimum.has_value()) {
      EXPECT_FALSE(plan.ok());
      continue;
    }
    ++feasible;
    // A plan that exists is never said to be impossible.
    EXPECT_TRUE(plan.ok() || IsNoPlanFound(plan.status())) << plan.status();
    if (!plan.ok()) continue;
    EXPECT_GE(plan->objective, *optimum);
    EXPECT_LE(plan->lower_bound, *optimum);
    if (plan->objective == *optimum) ++optimal;
    if (plan->provenance.proven_optimal) ++proven;
  }
  EXPECT_GT(feasible, 200);
  EXPECT_GE(optimal, feasible * 99 / 100);
  EXPECT_GT(proven, feasible / 2);
}

TEST(NonContiguousPropertyTest, IsNeverWorseThanTheContiguousPlan) {
  for (const int max_operators : {12, 24}) {
    ForEachInstance(60, max_operators, [&](const Instance& contiguous, uint64_t /*seed*/) {
      const absl::StatusOr<Plan> plan = MakePlanOf(contiguous);
      if (!plan.ok()) return;
      const absl::StatusOr<Plan> freer = MakePlanOf(NonContiguous(contiguous), Moves(1000));
      ASSERT_TRUE(freer.ok()) << freer.status();
      EXPECT_LE(freer->objective, plan->objective);
    });
  }
}

TEST(NonContiguousPropertyTest, ThreadsChangeNothing) {
  ForEachInstance(12, 30, [&](const Instance& contiguous, uint64_t /*seed*/) {
    const Instance instance = NonContiguous(contiguous);
    const absl::StatusOr<Plan> one = MakePlanOf(instance, Moves(400'000), SolveLimits(), 1);
    const absl::StatusOr<Plan> four = MakePlanOf(instance, Moves(400'000), SolveLimits(), 4);
    ASSERT_EQ(one.status(), four.status());
    if (!one.ok()) return;
    EXPECT_EQ(one->objective, four->objective);
    EXPECT_EQ(one->lower_bound, four->lower_bound);
    ASSERT_EQ(one->stages.size(), four->stages.size());
    for (std::size_t i = 0; i < one->stages.size(); ++i) {
      EXPECT_EQ(one->stages[i].operators, four->stages[i].operators);
    }
  });
}

// Pins to where another plan has the operators leave at least that plan; the verifier sees to it that they are kept.
TEST(NonContiguousPropertyTest, PinsAreKeptAndCostAtMostWhatTheyForce) {
  int pinned_plans = 0;
  ForEachInstance(80, kBruteForceOperators, [&](const Instance& contiguous, uint64_t seed) {
    const absl::StatusOr<Plan> plan = MakePlanOf(contiguous);
    if (!plan.ok()) return;
    Instance pinned = NonContiguous(contiguous);
    RandomStream random(seed, 10);
    for (const Stage& stage : plan->stages) {
      const OperatorDevice rule{stage.operators[random.Below(stage.operators.size())], stage.replicas.front().device};
      pinned.problem.pinned.push_back(rule);
    }
    const absl::StatusOr<Plan> kept = MakePlanOf(pinned, Moves(kMoves));
    if (!kept.ok()) {
      EXPECT_TRUE(IsNoPlanFound(kept.status())) << kept.status();
      return;
    }
    ++pinned_plans;
    const Instance free = NonContiguous(contiguous);
    EXPECT_GE(kept->objective, NaiveJudge(free).Optimum().value());
    for (const OperatorDevice& rule : pinned.problem.pinned) {
      for (const Stage& stage : kept->stages) {
        const bool holds = std::find(stage.operators.begin(), stage.operators.end(), rule.op) != stage.operators.end();
        EXPECT_TRUE(!holds || stage.replicas.front().device == rule.device);
      }
    }
  });
  EXPECT_GT(pinned_plans, 40);
}

}  // namespace
}  // namespace planwright
