#include "server/engine/task_memory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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

// Joins the operator to those that come `steps` behind it.
void Join(OperatorGraph& graph, std::size_t producer, std::vector<std::size_t> steps) {
  Tensor& tensor = graph.tensors.emplace_back();
  tensor.producer = OperatorId(producer);
  for (const std::size_t step : steps) tensor.consumers.emplace_back(producer + step);
}

PlanTask WithGraph(OperatorGraph graph) {
  PlanTask task = Task(0, 2);
  task.graph = std::make_shared<const OperatorGraph>(std::move(graph));
  return task;
}

// Blocks of four operators: one, two side by side, one.
PlanTask Diamonds(std::size_t count) {
  OperatorGraph graph;
  graph.operators.resize(3 * count + 1);
  for (std::size_t first = 0; first < 3 * count; first += 3) {
    Join(graph, first, {1, 2});
    Join(graph, first + 1, {2});
    Join(graph, first + 2, {1});
  }
  return WithGraph(std::move(graph));
}

TEST(TaskMemoryTest, TablesOfChainsOfBlocksAreSmall) {
  EXPECT_LT(EstimateTables(Task(1000, 2)), int64_t{16} << 20);
  EXPECT_LT(EstimateTables(Diamonds(300)), int64_t{16} << 20);
  EXPECT_GT(EstimateTables(Diamonds(300)), EstimateTables(Diamonds(30)));
}

TEST(TaskMemoryTest, TablesOfWideGraphsAreLargeUnlessTheirIdealsAreLimited) {
  OperatorGraph wide;
  wide.operators.resize(62);
  std::vector<std::size_t> middle(60);
  for (std::size_t i = 0; i < middle.size(); ++i) middle[i] = i + 1;
  Join(wide, 0, middle);
  for (const std::size_t op : middle) Join(wide, op, {61 - op});
  PlanTask task = WithGraph(std::move(wide));
  EXPECT_GT(EstimateTables(task), int64_t{1} << 50);
  task.options.options.ideal_limit = 1000;
  EXPECT_LT(EstimateTables(task), int64_t{1} << 20);
}

TEST(TaskMemoryTest, WhatIsNoPlanIsNotWaitedFor) {
  OperatorGraph cycle;
  cycle.operators.resize(2);
  Join(cycle, 0, {1});
  Join(cycle, 1, {static_cast<std::size_t>(-1)});
  EXPECT_GT(EstimateTables(WithGraph(std::move(cycle))), 0);
  EXPECT_GT(EstimateTables(Task(0, 2)), 0);
}

}  // namespace
}  // namespace planwright::server
