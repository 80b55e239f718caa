// Three independent opinions on what a placement costs: brute force, core/verify and core/cost. In every mode.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/cost/plan_costing.h"
#include "core/cost/terms/cost_table.h"
#include "core/model/validator.h"
#include "core/verify/verify.h"
#include "tests/core/verify/plan_mutations.h"
#include "tests/property/brute_force.h"
#include "tests/property/cases.h"
#include "tests/property/latency_brute_force.h"
#include "tests/support/mode_instance.h"
#include "tests/support/random_instance.h"

namespace planwright {
namespace {

using ::testing::Contains;
using ::testing::Field;

constexpr uint64_t kInstances = 1000;
constexpr int kPlacementsPerInstance = 10;
constexpr int kMutatedPlans = 50;

// The instances that this version has planned from the start, and those of every mode.
struct Source {
  std::string name;
  std::optional<InstanceMode> mode;
};

Instance MakeInstance(const Source& source, uint64_t seed) {
  if (!source.mode.has_value()) return MakeRandomInstance(seed);
  const Instance instance = MakeModeInstance(*source.mode, seed, kBruteForceOperators);
  RandomStream random(seed, 8);
  return random.Below(5) == 0 ? WithSelection(instance, random) : instance;
}

Placement WithoutEmptyStages(Placement placement) {
  std::erase_if(placement.stages, [](const Placement::Stage& stage) { return stage.operators.empty(); });
  return placement;
}

class CostingPropertyTest : public ::testing::TestWithParam<Source> {
 protected:
  // Calls check(instance, problem, placement) for many placements, feasible and not.
  template <typename Check>
  void ForEachPlacement(const Check& check) const {
    for (uint64_t seed = 0; seed < NumCases(kInstances) && !HasFailure(); ++seed) {
      const Instance instance = MakeInstance(GetParam(), seed);
      const ResolvedProblem problem = ResolveProblem(instance.graph, instance.problem);
      RandomStream random(seed, 1);
      for (int i = 0; i < kPlacementsPerInstance && !HasFailure(); ++i) {
        const Placement placement = WithoutEmptyStages(MakeModePlacement(instance, random));
        SCOPED_TRACE(::testing::Message() << "seed " << seed << " placement " << i << "\n" << Describe(instance));
        check(instance, problem, placement);
      }
    }
  }
};

TEST_P(CostingPropertyTest, InstancesAreValid) {
  for (uint64_t seed = 0; seed < NumCases(kInstances); ++seed) {
    const Instance instance = MakeInstance(GetParam(), seed);
    Violations violations;
    ValidateGraph(instance.graph, ModelLimits(), violations);
    ValidateCluster(instance.cluster, ModelLimits(), violations);
    ASSERT_TRUE(violations.empty()) << "seed " << seed << ": " << violations.ToStatus() << "\n" << Describe(instance);
    ValidateProblem(instance.graph, instance.cluster, instance.problem, SolverOptions(), violations);
    ASSERT_TRUE(violations.empty()) << "seed " << seed << ": " << violations.ToStatus() << "\n" << Describe(instance);
  }
}

// The plan lists all devices but those that are neither selected nor in use.
void CompareDevices(const Instance& instance, const Plan& plan, const std::vector<Picoseconds>& loads,
                    const std::vector<int64_t>& memory_bytes) {
  if (instance.problem.devices_to_use.empty()) {
    EXPECT_EQ(plan.devices.size(), instance.cluster.devices.size());
  }
  std::size_t listed_in_use = 0;
  for (const DeviceUsage& usage : plan.devices) {
    EXPECT_EQ(usage.load, loads[usage.device.index()]) << "device " << usage.device.index();
    EXPECT_EQ(usage.memory_bytes, memory_bytes[usage.device.index()]) << "device " << usage.device.index();
    if (!usage.stages.empty()) ++listed_in_use;
  }
  std::set<DeviceId> in_use;
  for (const Stage& stage : plan.stages) {
    for (const Replica& replica : stage.replicas) in_use.insert(replica.device);
  }
  EXPECT_EQ(listed_in_use, in_use.size());
}

void CompareThroughput(const Instance& instance, const Placement& placement, const Verdict& verdict) {
  // The verdict is on the stages in pipeline order, where there is one.
  const NaiveVerdict naive =
      NaiveJudge(instance).Judge(verdict.costed.has_value() ? PlacementOf(*verdict.costed) : placement);
  EXPECT_EQ(verdict.violations.empty(), naive.is_feasible()) << verdict.violations.ToStatus();
  ASSERT_EQ(verdict.costed.has_value(), naive.is_supported) << verdict.violations.ToStatus();
  if (!naive.is_supported) return;
  EXPECT_EQ(verdict.costed->objective, naive.objective);
  EXPECT_EQ(verdict.costed->estimate.step_time, naive.step_time);
  CompareDevices(instance, *verdict.costed, naive.loads, naive.memory_bytes);
  if (instance.problem.split == Split::kContiguous) {
    for (std::size_t stage = 0; stage < naive.in_flight.size(); ++stage) {
      EXPECT_EQ(verdict.costed->stages[stage].in_flight_micro_batches, naive.in_flight[stage]) << "stage " << stage;
      EXPECT_EQ(verdict.costed->stages[stage].transfer_slots, naive.slots[stage]) << "stage " << stage;
    }
  }
  ASSERT_EQ(verdict.costed->links.size(), naive.links.size());
  for (const LinkUsage& link : verdict.costed->links) {
    const auto found = naive.links.find({link.device_a.index(), link.device_b.index()});
    ASSERT_NE(found, naive.links.end());
    EXPECT_EQ(link.load, found->second);
  }
}

void CompareLatency(const Instance& instance, const Placement& placement, const Verdict& verdict) {
  const NaiveLatencyJudge judge(instance);
  const NaiveLatencyVerdict given = judge.Judge(placement);
  EXPECT_EQ(verdict.violations.empty(), given.is_feasible()) << verdict.violations.ToStatus();
  ASSERT_EQ(verdict.costed.has_value(), given.is_supported && given.any_order_is_executable)
      << verdict.violations.ToStatus();
  if (!verdict.costed.has_value()) return;
  // The order is the one given, or one that can be executed.
  const NaiveLatencyVerdict naive = judge.Judge(PlacementOf(*verdict.costed));
  ASSERT_TRUE(naive.order_is_executable);
  EXPECT_EQ(verdict.costed->objective, given.order_is_executable ? given.objective : naive.objective);
  EXPECT_EQ(verdict.costed->objective, naive.objective);
  CompareDevices(instance, *verdict.costed, naive.loads, naive.memory_bytes);
  for (const ScheduledTask& task : verdict.costed->tasks) EXPECT_EQ(task.start, naive.starts[task.stage.index()]);
}

// What sets the mode apart: replicas, or several stages on one device.
bool UsesTheMode(const Plan& plan) {
  return std::any_of(plan.stages.begin(), plan.stages.end(),
                     [](const Stage& stage) { return stage.replicas.size() > 1; }) ||
         std::any_of(plan.devices.begin(), plan.devices.end(),
                     [](const DeviceUsage& usage) { return usage.stages.size() > 1; });
}

TEST_P(CostingPropertyTest, VerifierAgreesWithBruteForceOnRandomPlacements) {
  const bool is_latency = GetParam().mode == InstanceMode::kLatency;
  int feasible = 0;
  int special = 0;
  int misplaced = 0;
  ForEachPlacement([&](const Instance& instance, const ResolvedProblem& problem, const Placement& placement) {
    const Verdict verdict = VerifyPlacement({instance.graph, instance.cluster, problem}, placement);
    (is_latency ? CompareLatency : CompareThroughput)(instance, placement, verdict);
    if (!verdict.costed.has_value()) return;
    ++(verdict.violations.empty() ? feasible : misplaced);
    if (verdict.violations.empty() && UsesTheMode(*verdict.costed)) ++special;
  });
  EXPECT_GT(feasible, 500);
  EXPECT_GT(misplaced, 500);
  // Where memory is tight, few replicas fit.
  const bool is_special = GetParam().mode.has_value() && GetParam().mode != InstanceMode::kContiguous &&
                          GetParam().mode != InstanceMode::kTightMemory;
  if (is_special) {
    EXPECT_GT(special, 100);
  }
}

TEST_P(CostingPropertyTest, CostPlanEqualsVerifierOnFeasiblePlacements) {
  int compared = 0;
  ForEachPlacement([&](const Instance& instance, const ResolvedProblem& problem, const Placement& placement) {
    // The verifier's own placement is in an order that CostPlan may assume.
    const Verdict verdict = VerifyPlacement({instance.graph, instance.cluster, problem}, placement);
    if (!verdict.violations.empty()) return;
    ++compared;
    const CostTable costs(instance.graph, instance.cluster, problem.workload);
    Plan plan = CostPlan({instance.graph, instance.cluster, problem, costs}, PlacementOf(*verdict.costed));
    plan.bounds = {{plan.objective, "test", BoundScope::kProblem}};
    plan.lower_bound = plan.objective;
    plan.provenance.proven_optimal = true;
    Violations violations;
    VerifyPlan(instance.graph, instance.cluster, plan, violations);
    EXPECT_TRUE(violations.empty()) << violations.ToStatus();
  });
  EXPECT_GT(compared, 500);
}

TEST_P(CostingPropertyTest, EveryMutationOfACorrectPlanIsCaught) {
  int mutated_plans = 0;
  ForEachPlacement([&](const Instance& instance, const ResolvedProblem& problem, const Placement& placement) {
    if (mutated_plans == kMutatedPlans) return;
    const Verdict verdict = VerifyPlacement({instance.graph, instance.cluster, problem}, placement);
    if (!verdict.violations.empty()) return;
    ++mutated_plans;
    Plan correct = *verdict.costed;
    correct.bounds = {{correct.objective / 2, "test", BoundScope::kProblem}};
    correct.lower_bound = correct.objective / 2;
    correct.provenance.proven_optimal = correct.lower_bound == correct.objective;
    for (const PlanMutation& mutation : MutationsOf(correct)) {
      // An operator that costs nothing may move to another stage, and the plan is still correct.
      if (mutation.expected_path.empty()) continue;
      Plan mutated = correct;
      mutation.apply(mutated);
      Violations violations;
      VerifyPlan(instance.graph, instance.cluster, mutated, violations);
      EXPECT_THAT(violations.listed(), Contains(Field("path", &Violation::path, mutation.expected_path)))
          << mutation.name;
    }
  });
  EXPECT_EQ(mutated_plans, kMutatedPlans);
}

// Breaks the structure in one of the ways that ids and lists allow.
void BreakStructure(const Instance& instance, Placement& placement, RandomStream& random) {
  Placement::Stage& stage = placement.stages[random.Below(placement.stages.size())];
  const auto anywhere = [&random](auto& list) {
    return list.begin() + static_cast<std::ptrdiff_t>(random.Below(list.size()));
  };
  switch (random.Below(6)) {
    case 0:
      stage.operators.erase(anywhere(stage.operators));
      break;
    case 1:
      stage.operators.push_back(*anywhere(stage.operators));
      break;
    case 2:
      *anywhere(stage.operators) = OperatorId(instance.graph.operators.size() + random.Below(3));
      break;
    case 3:
      stage.devices.clear();
      break;
    case 4:
      stage.devices.push_back(*anywhere(stage.devices));
      break;
    default:
      *anywhere(stage.devices) = DeviceId(random.Below(2) == 0 ? SIZE_MAX : instance.cluster.devices.size());
      break;
  }
}

TEST_P(CostingPropertyTest, BrokenStructuresAreRefused) {
  RandomStream random(GetParam().name.size(), 10);
  ForEachPlacement([&](const Instance& instance, const ResolvedProblem& problem, Placement placement) {
    // Of INFERENCE, what is broken may be a BACKWARD operator, which nobody misses.
    if (problem.workload == Workload::kInference || placement.stages.empty()) return;
    BreakStructure(instance, placement, random);
    const Verdict verdict = VerifyPlacement({instance.graph, instance.cluster, problem}, placement);
    EXPECT_FALSE(verdict.violations.empty());
    EXPECT_FALSE(verdict.costed.has_value());
  });
}

INSTANTIATE_TEST_SUITE_P(
    Modes, CostingPropertyTest,
    ::testing::Values(Source{"Foundation", std::nullopt}, Source{"Contiguous", InstanceMode::kContiguous},
                      Source{"Replicated", InstanceMode::kReplicated}, Source{"Hierarchy", InstanceMode::kHierarchy},
                      Source{"Topology", InstanceMode::kTopology}, Source{"Steps", InstanceMode::kSteps},
                      Source{"NonContiguous", InstanceMode::kNonContiguous}, Source{"Latency", InstanceMode::kLatency},
                      Source{"TightMemory", InstanceMode::kTightMemory},
                      Source{"PerStageSteps", InstanceMode::kPerStageSteps},
                      Source{"Constrained", InstanceMode::kConstrained}),
    [](const auto& source) { return source.param.name; });

}  // namespace
}  // namespace planwright
