#include "tests/reference/mapping/dapple.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/reference/mapping/mapping_checks.h"
#include "tests/support/mapping_cases.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;

// Three machines of four devices; three stages of three replicas.
std::vector<std::vector<std::size_t>> DevicesByStage(DapplePolicy policy) {
  const MappingInstance instance{.replicas = StageReplicas(3, 3),
                                 .device_kind = std::vector<int32_t>(12, 0),
                                 .compute_ms = {1, 1, 1},
                                 .allreduce_bytes = {1, 1, 1},
                                 .network = Network(UniformInterconnect{.bandwidth_bytes_per_second = 1e9})};
  const Mapping mapping = MapByDapple(instance, *AssignKinds(instance), {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}, policy);
  std::vector<std::vector<std::size_t>> devices(3);
  for (std::size_t vertex = 0; vertex < 9; ++vertex) devices[vertex % 3].push_back(mapping.devices[vertex].index());
  return devices;
}

TEST(DappleTest, FreshFirstGivesEachStageAMachine) {
  EXPECT_THAT(DevicesByStage(DapplePolicy::kFreshFirst),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(4, 5, 6), ElementsAre(8, 9, 10)));
}

TEST(DappleTest, AppendFirstFillsMachines) {
  EXPECT_THAT(DevicesByStage(DapplePolicy::kAppendFirst),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4, 5), ElementsAre(6, 7, 8)));
}

TEST(DappleTest, ScatterFirstSpreadsOverMachines) {
  EXPECT_THAT(DevicesByStage(DapplePolicy::kScatterFirst),
              ElementsAre(ElementsAre(0, 4, 8), ElementsAre(1, 5, 9), ElementsAre(2, 6, 10)));
}

TEST(DappleTest, MapsWhateverHasAMapping) {
  RandomStream random(1);
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    const MappingInstance instance = MakeRandomMappingInstance(12, random);
    const std::optional<KindAssignment> kinds = AssignKinds(instance);
    if (!kinds.has_value()) continue;
    std::vector<int32_t> machine_of;
    for (std::size_t device = 0; device < instance.num_devices(); ++device) {
      machine_of.push_back(static_cast<int32_t>(random.Below(3)));
    }
    for (const auto policy : {DapplePolicy::kFreshFirst, DapplePolicy::kAppendFirst, DapplePolicy::kScatterFirst}) {
      EXPECT_TRUE(IsMapping(instance, MapByDapple(instance, *kinds, machine_of, policy)));
    }
  }
}

}  // namespace
}  // namespace planwright
