#include "core/verify/facts/operator_time.h"

#include <gtest/gtest.h>

namespace planwright {
namespace {

DeviceClass Accelerator() {
  DeviceClass device_class;
  device_class.name = "gpu";
  return device_class;
}

// 1 ps per flop and 2 ps per byte, kernels reach half of the peak, 7 ps to start.
DeviceClass RooflineClass() {
  DeviceClass device_class = Accelerator();
  device_class.peak_flops = 2e12;
  device_class.compute_efficiency = 0.5;
  device_class.memory_bandwidth_bytes_per_second = 5e11;
  device_class.kernel_overhead = Picoseconds(7);
  return device_class;
}

TEST(TimeOnTest, TakesTheMeasuredTimesOfTheClass) {
  Operator op;
  op.costs = {{.device_class = "cpu", .forward = Picoseconds(1)},
              {.device_class = "gpu", .forward = Picoseconds(5), .backward = Picoseconds(8)}};
  op.forward_flops = 1000;
  const auto training = TimeOn(op, RooflineClass(), Workload::kTraining);
  ASSERT_TRUE(training.has_value());
  EXPECT_EQ(training->forward, Picoseconds(5));
  EXPECT_EQ(training->backward, Picoseconds(8));
  EXPECT_EQ(training->total(), Picoseconds(13));
  EXPECT_FALSE(training->estimated);
  EXPECT_EQ(TimeOn(op, RooflineClass(), Workload::kInference)->total(), Picoseconds(5));
}

TEST(TimeOnTest, BackwardOperatorsTakeTheirTimeInTheBackwardPass) {
  Operator op;
  op.pass = Pass::kBackward;
  op.costs = {{.device_class = "gpu", .forward = Picoseconds(5)}};
  const auto time = TimeOn(op, Accelerator(), Workload::kTraining);
  ASSERT_TRUE(time.has_value());
  EXPECT_EQ(time->forward, Picoseconds(0));
  EXPECT_EQ(time->backward, Picoseconds(5));
}

TEST(TimeOnTest, RefusesUnsupportedClassesEvenWhereMeasured) {
  Operator op;
  op.costs = {{.device_class = "gpu", .forward = Picoseconds(5)}};
  op.unsupported_device_classes = {"gpu"};
  EXPECT_FALSE(TimeOn(op, Accelerator(), Workload::kInference).has_value());
}

TEST(TimeOnTest, InputsRunAnywhereForNothing) {
  Operator op;
  op.type = kInputOperatorType;
  EXPECT_EQ(TimeOn(op, Accelerator(), Workload::kTraining)->total(), Picoseconds(0));
  op.unsupported_device_classes = {"gpu"};
  EXPECT_FALSE(TimeOn(op, Accelerator(), Workload::kTraining).has_value());
}

TEST(TimeOnTest, EstimatesByTheSlowerOfArithmeticAndTraffic) {
  Operator op;
  op.forward_flops = 100;
  op.forward_bytes_accessed = 40;
  op.backward_bytes_accessed = 500;
  const auto inference = TimeOn(op, RooflineClass(), Workload::kInference);
  ASSERT_TRUE(inference.has_value());
  EXPECT_EQ(inference->total(), Picoseconds(100 + 7));
  EXPECT_TRUE(inference->estimated);
  EXPECT_EQ(TimeOn(op, RooflineClass(), Workload::kTraining)->total(), Picoseconds(107 + 1000 + 7));
}

TEST(TimeOnTest, ABackwardPassOfOneFlopTakesItsTime) {
  Operator op;
  op.forward_flops = 100;
  op.backward_flops = 1;
  EXPECT_EQ(TimeOn(op, RooflineClass(), Workload::kTraining)->backward, Picoseconds(1 + 7));
}

TEST(TimeOnTest, TrafficAloneNeedsNoPeak) {
  Operator op;
  op.forward_bytes_accessed = 1;
  DeviceClass no_peak = RooflineClass();
  no_peak.peak_flops = 0;
  EXPECT_EQ(TimeOn(op, no_peak, Workload::kInference)->total(), Picoseconds(2 + 7));
}

TEST(TimeOnTest, CannotEstimateWithoutNumbers) {
  Operator op;
  EXPECT_FALSE(TimeOn(op, RooflineClass(), Workload::kInference).has_value());
  op.forward_flops = 1;
  EXPECT_FALSE(TimeOn(op, Accelerator(), Workload::kInference).has_value());
  EXPECT_TRUE(TimeOn(op, RooflineClass(), Workload::kInference).has_value());
  op.backward_bytes_accessed = 1;
  DeviceClass no_bandwidth = RooflineClass();
  no_bandwidth.memory_bandwidth_bytes_per_second = 0;
  EXPECT_TRUE(TimeOn(op, no_bandwidth, Workload::kInference).has_value());
  EXPECT_FALSE(TimeOn(op, no_bandwidth, Workload::kTraining).has_value());
}

}  // namespace
}  // namespace planwright
