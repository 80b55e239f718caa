#include "core/model/support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/small_models.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;

DeviceClass ClassOf(double peak_flops, double memory_bandwidth) {
  DeviceClass device_class;
  device_class.name = "gpu";
  device_class.peak_flops = peak_flops;
  device_class.compute_efficiency = 1;
  device_class.memory_bandwidth_bytes_per_second = memory_bandwidth;
  return device_class;
}

Operator EstimatedOperator(double forward_flops, int64_t forward_bytes, double backward_flops = 0,
                           int64_t backward_bytes = 0) {
  Operator op;
  op.name = "a";
  op.forward_flops = forward_flops;
  op.forward_bytes_accessed = forward_bytes;
  op.backward_flops = backward_flops;
  op.backward_bytes_accessed = backward_bytes;
  return op;
}

bool Infers(const Operator& op, const DeviceClass& device_class) {
  return CanRun(op, device_class, Workload::kInference);
}

bool Trains(const Operator& op, const DeviceClass& device_class) {
  return CanRun(op, device_class, Workload::kTraining);
}

TEST(CanRunTest, AnEstimateNeedsEverySpeedThatTheOperatorUses) {
  const DeviceClass whole = ClassOf(1, 1);
  const DeviceClass only_computes = ClassOf(1, 0);
  const DeviceClass only_moves = ClassOf(0, 1);
  const Operator both = EstimatedOperator(1, 1);
  EXPECT_TRUE(Infers(both, whole));
  EXPECT_FALSE(Infers(both, only_computes));
  EXPECT_FALSE(Infers(both, only_moves));
  EXPECT_TRUE(Infers(EstimatedOperator(1, 0), only_computes));
  EXPECT_FALSE(Infers(EstimatedOperator(1, 0), only_moves));
  EXPECT_TRUE(Infers(EstimatedOperator(0, 1), only_moves));
  EXPECT_FALSE(Infers(EstimatedOperator(0, 1), only_computes));
}

TEST(CanRunTest, AClassOfNoEfficiencyComputesNothing) {
  DeviceClass device_class = ClassOf(1, 1);
  device_class.compute_efficiency = 0;
  EXPECT_FALSE(Infers(EstimatedOperator(1, 1), device_class));
}

TEST(CanRunTest, NothingIsEstimatedFromNoNumbers) {
  EXPECT_FALSE(Infers(EstimatedOperator(0, 0), ClassOf(1, 1)));
  EXPECT_FALSE(Trains(EstimatedOperator(0, 0, 1, 1), ClassOf(1, 1)));
}

TEST(CanRunTest, TrainingNeedsTheSpeedsOfTheBackwardPassToo) {
  const Operator op = EstimatedOperator(1, 0, 0, 1);
  EXPECT_TRUE(Infers(op, ClassOf(1, 0)));
  EXPECT_FALSE(Trains(op, ClassOf(1, 0)));
  EXPECT_TRUE(Trains(op, ClassOf(1, 1)));
}

TEST(CanRunTest, MeasuredOperatorsAndInputsNeedNoSpeeds) {
  const DeviceClass slow = ClassOf(0, 0);
  Operator measured = EstimatedOperator(0, 0);
  measured.costs = {{"gpu", Milliseconds(1), Picoseconds(0), Picoseconds(0)}};
  EXPECT_TRUE(Trains(measured, slow));
  measured.costs[0].device_class = "another";
  EXPECT_FALSE(Trains(measured, slow));
  Operator input = EstimatedOperator(0, 0);
  input.type = kInputOperatorType;
  EXPECT_TRUE(Trains(input, slow));
}

TEST(CanRunTest, AClassThatIsListedAsUnsupportedRunsNothing) {
  Operator op = EstimatedOperator(1, 1);
  op.costs = {{"gpu", Milliseconds(1), Picoseconds(0), Picoseconds(0)}};
  op.unsupported_device_classes = {"another", "gpu"};
  EXPECT_FALSE(Infers(op, ClassOf(1, 1)));
  op.unsupported_device_classes = {"another"};
  EXPECT_TRUE(Infers(op, ClassOf(1, 1)));
}

TEST(CanRunTest, InferenceDropsBackwardOperatorsWhichThenRunAnywhere) {
  Operator op = EstimatedOperator(0, 0);
  op.pass = Pass::kBackward;
  op.unsupported_device_classes = {"gpu"};
  EXPECT_TRUE(Infers(op, ClassOf(0, 0)));
  EXPECT_FALSE(Trains(op, ClassOf(0, 0)));
}

Operator OfDegrees(const std::vector<int32_t>& degrees) {
  Operator op;
  for (const int32_t degree : degrees) op.variants.emplace_back().tensor_degree = degree;
  return op;
}

TEST(TensorDegreesOfTest, AreThoseThatEveryOperatorWithVariantsHasOrThoseThatAnyHas) {
  OperatorGraph graph;
  EXPECT_THAT(TensorDegreesOf(graph), ElementsAre(1));
  graph.operators = {OfDegrees({}), OfDegrees({8, 1, 2, 2}), OfDegrees({2, 4, 8})};
  EXPECT_THAT(TensorDegreesOf(graph), ElementsAre(2, 8));
  EXPECT_THAT(TensorDegreesOf(graph, DegreesOf::kAny), ElementsAre(1, 2, 4, 8));
  graph.operators.resize(1);
  EXPECT_THAT(TensorDegreesOf(graph), ElementsAre(1));
}

}  // namespace
}  // namespace planwright
