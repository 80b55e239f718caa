#include "core/cost/terms/cost_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/small_models.h"

namespace planwright {
namespace {

const DeviceClassId kAccelerator{0};
const DeviceClassId kCpu{1};

OperatorGraph GraphOf(const Operator& op) {
  OperatorGraph graph;
  graph.operators = {op};
  return graph;
}

// The only operator of the graph on one class of a cluster whose accelerators reach 1 TFLOP/s.
OperatorTime TimeOf(const Operator& op, DeviceClassId device_class, Workload workload = Workload::kTraining) {
  Cluster cluster = SmallCluster(1, 1);
  cluster.device_classes[0].peak_flops = 1e12;
  return CostTable(GraphOf(op), cluster, workload).time(OperatorId(0), device_class);
}

TEST(CostTableTest, MeasuredTimesOfBothPasses) {
  const Operator op = MeasuredOperator("a", 2, 5);
  const OperatorTime training = TimeOf(op, kCpu);
  EXPECT_EQ(training.forward, Milliseconds(20));
  EXPECT_EQ(training.backward, Milliseconds(50));
  EXPECT_EQ(training.total(), Milliseconds(70));
  EXPECT_TRUE(training.supported);
  EXPECT_FALSE(training.estimated);
  EXPECT_EQ(TimeOf(op, kCpu, Workload::kInference).total(), Milliseconds(20));
}

TEST(CostTableTest, EstimatesWhereNothingIsMeasured) {
  Operator op;
  op.forward_flops = 1e9;
  op.backward_flops = 2e9;
  const OperatorTime time = TimeOf(op, kAccelerator);
  EXPECT_TRUE(time.supported && time.estimated);
  EXPECT_EQ(time.forward, Milliseconds(1));
  EXPECT_EQ(time.backward, Milliseconds(2));
  EXPECT_EQ(TimeOf(op, kAccelerator, Workload::kInference).total(), Milliseconds(1));
  EXPECT_FALSE(TimeOf(op, kCpu).supported) << "the class says no speed";
}

TEST(CostTableTest, MeasurementsWinOverEstimates) {
  Operator op = MeasuredOperator("a", 3);
  op.forward_flops = 1e9;
  EXPECT_EQ(TimeOf(op, kAccelerator).total(), Milliseconds(3));
  EXPECT_FALSE(TimeOf(op, kAccelerator).estimated);
}

TEST(CostTableTest, NothingKnownIsNotSupported) { EXPECT_FALSE(TimeOf(Operator(), kAccelerator).supported); }

TEST(CostTableTest, UnsupportedClassesWinOverMeasurements) {
  Operator op = MeasuredOperator("a", 3);
  op.unsupported_device_classes = {kCpuClass};
  EXPECT_TRUE(TimeOf(op, kAccelerator).supported);
  EXPECT_FALSE(TimeOf(op, kCpu).supported);
}

TEST(CostTableTest, InputsCostNothing) {
  Operator op = MeasuredOperator("a", 3);
  op.type = kInputOperatorType;
  EXPECT_TRUE(TimeOf(op, kAccelerator).supported);
  EXPECT_EQ(TimeOf(op, kAccelerator).total(), Picoseconds(0));
  EXPECT_FALSE(TimeOf(op, kAccelerator).estimated);
  op.unsupported_device_classes = {kAcceleratorClass};
  EXPECT_FALSE(TimeOf(op, kAccelerator).supported);
}

TEST(CostTableTest, BackwardOperatorsTakeTheirTimeInTheBackwardPass) {
  Operator op = MeasuredOperator("a", 3);
  op.pass = Pass::kBackward;
  EXPECT_EQ(TimeOf(op, kAccelerator).forward, Picoseconds(0));
  EXPECT_EQ(TimeOf(op, kAccelerator).backward, Milliseconds(3));
}

TEST(CostTableTest, InferenceDropsBackwardOperators) {
  Operator op = MeasuredOperator("a", 3);
  op.pass = Pass::kBackward;
  op.unsupported_device_classes = {kAcceleratorClass};
  EXPECT_EQ(TimeOf(op, kAccelerator, Workload::kInference).total(), Picoseconds(0));
  EXPECT_TRUE(TimeOf(op, kAccelerator, Workload::kInference).supported);
}

}  // namespace
}  // namespace planwright
