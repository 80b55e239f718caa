#include "tests/reference/mapping/scotch_static_mapping.h"

#include <gtest/gtest.h>

#include <optional>

#include "core/mapping/problem/evaluation.h"
#include "tests/reference/mapping/mapping_checks.h"
#include "tests/support/mapping_cases.h"

namespace planwright {
namespace {

// Whether this build has Scotch.
bool HasScotch() {
  const MappingInstance instance{.replicas = StageReplicas(1, 1),
                                 .device_kind = {0, 0},
                                 .compute_ms = {1},
                                 .allreduce_bytes = {0},
                                 .network = Network(UniformInterconnect{.bandwidth_bytes_per_second = 1e9})};
  return MapByScotch(instance, LinkTimes(instance.network, 2), *AssignKinds(instance), 1).has_value();
}

TEST(ScotchStaticMappingTest, KeepsPipelinesInNodes) {
  if (!HasScotch()) GTEST_SKIP() << "this build has no Scotch";
  MappingInstance instance{
      .replicas = StageReplicas(4, 4),
      .device_kind = std::vector<int32_t>(16, 0),
      .compute_ms = {1, 1, 1, 1},
      .allreduce_bytes = {1e6, 1e6, 1e6, 1e6},
      .network = Network(HierarchyInterconnect{
          {{.fan_out = 4, .bandwidth_bytes_per_second = 1e9}, {.fan_out = 4, .bandwidth_bytes_per_second = 1e7}}})};
  for (int32_t stage = 0; stage < 3; ++stage) {
    instance.traffic.push_back({.from = stage, .to = stage + 1, .forward_bytes = 1e6, .forward_transfers = 1});
  }
  const LinkTimes links(instance.network, 16);
  const KindAssignment kinds = *AssignKinds(instance);
  EXPECT_DOUBLE_EQ(Evaluate(instance, *MapByScotch(instance, links, kinds, 1)).value_ms, 3);
  // Rings in nodes instead.
  instance.objective = MappingObjective::kAllReduce;
  EXPECT_DOUBLE_EQ(Evaluate(instance, *MapByScotch(instance, links, kinds, 1)).value_ms, 2);
}

TEST(ScotchStaticMappingTest, MapsWhateverHasAMappingAlikeForASeed) {
  if (!HasScotch()) GTEST_SKIP() << "this build has no Scotch";
  RandomStream random(2);
  for (int i = 0; i < 100; ++i) {
    SCOPED_TRACE(i);
    const MappingInstance instance = MakeRandomMappingInstance(20, random);
    const std::optional<KindAssignment> kinds = AssignKinds(instance);
    if (!kinds.has_value()) continue;
    const LinkTimes links(instance.network, instance.num_devices());
    const std::optional<Mapping> mapping = MapByScotch(instance, links, *kinds, i);
    ASSERT_TRUE(mapping.has_value());
    EXPECT_TRUE(IsMapping(instance, *mapping));
    EXPECT_EQ(mapping, MapByScotch(instance, links, *kinds, i));
  }
}

TEST(ScotchStaticMappingTest, RefusesLargeMachines) {
  const MappingInstance instance{.replicas = StageReplicas(1, 1),
                                 .device_kind = std::vector<int32_t>(2'000, 0),
                                 .compute_ms = {1},
                                 .allreduce_bytes = {0},
                                 .network = Network(UniformInterconnect{.bandwidth_bytes_per_second = 1e9})};
  EXPECT_FALSE(MapByScotch(instance, LinkTimes(instance.network, 2'000), *AssignKinds(instance), 1).has_value());
}

}  // namespace
}  // namespace planwright
