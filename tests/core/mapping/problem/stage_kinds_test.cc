#include "core/mapping/problem/stage_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <vector>

namespace planwright {
namespace {

using ::testing::ElementsAre;

constexpr double kNever = std::numeric_limits<double>::infinity();

MappingInstance InstanceOfKinds(int32_t stages, int32_t replicas, std::vector<int32_t> device_kind, int32_t kinds,
                                std::vector<double> compute_ms) {
  return {.replicas = StageReplicas(stages, replicas),
          .device_kind = std::move(device_kind),
          .num_kinds = kinds,
          .compute_ms = std::move(compute_ms),
          .network = Network(UniformInterconnect{.bandwidth_bytes_per_second = 1e9})};
}

TEST(StageKindsTest, FindsTheLeastLargestComputeTime) {
  // Stage 0 would be faster on kind 0, but stage 1 may be nowhere else.
  const auto kinds = AssignKinds(InstanceOfKinds(2, 2, {0, 1, 0, 1, 1}, 2, {1, 3, 2, kNever}));
  ASSERT_TRUE(kinds.has_value());
  EXPECT_THAT(kinds->replicas, ElementsAre(0, 2, 2, 0));
  EXPECT_EQ(kinds->bottleneck_ms, 3);
}

TEST(StageKindsTest, SplitsAStageOverKinds) {
  const auto kinds = AssignKinds(InstanceOfKinds(1, 3, {0, 1, 1}, 2, {1, 5}));
  ASSERT_TRUE(kinds.has_value());
  EXPECT_THAT(kinds->replicas, ElementsAre(1, 2));
}

TEST(StageKindsTest, SaysWhenThereIsNoMapping) {
  EXPECT_FALSE(AssignKinds(InstanceOfKinds(2, 2, {0, 1, 0, 1}, 2, {1, kNever, 2, kNever})).has_value());
  EXPECT_FALSE(AssignKinds(InstanceOfKinds(2, 2, {0, 0, 0, -1}, 1, {1, 1})).has_value());
}

TEST(StageKindsTest, HandsOutDevicesInTheOrderGiven) {
  const MappingInstance instance = InstanceOfKinds(2, 2, {0, 1, 0, 1, -1}, 2, {1, kNever, 2, 2});
  const auto kinds = AssignKinds(instance);
  ASSERT_TRUE(kinds.has_value());
  EXPECT_THAT(ParticipatingDevices(instance), ElementsAre(DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(3)));
  EXPECT_THAT(HandOut(instance, *kinds, {0, 1, 2, 3}, {DeviceId(3), DeviceId(2), DeviceId(1), DeviceId(0)}),
              ElementsAre(DeviceId(2), DeviceId(3), DeviceId(0), DeviceId(1)));
}

}  // namespace
}  // namespace planwright
