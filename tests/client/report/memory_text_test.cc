#include "client/report/memory_text.h"

#include <gtest/gtest.h>

#include "tests/support/wire.h"

namespace planwright::client {
namespace {

v1::Plan TrainingPlan() {
  return Wire<v1::Plan>(R"pb(
    problem {
      workload: WORKLOAD_TRAINING
      memory_model { kind: KIND_COMPONENTS weight_versions: 1 gradient_copies: 1 optimizer_bytes_per_parameter_byte: 0 }
    }
    stages { in_flight_micro_batches: 1 }
    stages { in_flight_micro_batches: 1 }
    devices { stages: 0 memory_bytes: 1024 memory_limit_bytes: 2048 }
    devices { stages: 1 memory_bytes: 1536 memory_limit_bytes: 2048 }
    estimate {
      peak_memory_bytes: 1536
      uncounted_memory { what: "the optimizer of adam_mixed" peak_memory_bytes: 4096 }
      uncounted_memory { what: "a little more" peak_memory_bytes: 2048 }
    })pb");
}

TEST(MemoryTextTest, SaysWhatCountsAndHowMuchRoomThereIs) {
  EXPECT_EQ(CountedMemoryText(TrainingPlan()),
            "1.50 KiB of 2.00 KiB on the fullest device: parameters, gradients, 1 micro-batch in flight, buffers");
}

TEST(MemoryTextTest, NamesWhateverIsSet) {
  v1::Plan plan = TrainingPlan();
  v1::MemoryModel& memory = *plan.mutable_problem()->mutable_memory_model();
  memory.set_weight_versions(2);
  memory.set_gradient_copies(0);
  memory.set_optimizer_bytes_per_parameter_byte(6);
  memory.set_reserved_bytes(512);
  plan.mutable_stages(0)->set_in_flight_micro_batches(8);
  for (v1::DeviceUsage& device : *plan.mutable_devices()) device.clear_memory_limit_bytes();
  EXPECT_EQ(CountedMemoryText(plan),
            "1.50 KiB on the fullest device: 2 versions of the parameters, an optimizer of 6 times the parameters, "
            "1 to 8 micro-batches in flight, buffers, 512 B reserved");
}

TEST(MemoryTextTest, TheFullestDeviceHasTheLeastRoomLeftInProportion) {
  v1::Plan plan = TrainingPlan();
  const std::string parts = ": parameters, gradients, 1 micro-batch in flight, buffers";
  // A CPU that may hold anything is not full.
  plan.mutable_devices(1)->clear_memory_limit_bytes();
  EXPECT_EQ(CountedMemoryText(plan), "1.00 KiB of 2.00 KiB on the fullest device" + parts);
  plan.mutable_devices(1)->set_memory_limit_bytes(1 << 20);
  EXPECT_EQ(CountedMemoryText(plan), "1.00 KiB of 2.00 KiB on the fullest device" + parts);
}

TEST(MemoryTextTest, InferenceHoldsNoMicroBatches) {
  v1::Plan plan = TrainingPlan();
  plan.mutable_problem()->set_workload(v1::WORKLOAD_INFERENCE);
  plan.mutable_problem()->mutable_memory_model()->set_gradient_copies(0);
  EXPECT_EQ(CountedMemoryText(plan), "1.50 KiB of 2.00 KiB on the fullest device: parameters, buffers");
}

TEST(MemoryTextTest, DeclaredMemoryCountsOnceWhateverTheSchedule) {
  v1::Plan plan = TrainingPlan();
  plan.mutable_problem()->mutable_memory_model()->set_kind(v1::MemoryModel::KIND_DECLARED);
  EXPECT_EQ(CountedMemoryText(plan),
            "1.50 KiB of 2.00 KiB on the fullest device: what the operators declare, once whatever the schedule");
}

TEST(MemoryTextTest, SaysWhatEachOmissionWouldMakeOfIt) {
  EXPECT_EQ(UncountedMemoryText(TrainingPlan()),
            "the optimizer of adam_mixed (would make it 4.00 KiB: too much), a little more (would make it 2.00 KiB)");
}

// Another device may be the fullest then.
TEST(MemoryTextTest, TooMuchIsWhatNoDeviceInUseMayHold) {
  v1::Plan plan = TrainingPlan();
  plan.mutable_devices(0)->set_memory_limit_bytes(4096);
  plan.mutable_estimate()->mutable_uncounted_memory(1)->set_peak_memory_bytes(8192);
  const std::string fits =
      "the optimizer of adam_mixed (would make it 4.00 KiB), a little more (would make it 8.00 KiB";
  EXPECT_EQ(UncountedMemoryText(plan), fits + ": too much)");
  plan.add_devices()->set_memory_limit_bytes(1 << 20);
  EXPECT_EQ(UncountedMemoryText(plan), fits + ": too much)");
  // What is not counted is said of devices with a limit, where there are any.
  plan.mutable_devices(1)->clear_memory_limit_bytes();
  EXPECT_EQ(UncountedMemoryText(plan), fits + ": too much)");
  plan.mutable_devices(0)->clear_memory_limit_bytes();
  EXPECT_EQ(UncountedMemoryText(plan), fits + ")");
}

TEST(MemoryTextTest, APlanWithoutMemoryHasNothingToSay) {
  EXPECT_EQ(CountedMemoryText(v1::Plan()), "");
  EXPECT_EQ(UncountedMemoryText(v1::Plan()), "");
}

}  // namespace
}  // namespace planwright::client
