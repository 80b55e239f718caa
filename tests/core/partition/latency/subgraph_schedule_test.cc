#include "core/partition/latency/subgraph_schedule.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <vector>

#include "core/base/random.h"
#include "core/cost/terms/cost_table.h"
#include "tests/core/partition/latency/latency_oracle.h"
#include "tests/support/builders.h"
#include "tests/support/random_instance.h"

namespace planwright {
namespace {

std::size_t Place(int32_t value) { return static_cast<std::size_t>(value); }

// The subgraphs of `schedule` in the order of the sequences.
std::vector<NaiveSubgraph> SubgraphsOf(const LatencyInstance& instance, const SubgraphSchedule& schedule) {
  std::vector<NaiveSubgraph> subgraphs;
  for (int32_t accelerator = 0; accelerator < instance.num_accelerators(); ++accelerator) {
    for (const int32_t slot : schedule.sequence(accelerator)) {
      NaiveSubgraph subgraph{.accelerator = accelerator, .vertices = {}};
      for (int32_t vertex = 0; vertex < instance.num_vertices(); ++vertex) {
        if (schedule.place(vertex) == slot) subgraph.vertices.push_back(vertex);
      }
      if (!subgraph.vertices.empty()) subgraphs.push_back(subgraph);
    }
  }
  return subgraphs;
}

// Anything to anywhere, in ignorance of groups and permissions: the schedule does not know them.
void MoveAtRandom(const LatencyInstance& instance, SubgraphSchedule& schedule, RandomStream& random) {
  const auto vertex = static_cast<int32_t>(random.Below(instance.operators.size()));
  const auto accelerator = static_cast<int32_t>(random.Between(-1, instance.num_accelerators() - 1));
  if (accelerator < 0) {
    schedule.Move(vertex, SubgraphSchedule::kCpu);
    return;
  }
  const auto number = static_cast<int32_t>(random.Below(static_cast<uint64_t>(schedule.slots_per_pass())));
  schedule.Move(vertex, schedule.SlotOf(accelerator, instance.pass[Place(vertex)], number));
  const std::size_t length = schedule.sequence(accelerator).size();
  schedule.SwapInSequence(accelerator, random.Below(length), random.Below(length));
}

class SubgraphScheduleTest : public testing::TestWithParam<int32_t> {};

TEST_P(SubgraphScheduleTest, AgreesWithRecursionAndWithAFreshOneAfterEveryMove) {
  int scheduled = 0;
  int cyclic = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Instance made = MakeLatencyInstance(seed, 14, GetParam());
    const LatencyInstance instance = BuildForLatency(made.graph, made.cluster, made.problem);
    SubgraphSchedule schedule(instance, GetParam());
    RandomStream random(seed, 7);
    for (int move = 0; move < 60; ++move) {
      MoveAtRandom(instance, schedule, random);
      const std::vector<NaiveSubgraph> subgraphs = SubgraphsOf(instance, schedule);
      const std::optional<int64_t> expected = NaiveLatency(instance, subgraphs);
      const int64_t latency = schedule.Latency();
      ASSERT_EQ(latency, expected.value_or(SubgraphSchedule::kCyclic)) << Describe(made);
      ASSERT_EQ(schedule.num_stuck_units() == 0, expected.has_value());
      ++(expected.has_value() ? scheduled : cyclic);
      SubgraphSchedule fresh(instance, GetParam());
      fresh.Load(schedule.places(), schedule.sequences());
      ASSERT_EQ(fresh.Latency(), latency);
      ASSERT_EQ(fresh.loads().total_duration(), schedule.loads().total_duration());
      ASSERT_EQ(fresh.loads().MissingBytes(), schedule.loads().MissingBytes());
      for (int32_t accelerator = 0; accelerator < instance.num_accelerators(); ++accelerator) {
        int64_t bytes = 0;
        for (const NaiveSubgraph& subgraph : subgraphs) {
          if (subgraph.accelerator == accelerator) bytes += NaiveBytes(instance, subgraph);
        }
        ASSERT_EQ(schedule.loads().AcceleratorBytes(accelerator), bytes) << Describe(made);
      }
    }
  }
  EXPECT_GT(scheduled, 500);
  EXPECT_GT(cyclic, 100);
}

INSTANTIATE_TEST_SUITE_P(SlotsPerPass, SubgraphScheduleTest, testing::Values(1, 2, 3));

// a -> b -> c, where b is between two operators of one subgraph.
TEST(SubgraphScheduleTest, ASubgraphThatAPathLeavesAndEntersAgainIsACycle) {
  OperatorGraph graph;
  const OperatorId a = AddOperator(graph, "a", 1, 10);
  const OperatorId b = AddOperator(graph, "b", 2, 20);
  const OperatorId c = AddOperator(graph, "c", 3, 30);
  AddTensor(graph, a, {b}, 5);
  AddTensor(graph, b, {c}, 7);
  const LatencyInstance instance = BuildForLatency(graph, MakeCluster(1, 1), {});
  SubgraphSchedule schedule(instance, 1);
  EXPECT_EQ(schedule.Latency(), 10 + 20 + 30);
  schedule.Move(0, 0);
  schedule.Move(2, 0);
  EXPECT_EQ(schedule.Latency(), SubgraphSchedule::kCyclic);
  EXPECT_EQ(schedule.num_stuck_units(), 2);
  schedule.Move(1, 0);
  EXPECT_EQ(schedule.Latency(), 1 + 2 + 3);
  schedule.Move(2, SubgraphSchedule::kCpu);
  EXPECT_EQ(schedule.Latency(), (1 + 2 + 7) + 30);
}

// Two independent operators in two slots of one accelerator run one after the other, in the order of the sequence.
TEST(SubgraphScheduleTest, SubgraphsOfAnAcceleratorDoNotOverlap) {
  OperatorGraph graph;
  AddOperator(graph, "a", 10, 100);
  AddOperator(graph, "b", 20, 100);
  const LatencyInstance instance = BuildForLatency(graph, MakeCluster(2, 0), {});
  SubgraphSchedule schedule(instance, 2);
  schedule.Move(0, schedule.SlotOf(0, Pass::kForward, 0));
  schedule.Move(1, schedule.SlotOf(0, Pass::kForward, 1));
  EXPECT_EQ(schedule.Latency(), 30);
  EXPECT_EQ(schedule.start(schedule.SlotOf(0, Pass::kForward, 1)), 10);
  schedule.SwapInSequence(0, 0, 1);
  EXPECT_EQ(schedule.Latency(), 30);
  EXPECT_EQ(schedule.start(schedule.SlotOf(0, Pass::kForward, 0)), 20);
  EXPECT_EQ(schedule.finish(0), 30);
  schedule.Move(1, schedule.SlotOf(1, Pass::kForward, 0));
  EXPECT_EQ(schedule.Latency(), 20);
}

}  // namespace
}  // namespace planwright
