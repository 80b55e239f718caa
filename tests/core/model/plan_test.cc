#include "core/model/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/support/builders.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;

TEST(PlanTest, RelativeGapIsAShareOfTheObjective) {
  EXPECT_DOUBLE_EQ(RelativeGap(Picoseconds(200), Picoseconds(150)), 0.25);
  EXPECT_DOUBLE_EQ(RelativeGap(Picoseconds(200), Picoseconds(200)), 0);
  EXPECT_DOUBLE_EQ(RelativeGap(Picoseconds(0), Picoseconds(0)), 0);
}

TEST(PlanTest, PlacementKeepsOperatorsAndDevices) {
  Plan plan;
  plan.stages.resize(2);
  plan.stages[0].operators = {OperatorId(0), OperatorId(2)};
  plan.stages[0].replicas = {{.device = DeviceId(3)}, {.device = DeviceId(1), .copy = 1}};
  plan.stages[1].operators = {OperatorId(1)};
  plan.stages[1].replicas = {{.device = DeviceId(0)}};
  const Placement placement = PlacementOf(plan);
  ASSERT_EQ(placement.stages.size(), 2U);
  EXPECT_THAT(placement.stages[0].operators, ElementsAre(OperatorId(0), OperatorId(2)));
  EXPECT_THAT(placement.stages[0].devices, ElementsAre(DeviceId(3), DeviceId(1)));
  EXPECT_THAT(placement.stages[1].operators, ElementsAre(OperatorId(1)));
  EXPECT_THAT(placement.stages[1].devices, ElementsAre(DeviceId(0)));
}

TEST(PlanTest, PlacementOfAPeriodicPlanHasThePatternThatItsTasksState) {
  Plan plan;
  plan.objective = Picoseconds(7);
  plan.stages.resize(1);
  plan.tasks = {{"forward", StageId(0), Pass::kForward, "a", Picoseconds(2), 0},
                {"nonsense", StageId(0), Pass::kForward, "a", Picoseconds(3), 0},
                {"backward", StageId(0), Pass::kBackward, "a", Picoseconds(4), 1}};
  EXPECT_EQ(PlacementOf(plan).pattern, std::nullopt);
  plan.problem.schedule = ScheduleKind::kPeriodic;
  const PeriodicPattern expected{Picoseconds(7),
                                 {{PatternOperation::kForward, StageId(0), Picoseconds(2), 0},
                                  {PatternOperation::kBackward, StageId(0), Picoseconds(4), 1}}};
  EXPECT_EQ(PlacementOf(plan).pattern, expected);
  plan.tasks.clear();
  EXPECT_EQ(PlacementOf(plan).pattern, std::nullopt);
}

TEST(PlanTest, LinksAreNamedByDirectionWhereTheyHaveOne) {
  const Cluster cluster = MakeCluster(2, 0);
  EXPECT_EQ(LinkName(cluster, DeviceId(1), DeviceId(0), false), "acc0 - acc1");
  EXPECT_EQ(LinkName(cluster, DeviceId(0), DeviceId(1), false), "acc0 - acc1");
  EXPECT_EQ(LinkName(cluster, DeviceId(1), DeviceId(0), true), "acc1 -> acc0");
}

}  // namespace
}  // namespace planwright
