#include "core/joint/step/link_uses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stop_token>
#include <string>

#include "core/base/interruption.h"
#include "tests/core/joint/step/training_plans.h"

namespace planwright {
namespace {

using ::testing::DoubleNear;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// Nodes of eight devices in racks of two; a port per device, and racks with half of what their devices could send.
Cluster Racks(int32_t racks) {
  Cluster cluster = *MakeZooCluster("dgx-h100:" + std::to_string(2 * racks));
  NodesInterconnect nodes;
  nodes.devices_per_node = 8;
  nodes.bandwidth_bytes_per_second = 400e9;
  nodes.levels = {{.fan_out = 2, .bandwidth_bytes_per_second = 50e9, .port_bandwidth_bytes_per_second = 200e9},
                  {.fan_out = racks, .bandwidth_bytes_per_second = 50e9, .port_bandwidth_bytes_per_second = 100e9}};
  cluster.interconnect = nodes;
  return cluster;
}

std::map<std::string, double> Named(const StageLinkUses& uses, const std::vector<LinkUse>& of) {
  std::map<std::string, double> named;
  for (const LinkUse& use : of) named[uses.links[static_cast<std::size_t>(use.link)]] = use.share;
  return named;
}

StageLinkUses UsesOf(const TrainingCase& training, const PlanChoices& choices) {
  return *LinkUsesOf(training.cluster, training.row, MakeTrainingPlan(training, choices));
}

TEST(LinkUsesTest, ATensorGroupInANodeFillsItsLinks) {
  const TrainingCase training("llama3-8b", Racks(1));
  const StageLinkUses uses = UsesOf(training, {.degrees = {.tensor = 8}});
  EXPECT_THAT(Named(uses, uses.Of(0, ExchangeGroup::kTensor)),
              UnorderedElementsAre(Pair("host0/gpu0 inside its node x 8", DoubleNear(1, 1e-9))));
  EXPECT_THAT(uses.Of(0, ExchangeGroup::kData), IsEmpty());
  EXPECT_THAT(uses.Of(0, StageTransfer::kSendForward), IsEmpty());
}

TEST(LinkUsesTest, DataGroupsOfAStageFillThePortsOfItsNodesTogether) {
  const TrainingCase training("llama3-8b", Racks(1));
  const StageLinkUses uses = UsesOf(training, {.degrees = {.tensor = 8, .data = 2}});
  // Eight rings at 25 GB/s each through 200 GB/s; both nodes and directions alike, and wider links of devices.
  EXPECT_THAT(Named(uses, uses.Of(0, ExchangeGroup::kData)),
              UnorderedElementsAre(Pair("ports of node 0 x 2", DoubleNear(1, 1e-9))));
}

TEST(LinkUsesTest, ARingLeavesANodeThroughThePortsOfAllItsRanks) {
  const TrainingCase training("llama3-8b", Racks(1));
  const StageLinkUses uses = UsesOf(training, {.degrees = {.data = 16}});
  // One ring at eight shares of 25 GB/s; inside nodes it takes half of what the links carry, so those are left out.
  EXPECT_THAT(Named(uses, uses.Of(0, ExchangeGroup::kData)),
              UnorderedElementsAre(Pair("ports of node 0 x 2", DoubleNear(1, 1e-9))));
}

TEST(LinkUsesTest, StagesUsePortsOfTheirNodeByTheirDevices) {
  const TrainingCase training("llama3-8b", Racks(1));
  // Four stages of two devices in each node; the fourth sends to the fifth, between nodes.
  const StageLinkUses uses = UsesOf(training, {.stages = 8, .degrees = {.tensor = 2}, .micro_batches = 8});
  EXPECT_THAT(Named(uses, uses.Of(3, StageTransfer::kSendForward)),
              UnorderedElementsAre(Pair("host0/gpu6 between nodes x 2, out", DoubleNear(0.5, 1e-9)),
                                   Pair("ports of node 0, out", DoubleNear(0.25, 1e-9))));
  EXPECT_THAT(Named(uses, uses.Of(4, StageTransfer::kReceiveForward)).count("ports of node 1, in"), 1U);
  EXPECT_THAT(uses.Of(7, StageTransfer::kSendForward), IsEmpty());
}

TEST(LinkUsesTest, RingsOfAStageAcrossRacksLeaveEachRackOnce) {
  const TrainingCase training("llama3-8b", Racks(2));
  const StageLinkUses uses = UsesOf(training, {.degrees = {.tensor = 8, .data = 4}});
  // The share of a device in a rack's 100 GB/s is 6.25 GB/s; eight rings leave it once, so half of it is used.
  const auto named = Named(uses, uses.Of(0, ExchangeGroup::kData));
  EXPECT_THAT(named, UnorderedElementsAre(Pair("ports of nodes 0 to 1 x 2", DoubleNear(0.5, 1e-9))));
}

// All-to-alls of expert groups on a grid use no more than its links, however many pairs of ranks there are; where more
// are used than are allowed, none are told.
TEST(LinkUsesTest, UsesOfLinksAreBounded) {
  Cluster cluster = *MakeZooCluster("dgx-h100:8");
  GridInterconnect grid;
  grid.dimensions = {8, 8};
  grid.link_bandwidth_bytes_per_second = 25e9;
  cluster.interconnect = grid;
  const TrainingCase training("mixtral-8x7b", cluster);
  const JointPlan plan = MakeTrainingPlan(training, {.degrees = {.tensor = 4, .expert = 8, .data = 16}});
  ASSERT_NE(plan.step, kBeyondPrices);
  const auto with_most = [&](int64_t uses) { return LinkUsesOf(training.cluster, training.row, plan, uses); };
  const auto all = with_most(kMostLinkUses);
  ASSERT_TRUE(all.has_value());
  EXPECT_THAT(all->Of(0, ExchangeGroup::kExpert), Not(IsEmpty()));
  EXPECT_FALSE(with_most(100).has_value());
  // 2 x 2 x 7 x 8 links between neighbours, each used by at most the tensor, data, expert and experts' exchanges.
  const auto enough = with_most(int64_t{224} * 4);
  ASSERT_TRUE(enough.has_value());
  EXPECT_EQ(enough->links, all->links);
}

TEST(LinkUsesTest, IsInterrupted) {
  const TrainingCase training("mixtral-8x7b", Racks(8));
  const JointPlan plan = MakeTrainingPlan(training, {.degrees = {.tensor = 2, .expert = 8, .data = 64}});
  ASSERT_NE(plan.step, kBeyondPrices);
  const StageLinkUses uses = *LinkUsesOf(training.cluster, training.row, plan);
  const std::stop_source stop;
  stop.request_stop();
  SolveLimits limits;
  limits.stop = stop.get_token();
  const InterruptionScope scope(&limits);
  EXPECT_THROW(LinkUsesOf(training.cluster, training.row, plan), Interrupted);
  EXPECT_THROW(
      StepTasksOnLinks(training.pricer, training.row, plan, training.Names(plan), uses, {.wanted = 1, .most = 100'000}),
      Interrupted);
}

// The share of a device is what remains where all exchange at the same time, so no exchange of a stage overfills a
// link.
TEST(LinkUsesTest, NoExchangeOverfillsPortsThatAreSharedByDevices) {
  RandomStream random(7);
  const TrainingCase dense("llama3-8b", Racks(8));
  const TrainingCase experts("mixtral-8x7b", Racks(8));
  int seen = 0;
  for (int number = 0; number < 200; ++number) {
    const TrainingCase& training = number % 2 == 0 ? dense : experts;
    const JointPlan plan = MakeTrainingPlan(training, RandomChoices(random, training.row.size()));
    if (plan.step == kBeyondPrices) continue;
    ++seen;
    const StageLinkUses uses = *LinkUsesOf(training.cluster, training.row, plan);
    for (const auto& stage : uses.stages) {
      for (const std::vector<LinkUse>& of : stage) {
        for (const LinkUse& use : of) EXPECT_LE(use.share, 1 + 1e-9) << uses.links[static_cast<std::size_t>(use.link)];
      }
    }
  }
  EXPECT_GT(seen, 50);
}

}  // namespace
}  // namespace planwright
