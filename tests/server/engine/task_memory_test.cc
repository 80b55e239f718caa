#include "server/engine/task_memory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planwright::server {
namespace {

// A chain of operators, on devices of one class.
PlanTask Task(int operators, int devices, Interconnect interconnect = UniformInterconnect{}) {
  OperatorGraph graph;
  for (int i = 0; i < operators; ++i) {
    Operator& op = graph.operators.emplace_back();
    op.name = absl::StrCat("operator-with-a-name-of-some-length-", i);
    op.costs.emplace_back().device_class = "gpu";
    if (i == 0) continue;
    Tensor& tensor = graph.tensors.emplace_back();
    tensor.name = absl::StrCat(i);
    tensor.producer = OperatorId(static_cast<std::size_t>(i - 1));
    tensor.consumers = {OperatorId(static_cast<std::size_t>(i))};
  }
  Cluster cluster;
  cluster.device_classes.emplace_back().name = "gpu";
  for (int i = 0; i < devices; ++i) {
    Device& device = cluster.devices.emplace_back();
    device.name = absl::StrCat(i);
    device.device_class = DeviceClassId(0);
  }
  cluster.interconnect = std::move(interconnect);
  PlanTask task;
  task.graph = std::make_shared<const OperatorGraph>(std::move(graph));
  task.cluster = std::make_shared<const Cluster>(std::move(cluster));
  return task;
}

TEST(TaskMemoryTest, GrowsWithTheGraph) {
  const int64_t small = EstimateMemory(Task(1000, 2));
  const int64_t large = EstimateMemory(Task(10'000, 2));
  // At least what the operators themselves take, at most a few kilobytes for each.
  EXPECT_GT(small, static_cast<int64_t>(1000 * (sizeof(Operator) + sizeof(Tensor))));
  EXPECT_LT(small, 1000 * 4096);
  EXPECT_GT(large, 9 * small);
  EXPECT_LT(large, 11 * small);
}

TEST(TaskMemoryTest, CountsPairsWhereTheInterconnectIsATable) {
  const int64_t structured = EstimateMemory(Task(10, 1000));
  const int64_t table = EstimateMemory(Task(10, 1000, MatrixInterconnect{}));
  EXPECT_LT(structured, 1000 * 1000);
  EXPECT_GT(table - structured, 8 * 1000 * 1000);
}

}  // namespace
}  // namespace planwright::server
