// Searches that limits cut short: whatever they still say is true.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>

#include "core/base/infeasibility.h"
#include "core/base/random.h"
#include "tests/property/brute_force.h"
#include "tests/property/planning.h"
#include "tests/support/random_instance.h"

namespace planwright {
namespace {

constexpr uint64_t kStoppedInstances = 2000;

// How a plan or an error must relate to the optimum of the instance, whatever stopped the search.
void ExpectTruthful(const absl::StatusOr<Plan>& plan, const std::optional<Picoseconds>& optimum) {
  if (!plan.ok()) {
    if (plan.status().code() == absl::StatusCode::kFailedPrecondition) {
      EXPECT_FALSE(optimum.has_value()) << plan.status();
      return;
    }
    EXPECT_TRUE(IsNoPlanFound(plan.status()) || plan.status().code() == absl::StatusCode::kCancelled ||
                plan.status().code() == absl::StatusCode::kResourceExhausted)
        << plan.status();
    return;
  }
  ASSERT_TRUE(optimum.has_value());
  EXPECT_GE(plan->objective, *optimum);
  EXPECT_LE(plan->lower_bound, *optimum);
  EXPECT_EQ(plan->provenance.stop_reason == StopReason::kOptimal, plan->provenance.proven_optimal);
}

// Plans every instance after restrict(random, options, limits) and returns how many plans were made for `reason`.
int CountStopped(StopReason reason, const std::function<void(RandomStream&, SolverOptions&, SolveLimits&)>& restrict) {
  int stopped = 0;
  ForEachInstance(kStoppedInstances, kBruteForceOperators, [&](const Instance& instance, uint64_t seed) {
    RandomStream random(seed, 3);
    SolverOptions options;
    SolveLimits limits;
    restrict(random, options, limits);
    const absl::StatusOr<Plan> plan = MakePlanOf(instance, options, limits);
    ExpectTruthful(plan, OptimumOf(seed));
    if (plan.ok() && plan->provenance.stop_reason == reason) ++stopped;
  });
  return stopped;
}

TEST(AnytimePropertyTest, IdealLimit) {
  const auto restrict = [](RandomStream& random, SolverOptions& options, SolveLimits&) {
    options.algorithm = Algorithm::kIdealDp;
    options.ideal_limit = random.Between(1, 8);
  };
  EXPECT_GT(CountStopped(StopReason::kIdealLimit, restrict), 0);
}

TEST(AnytimePropertyTest, WorkLimit) {
  const auto restrict = [](RandomStream& random, SolverOptions& options, SolveLimits&) {
    options.work_limit = random.Between(1, 10);
  };
  EXPECT_GT(CountStopped(StopReason::kWorkLimit, restrict), 0);
}

TEST(AnytimePropertyTest, MemoryLimit) {
  const auto restrict = [](RandomStream& random, SolverOptions& options, SolveLimits& limits) {
    options.algorithm = Algorithm::kIdealDp;
    limits.memory_bytes = random.Between(0, 4000);
  };
  EXPECT_GT(CountStopped(StopReason::kMemoryLimit, restrict), 0);
}

TEST(AnytimePropertyTest, DeadlineThatHasPassed) {
  const auto restrict = [](RandomStream&, SolverOptions&, SolveLimits& limits) {
    limits.deadline = SolveLimits::Clock::now();
  };
  EXPECT_GT(CountStopped(StopReason::kTimeLimit, restrict), 0);
}

TEST(AnytimePropertyTest, StopRequest) {
  std::stop_source source;
  source.request_stop();
  const auto restrict = [&source](RandomStream&, SolverOptions&, SolveLimits& limits) {
    limits.stop = source.get_token();
  };
  EXPECT_GT(CountStopped(StopReason::kCancelled, restrict), 0);
}

TEST(AnytimePropertyTest, RequestedGapIsReachedWhereThePlanSaysSo) {
  int reached = 0;
  ForEachInstance(kStoppedInstances, kBruteForceOperators, [&](const Instance& instance, uint64_t seed) {
    SolverOptions options;
    options.relative_gap = RandomStream(seed, 4).Unit() / 2;
    const absl::StatusOr<Plan> plan = MakePlanOf(instance, options);
    ExpectTruthful(plan, OptimumOf(seed));
    if (!plan.ok() || plan->provenance.stop_reason != StopReason::kGapReached) return;
    ++reached;
    EXPECT_LE(RelativeGap(plan->objective, plan->lower_bound), options.relative_gap);
  });
  EXPECT_GT(reached, 0);
}

}  // namespace
}  // namespace planwright
