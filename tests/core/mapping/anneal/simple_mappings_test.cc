#include "core/mapping/anneal/simple_mappings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "core/mapping/problem/evaluation.h"
#include "tests/reference/mapping/mapping_checks.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;

constexpr double kMegabyte = 1e6;

// Three stages in a chain, two replicas each, in nodes of three devices: 1 ms for a megabyte inside, 10 ms between.
MappingInstance ChainInNodes(int32_t num_kinds) {
  MappingInstance instance{
      .replicas = StageReplicas(3, 2),
      .device_kind = std::vector<int32_t>(6, 0),
      .num_kinds = num_kinds,
      .compute_ms = std::vector<double>(3 * static_cast<std::size_t>(num_kinds), 1.0),
      .allreduce_bytes = {kMegabyte, kMegabyte, kMegabyte},
      .network = Network(HierarchyInterconnect{.levels = {{.fan_out = 3, .bandwidth_bytes_per_second = 1e9},
                                                          {.fan_out = 2, .bandwidth_bytes_per_second = 1e8}}})};
  for (int32_t stage = 0; stage < 2; ++stage) {
    instance.traffic.push_back({.from = stage, .to = stage + 1, .forward_bytes = kMegabyte, .forward_transfers = 1});
  }
  return instance;
}

std::vector<std::size_t> Devices(const Mapping& mapping) {
  std::vector<std::size_t> devices;
  for (const DeviceId device : mapping.devices) devices.push_back(device.index());
  return devices;
}

TEST(SimpleMappingsTest, ConsecutiveStagesTakeConsecutiveDevices) {
  const MappingInstance instance = ChainInNodes(1);
  const Mapping mapping = MapConsecutively(instance, *AssignKinds(instance));
  EXPECT_THAT(Devices(mapping), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(mapping.rings, ElementsAre(ElementsAre(0, 1), ElementsAre(0, 1), ElementsAre(0, 1)));
}

TEST(SimpleMappingsTest, ReplicasTogetherKeepPipelinesInNodes) {
  const MappingInstance instance = ChainInNodes(1);
  const Mapping mapping = MapReplicasTogether(instance, *AssignKinds(instance));
  EXPECT_THAT(Devices(mapping), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_DOUBLE_EQ(Evaluate(instance, mapping).value_ms, 3);
}

TEST(SimpleMappingsTest, GreedyFollowsTheTrafficThatTheObjectiveCounts) {
  MappingInstance instance = ChainInNodes(1);
  const LinkTimes links(instance.network, 6);
  const KindAssignment kinds = *AssignKinds(instance);
  EXPECT_THAT(Devices(MapGreedily(instance, links, kinds)), ElementsAre(0, 1, 2, 3, 4, 5));
  // Only rings count: the second replica joins the first one where there is a device left.
  instance.objective = MappingObjective::kAllReduce;
  instance.replicas = StageReplicas(1, 2);
  instance.traffic.clear();
  EXPECT_THAT(Devices(MapGreedily(instance, links, *AssignKinds(instance))), ElementsAre(0, 1));
}

TEST(SimpleMappingsTest, GreedyLooksAtTheRingsAsWellInASum) {
  MappingInstance instance = ChainInNodes(1);
  instance.objective = MappingObjective::kLoadAndAllReduce;
  const LinkTimes links(instance.network, 6);
  const Mapping mapping = MapGreedily(instance, links, *AssignKinds(instance));
  ASSERT_TRUE(IsMapping(instance, mapping));
  EXPECT_LE(Evaluate(instance, mapping).value_ms,
            Evaluate(instance, MapConsecutively(instance, *AssignKinds(instance))).value_ms);
}

TEST(SimpleMappingsTest, AllAreMappingsWhereStagesFitSomeKindsOnly) {
  MappingInstance instance = ChainInNodes(2);
  instance.device_kind = {1, 0, 0, 1, -1, 0, 1, 0};
  instance.network = Network(UniformInterconnect{.bandwidth_bytes_per_second = 1e9});
  // Stage 1 needs kind 0, stage 2 kind 1.
  instance.compute_ms = {1, 2, 1, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(), 1};
  const KindAssignment kinds = *AssignKinds(instance);
  const LinkTimes links(instance.network, 8);
  RandomStream random(1);
  EXPECT_TRUE(IsMapping(instance, MapConsecutively(instance, kinds)));
  EXPECT_TRUE(IsMapping(instance, MapReplicasTogether(instance, kinds)));
  EXPECT_TRUE(IsMapping(instance, MapGreedily(instance, links, kinds)));
  SolveLimits no_time;
  no_time.deadline = SolveLimits::Clock::now();
  EXPECT_TRUE(IsMapping(instance, MapGreedily(instance, links, kinds, no_time)));
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(IsMapping(instance, MapRandomly(instance, kinds, random)));
}

TEST(SimpleMappingsTest, BestOfRandomIsTheBest) {
  const MappingInstance instance = ChainInNodes(1);
  const LinkTimes links(instance.network, 6);
  const KindAssignment kinds = *AssignKinds(instance);
  RandomStream random(7);
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 50; ++i) best = std::min(best, Evaluate(instance, MapRandomly(instance, kinds, random)).value_ms);
  RandomStream again(7);
  EXPECT_EQ(Evaluate(instance, BestOfRandom(instance, links, kinds, 50, again)).value_ms, best);
}

}  // namespace
}  // namespace planwright
