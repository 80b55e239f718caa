// Every algorithm of every mode against brute force: no plan below the optimum, no bound above it, right proofs that
// there is no plan; and how often the default search finds the optimum.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/infeasibility.h"
#include "core/partition/mip/mip_solver.h"
#include "core/planner/algorithms/algorithms.h"
#include "tests/property/brute_force.h"
#include "tests/property/latency_brute_force.h"
#include "tests/property/planning.h"
#include "tests/support/mode_instance.h"

namespace planwright {
namespace {

struct ModeCase {
  std::string name;
  InstanceMode mode;
  uint64_t instances;
  int max_operators;
  // Ends searches that would go on looking for what small instances do not have.
  int64_t work;
  // Share of the instances whose optimum the default search must find.
  double least_share_found;
};

// What Optimum of the latency oracle may look at in a usual run.
constexpr double kMaxLatencyPlacements = 400'000;

// nullopt: the instance is too large for brute force. Remembered for the next test that asks.
std::optional<std::optional<Picoseconds>> OracleOptimum(const ModeCase& mode_case, uint64_t seed,
                                                        const Instance& instance) {
  if (mode_case.mode != InstanceMode::kLatency) return OptimumOf(mode_case.mode, seed, mode_case.max_operators);
  static std::map<uint64_t, std::optional<std::optional<Picoseconds>>> known;
  const auto [optimum, is_new] = known.try_emplace(seed);
  const NaiveLatencyJudge judge(instance);
  if (is_new && judge.NumPlacements() <= kMaxLatencyPlacements) optimum->second = judge.Optimum();
  return optimum->second;
}

// Those that plan the instance; AUTO is the first.
std::vector<SolverOptions> WaysToPlan(const Instance& instance, int64_t work) {
  std::vector<SolverOptions> ways(1);
  for (const AlgorithmRow& info : Algorithms()) ways.emplace_back().algorithm = info.algorithm;
  std::erase_if(ways, [&](SolverOptions& options) {
    options.work_limit = work;
    // The integer programs have a test of their own: they take longer.
    return options.algorithm == Algorithm::kMip || !IsSupported(instance, options);
  });
  return ways;
}

void ExpectTruthful(const absl::StatusOr<Plan>& plan, const std::optional<Picoseconds>& optimum) {
  if (plan.ok()) {
    ASSERT_TRUE(optimum.has_value()) << "brute force finds no plan";
    EXPECT_GE(plan->objective, *optimum);
    EXPECT_LE(plan->lower_bound, *optimum);
    EXPECT_EQ(plan->provenance.proven_optimal, plan->lower_bound == plan->objective);
  } else if (plan.status().code() == absl::StatusCode::kFailedPrecondition) {
    EXPECT_FALSE(optimum.has_value()) << plan.status() << "\nbrute force finds " << optimum->count();
    EXPECT_TRUE(InfeasibilityOf(plan.status()).has_value()) << plan.status();
  } else {
    EXPECT_TRUE(IsNoPlanFound(plan.status())) << plan.status();
  }
}

class ModePropertyTest : public ::testing::TestWithParam<ModeCase> {
 protected:
  // Calls check(instance, optimum) for the instances that this version plans.
  template <typename Check>
  void ForEachPlannedInstance(const Check& check) const {
    for (uint64_t seed = 0; seed < NumCases(GetParam().instances) && !HasFailure(); ++seed) {
      const Instance instance = MakeModeInstance(GetParam().mode, seed, GetParam().max_operators);
      if (WaysToPlan(instance, GetParam().work).empty()) continue;
      const auto optimum = OracleOptimum(GetParam(), seed, instance);
      if (!optimum.has_value()) continue;
      SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(instance));
      check(instance, *optimum);
    }
  }
};

TEST_P(ModePropertyTest, EveryAlgorithmTellsTheTruth) {
  int planned = 0;
  ForEachPlannedInstance([&](const Instance& instance, const std::optional<Picoseconds>& optimum) {
    for (const SolverOptions& options : WaysToPlan(instance, GetParam().work)) {
      SCOPED_TRACE(::testing::Message() << "algorithm " << static_cast<int>(options.algorithm));
      const absl::StatusOr<Plan> plan = MakePlanOf(instance, options);
      ExpectTruthful(plan, optimum);
      if (plan.ok()) ++planned;
    }
  });
  EXPECT_GT(planned, 50);
}

// By the default search: with little work, and where that is not enough with as much as it may usually do.
absl::StatusOr<Plan> PlanWell(const Instance& instance, int64_t work, Picoseconds optimum) {
  SolverOptions options;
  options.work_limit = work;
  absl::StatusOr<Plan> plan = MakePlanOf(instance, options);
  if (plan.ok() && plan->objective == optimum) return plan;
  options.work_limit = 100 * work;
  return MakePlanOf(instance, options);
}

// What the exact searches of contiguous stages promise: the cost of a stage does not depend on how others are split,
// and replicas are not looked for among devices of different memory.
bool IsProvable(const Instance& instance) {
  const PlanningProblem& problem = instance.problem;
  if (!IsHostStaged(instance) || problem.objective != Objective::kMaxThroughput) return false;
  if (problem.split != Split::kContiguous) return false;
  const std::vector<Device>& devices = instance.cluster.devices;
  return problem.replication == Replication::kNone ||
         std::all_of(devices.begin(), devices.end(), [](const Device& d) { return d.reserved_memory_bytes == 0; });
}

TEST_P(ModePropertyTest, TheIntegerProgramsTellTheTruth) {
  if (!HasMipSolver()) GTEST_SKIP() << "this build has no solver";
  SolverOptions options;
  options.algorithm = Algorithm::kMip;
  // Nodes.
  options.work_limit = 100;
  int planned = 0;
  for (uint64_t seed = 0; seed < NumCases(30) && !HasFailure(); ++seed) {
    const Instance instance = MakeModeInstance(GetParam().mode, seed, GetParam().max_operators);
    if (!IsSupported(instance, options)) continue;
    const auto oracle = OracleOptimum(GetParam(), seed, instance);
    if (!oracle.has_value()) continue;
    const std::optional<Picoseconds>& optimum = *oracle;
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(instance));
    const absl::StatusOr<Plan> plan = MakePlanOf(instance, options);
    ExpectTruthful(plan, optimum);
    if (!plan.ok()) continue;
    ++planned;
    const bool has_finished = plan->provenance.stop_reason != StopReason::kWorkLimit;
    // Elsewhere a tensor may cost its producer more than the program says.
    if (has_finished && IsHostStaged(instance) && instance.problem.overlap != Overlap::kFullDuplex) {
      EXPECT_EQ(plan->objective, *optimum);
    }
  }
  if (planned == 0) GTEST_SKIP() << "no integer program for this mode";
}

TEST_P(ModePropertyTest, TheDefaultSearchFindsTheOptimum) {
  int feasible = 0;
  int found = 0;
  std::vector<std::string> missed;
  ForEachPlannedInstance([&](const Instance& instance, const std::optional<Picoseconds>& optimum) {
    if (!optimum.has_value()) return;
    ++feasible;
    const absl::StatusOr<Plan> plan = PlanWell(instance, GetParam().work, *optimum);
    if (plan.ok() && plan->objective == *optimum) {
      ++found;
      if (IsProvable(instance)) {
        EXPECT_TRUE(plan->provenance.proven_optimal);
      }
    } else {
      missed.push_back(plan.ok() ? std::to_string(plan->objective.count()) : plan.status().ToString());
      missed.back() += " instead of " + std::to_string(optimum->count()) + "\n" + Describe(instance);
    }
  });
  ASSERT_GT(feasible, 50);
  EXPECT_GE(found, GetParam().least_share_found * feasible)
      << found << " of " << feasible << "; the first that is missed: " << missed.front();
}

// Steps and equal replicas.
TEST(StepsPropertyTest, ParmesanTellsTheTruth) {
  int planned = 0;
  for (uint64_t seed = 0; seed < NumCases(150) && !::testing::Test::HasFailure(); ++seed) {
    const Instance instance = MakeModeInstance(InstanceMode::kSteps, seed, 5);
    SolverOptions options;
    options.algorithm = Algorithm::kParmesan;
    options.work_limit = 20'000;
    if (!IsSupported(instance, options)) continue;
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(instance));
    const absl::StatusOr<Plan> plan = MakePlanOf(instance, options);
    ExpectTruthful(plan, OptimumOf(InstanceMode::kSteps, seed, 5));
    if (plan.ok()) ++planned;
  }
  EXPECT_GT(planned, 50);
}

// Without replicas, on any interconnect: the only bound that knows of transfers is that of the fastest links.
TEST(FastestLinksPropertyTest, NoBoundIsAboveTheOptimum) {
  int bounded = 0;
  int exact = 0;
  for (uint64_t seed = 0; seed < NumCases(300) && !::testing::Test::HasFailure(); ++seed) {
    Instance instance = MakeModeInstance(InstanceMode::kSteps, seed, 6);
    instance.problem.replication = Replication::kNone;
    instance.problem.micro_batches.reset();
    instance.problem.num_stages.reset();
    instance.problem.num_replicas.reset();
    instance.problem.schedule = ScheduleKind::kSteadyState;
    SolverOptions options;
    options.algorithm = Algorithm::kParmesan;
    options.work_limit = 20'000;
    if (!IsSupported(instance, options)) continue;
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(instance));
    const absl::StatusOr<Plan> plan = MakePlanOf(instance, options);
    const std::optional<Picoseconds> optimum = NaiveJudge(instance).Optimum();
    if (!plan.ok() || !optimum.has_value()) continue;
    for (const Bound& bound : plan->bounds) {
      if (bound.method != "fastest_links") continue;
      ++bounded;
      exact += bound.value == *optimum ? 1 : 0;
      EXPECT_LE(bound.value, *optimum);
    }
    EXPECT_LE(plan->lower_bound, *optimum);
    EXPECT_GE(plan->objective, *optimum);
  }
  EXPECT_GT(bounded, 30);
  EXPECT_GT(exact, 10);
}

INSTANTIATE_TEST_SUITE_P(Modes, ModePropertyTest,
                         ::testing::Values(ModeCase{"Contiguous", InstanceMode::kContiguous, 500, 8, 20'000, 0.99},
                                           ModeCase{"Replicated", InstanceMode::kReplicated, 300, 6, 20'000, 0.99},
                                           ModeCase{"Hierarchy", InstanceMode::kHierarchy, 300, 5, 20'000, 0.99},
                                           ModeCase{"Topology", InstanceMode::kTopology, 300, 5, 20'000, 0.9},
                                           ModeCase{"NonContiguous", InstanceMode::kNonContiguous, 500, 7, 20'000,
                                                    0.99},
                                           ModeCase{"Latency", InstanceMode::kLatency, 120, 8, 200'000, 1}),
                         [](const auto& mode_case) { return mode_case.param.name; });

}  // namespace
}  // namespace planwright
