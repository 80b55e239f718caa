#include "core/mapping/mapping.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "tests/reference/mapping/mapping_checks.h"

namespace planwright {
namespace {

// A chain of four stages, two replicas each, on a mesh of 2 x 4.
MappingInstance ChainOnMesh() {
  MappingInstance instance{
      .replicas = StageReplicas(4, 2),
      .device_kind = std::vector<int32_t>(8, 0),
      .compute_ms = {1, 1, 1, 1},
      .allreduce_bytes = {1e6, 1e6, 1e6, 1e6},
      .network = Network(GridInterconnect{.dimensions = {4, 2},
                                          .link_bandwidth_bytes_per_second = 1e9,
                                          .non_adjacent = GridInterconnect::NonAdjacent::kDividedByHops})};
  for (int32_t stage = 0; stage + 1 < 4; ++stage) {
    instance.traffic.push_back({.from = stage, .to = stage + 1, .forward_bytes = 1e6, .forward_transfers = 1});
  }
  return instance;
}

TEST(MapStagesTest, KeepsBoundsBelowTheValue) {
  TaskArena arena(2);
  const MappingInstance instance = ChainOnMesh();
  SolveLimits limits;
  limits.work = 100'000;
  const auto outcome = MapStages(instance, {}, limits, arena, [](const MappingOutcome&) {});
  ASSERT_TRUE(outcome.has_value());
  EXPECT_TRUE(IsMapping(instance, outcome->mapping));
  EXPECT_EQ(outcome->value, Evaluate(instance, outcome->mapping));
  EXPECT_LE(outcome->bound_ms(), outcome->value.value_ms * (1 + 1e-9));
  // Replica 0 along one row, replica 1 along the other.
  EXPECT_DOUBLE_EQ(outcome->value.value_ms, 3);
}

TEST(MapStagesTest, SaysWhenThereIsNoMapping) {
  TaskArena arena(1);
  MappingInstance instance = ChainOnMesh();
  instance.compute_ms[2] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(MapStages(instance, {}, {}, arena, [](const MappingOutcome&) {}).has_value());
}

}  // namespace
}  // namespace planwright
