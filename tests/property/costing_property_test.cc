// Three independent opinions on what a placement costs: brute force, core/verify and core/cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>

#include "core/base/random.h"
#include "core/cost/cost_table.h"
#include "core/cost/plan_costing.h"
#include "core/model/validator.h"
#include "core/verify/verify.h"
#include "tests/property/brute_force.h"
#include "tests/support/random_instance.h"

namespace planwright {
namespace {

constexpr uint64_t kInstances = 2000;
constexpr int kPlacementsPerInstance = 10;

DeviceChoice ChoiceOf(const Placement& placement, std::size_t num_operators) {
  DeviceChoice choice(num_operators, kNowhere);
  for (const Placement::Stage& stage : placement.stages) {
    for (const OperatorId op : stage.operators) choice[op.index()] = static_cast<int>(stage.devices.front().index());
  }
  return choice;
}

// Calls check(instance, problem, placement, naive verdict) for many placements, feasible and not.
template <typename Check>
void ForEachPlacement(const Check& check) {
  for (uint64_t seed = 0; seed < kInstances && !::testing::Test::HasFailure(); ++seed) {
    const Instance instance = MakeRandomInstance(seed);
    const PlanningProblem problem = ResolveProblem(instance.graph, instance.problem);
    const NaiveJudge judge(instance);
    RandomStream random(seed, 1);
    for (int i = 0; i < kPlacementsPerInstance; ++i) {
      const Placement placement = MakeRandomPlacement(instance, random);
      SCOPED_TRACE(::testing::Message() << "seed " << seed << " placement " << i << "\n" << Describe(instance));
      check(instance, problem, placement, judge.Judge(ChoiceOf(placement, instance.graph.operators.size())));
    }
  }
}

TEST(RandomInstanceTest, IsValid) {
  for (uint64_t seed = 0; seed < kInstances; ++seed) {
    const Instance instance = MakeRandomInstance(seed);
    Violations violations;
    ValidateGraph(instance.graph, ModelLimits(), violations);
    ValidateCluster(instance.cluster, ModelLimits(), violations);
    ASSERT_TRUE(violations.empty()) << "seed " << seed << ": " << violations.ToStatus() << "\n" << Describe(instance);
    ValidateProblem(instance.graph, instance.cluster, instance.problem, SolverOptions(), violations);
    ASSERT_TRUE(violations.empty()) << "seed " << seed << ": " << violations.ToStatus() << "\n" << Describe(instance);
  }
}

TEST(VerifyPropertyTest, AgreesWithBruteForceOnRandomPlacements) {
  int feasible = 0;
  int misplaced = 0;
  ForEachPlacement([&](const Instance& instance, const PlanningProblem& problem, const Placement& placement,
                       const NaiveVerdict& naive) {
    const Verdict verdict = VerifyPlacement(instance.graph, instance.cluster, problem, placement);
    EXPECT_EQ(verdict.violations.empty(), naive.is_feasible()) << verdict.violations.ToStatus();
    ASSERT_EQ(verdict.costed.has_value(), naive.is_supported) << verdict.violations.ToStatus();
    if (!naive.is_supported) return;
    ++(naive.is_feasible() ? feasible : misplaced);
    EXPECT_EQ(verdict.costed->objective, naive.objective);
    for (std::size_t i = 0; i < instance.cluster.devices.size(); ++i) {
      EXPECT_EQ(verdict.costed->devices[i].load, naive.loads[i]) << "device " << i;
      EXPECT_EQ(verdict.costed->devices[i].memory_bytes, naive.memory_bytes[i]) << "device " << i;
    }
  });
  EXPECT_GT(feasible, 2000);
  EXPECT_GT(misplaced, 2000);
}

TEST(CostPlanPropertyTest, EqualsVerifierOnFeasiblePlacements) {
  int compared = 0;
  ForEachPlacement([&](const Instance& instance, const PlanningProblem& problem, const Placement& placement,
                       const NaiveVerdict& naive) {
    if (!naive.is_feasible()) return;
    ++compared;
    // The verifier's own placement is in pipeline order, which CostPlan requires.
    const Verdict verdict = VerifyPlacement(instance.graph, instance.cluster, problem, placement);
    const CostTable costs(instance.graph, instance.cluster, *problem.workload);
    Plan plan = CostPlan(instance.graph, instance.cluster, problem, costs, PlacementOf(*verdict.costed));
    plan.bounds = {{plan.objective, "test", BoundScope::kProblem}};
    plan.lower_bound = plan.objective;
    plan.provenance.proven_optimal = true;
    Violations violations;
    VerifyPlan(instance.graph, instance.cluster, plan, violations);
    EXPECT_TRUE(violations.empty()) << violations.ToStatus();
  });
  EXPECT_GT(compared, 2000);
}

}  // namespace
}  // namespace planwright
