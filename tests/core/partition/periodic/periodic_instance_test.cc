#include "core/partition/periodic/periodic_instance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "core/base/infeasibility.h"
#include "tests/support/builders.h"
#include "tests/support/periodic_example.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;

class PeriodicInstanceTest : public ::testing::Test {
 protected:
  absl::StatusOr<PeriodicInstance> Build() const {
    const ResolvedProblem problem = ResolveProblem(example_.graph, example_.problem);
    const CostTable costs(example_.graph, example_.cluster, problem.workload);
    const SolverOptions options;
    return BuildPeriodicInstance(
        {example_.graph, example_.cluster, problem, costs, options, Algorithm::kContiguousPeriodic, {}});
  }

  PeriodicExample example_;
};

TEST_F(PeriodicInstanceTest, IsTheChainOnTheAccelerators) {
  example_.cluster.device_classes[0].memory_bytes = 2'000;
  example_.problem.memory_model.reserved_bytes = 100;
  const absl::StatusOr<PeriodicInstance> instance = Build();
  ASSERT_TRUE(instance.ok()) << instance.status();
  EXPECT_EQ(instance->chain.layers.size(), 3U);
  EXPECT_THAT(instance->device_ids, ElementsAre(DeviceId(0), DeviceId(1)));
  EXPECT_EQ(instance->devices.count, 2);
  EXPECT_EQ(instance->devices.memory_bytes, 1'900);
  EXPECT_EQ(instance->work_bound, Picoseconds(90));
  EXPECT_EQ(instance->block_bound, Picoseconds(90));
}

TEST_F(PeriodicInstanceTest, ARowHasOneOrder) {
  EXPECT_TRUE(Build()->is_only_order);
  // b and c may change places.
  example_.graph.tensors = {example_.graph.tensors[0], example_.graph.tensors[2]};
  EXPECT_FALSE(Build()->is_only_order);
  EXPECT_TRUE(Build()->speaks_for_order);
}

TEST_F(PeriodicInstanceTest, WhatTheForwardPassKeepsFixesNoOrder) {
  example_.graph = OperatorGraph();
  const OperatorId a = AddOperator(example_.graph, "a", 10, 100);
  const OperatorId b = AddOperator(example_.graph, "b", 20, 200);
  AddBackward(example_.graph, "A", a, 30, 300);
  const OperatorId backward_b = AddBackward(example_.graph, "B", b, 40, 400);
  AddTensor(example_.graph, a, {backward_b}, 1);
  EXPECT_FALSE(Build()->is_only_order);
  AddTensor(example_.graph, a, {b}, 1);
  EXPECT_TRUE(Build()->is_only_order);
}

// A stage of all operators makes what it has kept again.
TEST_F(PeriodicInstanceTest, RecomputationAsksForLessMemory) {
  example_.graph.operators[1].colocation_group = "together";
  example_.graph.operators[2].colocation_group = "together";
  // Three copies of 60 bytes of parameters; what c makes again and its workspace; from a, kept once, two buffers.
  example_.cluster.device_classes[0].memory_bytes = 180 + 403 + 3 * 50;
  EXPECT_FALSE(Build().ok());
  example_.problem.memory_model.recomputation = MemoryModel::Recomputation::kFull;
  const absl::StatusOr<PeriodicInstance> instance = Build();
  ASSERT_TRUE(instance.ok()) << instance.status();
  EXPECT_EQ(instance->chain.layers[1].received_bytes, 50);
  EXPECT_EQ(instance->chain.layers[1].workspace_bytes, 403);
}

TEST_F(PeriodicInstanceTest, DoesNotSpeakForTheOrderWhereItLooksAtLessThanThereIs) {
  example_.cluster.devices[1].reserved_memory_bytes = 1;
  EXPECT_TRUE(Build()->speaks_for_order);
  example_.cluster.device_classes[0].memory_bytes = 5'000;
  const absl::StatusOr<PeriodicInstance> unequal = Build();
  EXPECT_EQ(unequal->devices.memory_bytes, 4'999);
  EXPECT_FALSE(unequal->speaks_for_order);
  example_.cluster.devices[1].reserved_memory_bytes = 0;
  EXPECT_TRUE(Build()->speaks_for_order);
  example_.problem.memory_model.optimizer_bytes_per_parameter_byte = 0.5;
  EXPECT_FALSE(Build()->speaks_for_order);
}

TEST_F(PeriodicInstanceTest, LongGraphsAreShortened) {
  example_.graph = OperatorGraph();
  for (std::size_t i = 0; i < kMaxChainLayers + 50; ++i) {
    const OperatorId op = AddOperator(example_.graph, "op" + std::to_string(i), 10, 100);
    if (i > 0) AddTensor(example_.graph, OperatorId(i - 1), {op}, 1);
  }
  const absl::StatusOr<PeriodicInstance> instance = Build();
  EXPECT_LE(instance->layers.size(), kMaxChainLayers);
  EXPECT_FALSE(instance->speaks_for_order);
}

TEST_F(PeriodicInstanceTest, AllocationsComeBackAsPlacements) {
  const Placement placement = PlacementOf(*Build(), {{0, 0, 1}, {1, 2, 0}}, PeriodicPattern{Picoseconds(7), {}});
  ASSERT_EQ(placement.stages.size(), 2U);
  EXPECT_THAT(placement.stages[0].operators, ElementsAre(OperatorId(0)));
  EXPECT_THAT(placement.stages[0].devices, ElementsAre(DeviceId(1)));
  EXPECT_THAT(placement.stages[1].operators, ElementsAre(OperatorId(1), OperatorId(2)));
  EXPECT_EQ(placement.pattern->period, Picoseconds(7));
}

TEST_F(PeriodicInstanceTest, WithoutAcceleratorsNothingRuns) {
  example_.cluster = MakeCluster(0, 2);
  const std::optional<Infeasibility> infeasibility = InfeasibilityOf(Build().status());
  ASSERT_TRUE(infeasibility.has_value());
  EXPECT_EQ(infeasibility->shortages[0].resource, "devices");
}

}  // namespace
}  // namespace planwright
