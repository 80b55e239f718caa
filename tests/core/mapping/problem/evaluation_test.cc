#include "core/mapping/problem/evaluation.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/reference/mapping/mapping_checks.h"

namespace planwright {
namespace {

// 1 MB/s and 1 ms of latency from a lower to a higher device, 0.5 MB/s back: 1 and 2 ms for each 1,000 bytes.
Network AsymmetricNetwork(std::size_t devices) {
  MatrixInterconnect matrix{.bandwidth_bytes_per_second = {}, .latency = Picoseconds(1'000'000'000)};
  for (std::size_t a = 0; a < devices; ++a) {
    for (std::size_t b = 0; b < devices; ++b) matrix.bandwidth_bytes_per_second.push_back(a < b ? 1e6 : 0.5e6);
  }
  return Network(matrix);
}

// Two stages, two replicas, on devices 0 .. 3 with a spare one; stage 1 sends back more than it gets.
MappingInstance TwoByTwo() {
  return {.replicas = StageReplicas(2, 2),
          .device_kind = {0, 0, 0, 0, 0},
          .compute_ms = {10, 20},
          .traffic = {{.from = 0,
                       .to = 1,
                       .forward_bytes = 1000,
                       .backward_bytes = 2000,
                       .forward_transfers = 1,
                       .backward_transfers = 3}},
          .allreduce_bytes = {5000, 1000},
          .allreduce_hops = {2, 2},
          .network = AsymmetricNetwork(5)};
}

Mapping InOrder(const MappingInstance& instance) {
  Mapping mapping{.rings = RingsInReplicaOrder(instance)};
  for (std::size_t vertex = 0; vertex < instance.num_vertices(); ++vertex) mapping.devices.emplace_back(vertex);
  return mapping;
}

// Forward 1 + 1 ms, backward 2 x 2 + 3 ms; rings between devices 0 and 2, 1 and 3: the slow direction counts.
TEST(EvaluationTest, CountsWhatCrossesInBothDirections) {
  const MappingInstance instance = TwoByTwo();
  const MappingValue value = Evaluate(instance, InOrder(instance));
  EXPECT_DOUBLE_EQ(value.largest_compute_ms, 20);
  EXPECT_DOUBLE_EQ(value.largest_load_ms, 29);
  EXPECT_DOUBLE_EQ(value.largest_allreduce_ms, 12);
  EXPECT_DOUBLE_EQ(value.value_ms, 29);
}

TEST(EvaluationTest, OverlapHidesWhatRunsBeside) {
  MappingInstance instance = TwoByTwo();
  instance.compute_ms = {1, 2};
  const auto load = [&](Overlap overlap) {
    instance.overlap = overlap;
    return Evaluate(instance, InOrder(instance)).largest_load_ms;
  };
  EXPECT_DOUBLE_EQ(load(Overlap::kSerial), 11);
  EXPECT_DOUBLE_EQ(load(Overlap::kOverlapped), 9);
  EXPECT_DOUBLE_EQ(load(Overlap::kFullDuplex), 7);
}

TEST(EvaluationTest, WeighsLoadsAndAllReducesAsTheObjectiveSays) {
  MappingInstance instance = TwoByTwo();
  instance.load_weight = 2;
  instance.allreduce_weight = 10;
  const auto value = [&](MappingObjective objective) {
    instance.objective = objective;
    return Evaluate(instance, InOrder(instance)).value_ms;
  };
  // Stage 0: compute 10, load 19, all-reduce 12. Stage 1: compute 20, load 29, all-reduce 4.
  EXPECT_DOUBLE_EQ(value(MappingObjective::kLoad), 58);
  EXPECT_DOUBLE_EQ(value(MappingObjective::kAllReduce), 140);
  EXPECT_DOUBLE_EQ(value(MappingObjective::kLoadAndAllReduce), 158);
  EXPECT_DOUBLE_EQ(value(MappingObjective::kLargerOfBoth), 120);
  EXPECT_DOUBLE_EQ(value(MappingObjective::kLoadPlusLargestAllReduce), 178);
}

TEST(EvaluationTest, DevicesOfAKindHaveTheirTimes) {
  MappingInstance instance = TwoByTwo();
  instance.num_kinds = 2;
  instance.device_kind = {0, 0, 0, 1, -1};
  instance.compute_ms = {10, 20, 20, 50};
  EXPECT_DOUBLE_EQ(Evaluate(instance, InOrder(instance)).largest_compute_ms, 50);
}

TEST(EvaluationTest, RecognisesMappings) {
  MappingInstance instance = TwoByTwo();
  instance.device_kind = {0, 0, 0, 0, -1};
  const Mapping good = InOrder(instance);
  EXPECT_TRUE(IsMapping(instance, good));

  Mapping twice = good;
  twice.devices[0] = twice.devices[1];
  EXPECT_FALSE(IsMapping(instance, twice));

  Mapping not_there = good;
  not_there.devices[0] = DeviceId(4);
  EXPECT_FALSE(IsMapping(instance, not_there));

  Mapping other_ring = good;
  other_ring.rings[0] = {1, 0};
  EXPECT_TRUE(IsMapping(instance, other_ring));
  instance.free_ring_order = false;
  EXPECT_FALSE(IsMapping(instance, other_ring));

  instance.compute_ms[1] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(IsMapping(instance, good));
}

}  // namespace
}  // namespace planwright
