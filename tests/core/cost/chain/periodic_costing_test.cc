// The worked example of PERIODIC in docs/cost-model-examples.md.
#include "core/cost/chain/periodic_costing.h"

#include <gtest/gtest.h>

#include "core/cost/plan_costing.h"
#include "tests/support/periodic_example.h"

namespace planwright {
namespace {

class PeriodicCostingTest : public ::testing::Test {
 protected:
  Plan Cost(const Placement& placement) const {
    const ResolvedProblem problem = ResolveProblem(example_.graph, example_.problem);
    const CostTable costs(example_.graph, example_.cluster, problem.workload);
    return CostPlan({example_.graph, example_.cluster, problem, costs}, placement);
  }

  PeriodicExample example_;
};

TEST_F(PeriodicCostingTest, TheObjectiveIsThePeriod) {
  EXPECT_EQ(Cost(example_.Fastest()).objective, Picoseconds(90));
  EXPECT_EQ(Cost(example_.Smaller()).objective, Picoseconds(104));
}

TEST_F(PeriodicCostingTest, CountsWhatThePatternStores) {
  const Plan plan = Cost(PeriodicExample::Fastest());
  EXPECT_EQ(plan.stages[0].in_flight_micro_batches, 3);
  EXPECT_EQ(plan.stages[1].in_flight_micro_batches, 1);
  EXPECT_EQ(plan.stages[0].memory_bytes, 3 * (10 + 20) + 3 * (100 + 200) + 2 + 2 * (50 + 20));
  EXPECT_EQ(plan.devices[0].memory_bytes, plan.stages[0].memory_bytes);
  EXPECT_EQ(plan.devices[1].memory_bytes, 3 * 40 + 400 + 3 + 2 * (50 + 20));
  EXPECT_EQ(Cost(example_.Smaller()).stages[0].in_flight_micro_batches, 2);
}

TEST_F(PeriodicCostingTest, RecomputationStoresWhatComesAndRunsForwardAgain) {
  example_.problem.memory_model.recomputation = MemoryModel::Recomputation::kFull;
  const Plan plan = Cost(PeriodicExample::Fastest());
  EXPECT_EQ(plan.stages[0].compute, Picoseconds(30 + 60 + 30));
  EXPECT_EQ(plan.stages[1].compute, Picoseconds(30 + 60 + 30));
  EXPECT_EQ(plan.stages[0].memory_bytes, 3 * (10 + 20) + (200 + 2) + 2 * (50 + 20));
  // Its backward pass ends within the period after, so it stores two.
  EXPECT_EQ(plan.stages[1].memory_bytes, 3 * 40 + 2 * (50 + 20) + (400 + 3) + 2 * (50 + 20));
  EXPECT_EQ(plan.devices[1].memory_bytes, plan.stages[1].memory_bytes);
}

TEST_F(PeriodicCostingTest, TransfersLoadLinksAndNoDevice) {
  const Plan plan = Cost(PeriodicExample::Fastest());
  EXPECT_EQ(plan.stages[0].load, Picoseconds(90));
  EXPECT_EQ(plan.stages[0].communication_out, Picoseconds(5 + 2));
  EXPECT_EQ(plan.stages[0].communication_in, Picoseconds(5 + 2));
  EXPECT_EQ(plan.devices[0].load, Picoseconds(90));
  ASSERT_EQ(plan.links.size(), 1U);
  EXPECT_EQ(plan.links[0].load, Picoseconds(2 * (5 + 2)));
}

TEST_F(PeriodicCostingTest, EachDirectionOfAFullDuplexLinkIsALink) {
  example_.problem.overlap = Overlap::kFullDuplex;
  const Plan plan = Cost(PeriodicExample::Fastest());
  ASSERT_EQ(plan.links.size(), 2U);
  EXPECT_EQ(plan.links[1].device_a, DeviceId(1));
  EXPECT_EQ(plan.links[1].load, Picoseconds(5 + 2));
  EXPECT_EQ(plan.tasks[5].resource, "acc1 -> acc0");
}

TEST_F(PeriodicCostingTest, ADeviceWithTwoStagesStoresBoth) {
  example_.problem.split = Split::kNonContiguous;
  const Plan plan = Cost(PeriodicExample::OneAfterTheOther());
  EXPECT_EQ(plan.devices[0].memory_bytes, 3 * (10 + 40) + 100 + 400 + 3 + 2 * (30 + 20) + 2 * (50 + 20));
  EXPECT_EQ(plan.links[0].load, Picoseconds(2 * (3 + 2) + 2 * (5 + 2)));
  EXPECT_EQ(plan.devices[0].load, Picoseconds(30 + 90));
}

TEST_F(PeriodicCostingTest, TasksLeadBackToThePattern) {
  for (const Placement& placement :
       {PeriodicExample::Fastest(), example_.Smaller(), PeriodicExample::OneAfterTheOther()}) {
    EXPECT_EQ(PlacementOf(Cost(placement)).pattern, placement.pattern);
  }
}

}  // namespace
}  // namespace planwright
