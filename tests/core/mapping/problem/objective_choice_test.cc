#include <gtest/gtest.h>

#include "core/mapping/problem/mapping_instance.h"

namespace planwright {
namespace {

MappingInstance Instance(double ring_bytes) {
  return {.replicas = StageReplicas(2, 2),
          .device_kind = {0, 0, 0, 0},
          .compute_ms = {1, 1},
          .traffic = {{.from = 0, .to = 1, .forward_bytes = 60, .backward_bytes = 40}},
          .allreduce_bytes = {50, ring_bytes},
          .network = Network(UniformInterconnect{.bandwidth_bytes_per_second = 1e9})};
}

TEST(ObjectiveChoiceTest, TakesWhatCarriesMoreBytes) {
  EXPECT_EQ(ChooseObjective(Instance(50)), MappingObjective::kLoad);
  EXPECT_EQ(ChooseObjective(Instance(51)), MappingObjective::kAllReduce);
}

TEST(ObjectiveChoiceTest, WithoutRingsOnlyLoadsCount) {
  MappingInstance instance = Instance(1000);
  instance.replicas = StageReplicas(2, 1);
  EXPECT_EQ(ChooseObjective(instance), MappingObjective::kLoad);
}

}  // namespace
}  // namespace planwright
