#include "server/engine/plans/plan_numbering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace planwright::server {
namespace {

using testing::ElementsAre;

OperatorGraph GraphOf(const std::vector<std::string>& names) {
  OperatorGraph graph;
  for (const std::string& name : names) graph.operators.emplace_back().name = name;
  return graph;
}

Cluster ClusterOf(const std::vector<std::string>& names) {
  Cluster cluster;
  for (const std::string& name : names) cluster.devices.emplace_back().name = name;
  return cluster;
}

// Operators 0 and 1 on device 1, operator 2 on device 0, which is joined to the others.
Plan SmallPlan() {
  Plan plan;
  plan.problem.schedule = ScheduleKind::kGpipe;
  plan.problem.micro_batches = 4;
  plan.problem.pinned = {{OperatorId(0), DeviceId(1)}};
  plan.stages.resize(2);
  plan.stages[0].operators = {OperatorId(0), OperatorId(1)};
  plan.stages[0].replicas = {{.device = DeviceId(1)}, {.device = DeviceId(2)}};
  plan.stages[0].ring_order = {DeviceId(2), DeviceId(1)};
  plan.stages[1].operators = {OperatorId(2)};
  plan.stages[1].replicas = {{.device = DeviceId(0)}};
  plan.devices.resize(3);
  for (std::size_t i = 0; i < 3; ++i) plan.devices[i].device = DeviceId(i);
  plan.links = {{DeviceId(0), DeviceId(1), Picoseconds(1)}, {DeviceId(0), DeviceId(2), Picoseconds(2)}};
  return plan;
}

TEST(PlanNumberingTest, OperatorsAreNumberedByName) {
  const Numbering numbering = NumberingOf(GraphOf({"c", "b", "a"}), ClusterOf({"x"}), {}, false);
  EXPECT_THAT(numbering.operators, ElementsAre(OperatorId(2), OperatorId(1), OperatorId(0)));
}

TEST(PlanNumberingTest, DevicesAreNumberedAsTheyAreListedOrByName) {
  const Cluster cluster = ClusterOf({"x", "y", "w"});
  EXPECT_THAT(NumberingOf(GraphOf({}), cluster, {}, false).devices, ElementsAre(DeviceId(2), DeviceId(0), DeviceId(1)));
  EXPECT_THAT(NumberingOf(GraphOf({}), cluster, {"y", "w"}, false).devices, ElementsAre(DeviceId(1), DeviceId(2)));
}

TEST(PlanNumberingTest, APlanComesBackButForItsProblem) {
  const Numbering numbering = NumberingOf(GraphOf({"c", "b", "a"}), ClusterOf({"x", "y", "w"}), {}, false);
  const Plan plan = WithIds(WithNumbers(SmallPlan(), numbering), numbering);
  EXPECT_EQ(plan.problem.schedule, ScheduleKind::kGpipe);
  EXPECT_EQ(plan.problem.micro_batches, 4);
  EXPECT_TRUE(plan.problem.pinned.empty());
  EXPECT_THAT(plan.stages[0].operators, ElementsAre(OperatorId(0), OperatorId(1)));
  EXPECT_THAT(plan.stages[0].ring_order, ElementsAre(DeviceId(2), DeviceId(1)));
  EXPECT_EQ(plan.stages[1].replicas[0].device, DeviceId(0));
  ASSERT_EQ(plan.links.size(), 2);
  EXPECT_EQ(plan.links[0].load, Picoseconds(1));
  EXPECT_EQ(plan.links[0].device_b, DeviceId(1));
}

// The second request has the same operators and other devices, all in another order.
TEST(PlanNumberingTest, AnswersAreInTheOrderOfTheirOwnRequest) {
  const Numbering made = NumberingOf(GraphOf({"a", "b", "c"}), ClusterOf({"x", "y", "z"}), {"x", "y", "z"}, false);
  const Numbering asked = NumberingOf(GraphOf({"c", "b", "a"}), ClusterOf({"u", "v", "w"}), {"w", "u", "v"}, false);
  const Plan plan = WithIds(WithNumbers(SmallPlan(), made), asked);
  EXPECT_THAT(plan.stages[0].operators, ElementsAre(OperatorId(1), OperatorId(2)));
  EXPECT_EQ(plan.stages[0].replicas[0].device, DeviceId(0));
  EXPECT_EQ(plan.stages[0].replicas[1].device, DeviceId(1));
  EXPECT_THAT(plan.stages[0].ring_order, ElementsAre(DeviceId(1), DeviceId(0)));
  EXPECT_THAT(plan.stages[1].operators, ElementsAre(OperatorId(0)));
  EXPECT_EQ(plan.stages[1].replicas[0].device, DeviceId(2));
  EXPECT_EQ(plan.devices[0].device, DeviceId(0));
  EXPECT_EQ(plan.devices[2].device, DeviceId(2));
  ASSERT_EQ(plan.links.size(), 2);
  EXPECT_EQ(plan.links[0].device_a, DeviceId(0));
  EXPECT_EQ(plan.links[0].device_b, DeviceId(2));
  EXPECT_EQ(plan.links[0].load, Picoseconds(1));
  EXPECT_EQ(plan.links[1].device_a, DeviceId(1));
  EXPECT_EQ(plan.links[1].load, Picoseconds(2));
}

TEST(PlanNumberingTest, LinksWithADirectionKeepIt) {
  const Numbering made = NumberingOf(GraphOf({"a", "b", "c"}), ClusterOf({"x", "y", "z"}), {"x", "y", "z"}, true);
  const Numbering asked = NumberingOf(GraphOf({"a", "b", "c"}), ClusterOf({"u", "v", "w"}), {"w", "u", "v"}, true);
  const Plan plan = WithIds(WithNumbers(SmallPlan(), made), asked);
  EXPECT_EQ(plan.links[0].device_a, DeviceId(2));
  EXPECT_EQ(plan.links[0].device_b, DeviceId(0));
}

}  // namespace
}  // namespace planwright::server
