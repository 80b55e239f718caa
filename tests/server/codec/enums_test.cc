#include "server/codec/enums.h"

#include <google/protobuf/generated_enum_reflection.h>
#include <gtest/gtest.h>

namespace planwright::server {
namespace {

// Every enum that a request may hold, so that a value added to the contract fails here until its table has it.
template <typename Wire>
class RequestEnumTest : public testing::Test {};

using RequestEnums = testing::Types<v1::Pass, v1::DeviceKind, v1::Interconnect::NonAdjacent, v1::Interconnect::Routing,
                                    v1::Objective, v1::Workload, v1::Split, v1::Replication, v1::Overlap,
                                    v1::ScheduleKind, v1::AllReduce::Factor, v1::AllReduce::Ring, v1::MemoryModel::Kind,
                                    v1::MemoryModel::Recomputation, v1::Granularity, v1::Algorithm>;
TYPED_TEST_SUITE(RequestEnumTest, RequestEnums);

TYPED_TEST(RequestEnumTest, EveryNamedValueHasACoreValueAndComesBack) {
  const auto* descriptor = google::protobuf::GetEnumDescriptor<TypeParam>();
  for (int i = 0; i < descriptor->value_count(); ++i) {
    const int number = descriptor->value(i)->number();
    if (number == 0) continue;
    const auto core = ToCore(static_cast<TypeParam>(number));
    ASSERT_TRUE(core.has_value()) << descriptor->value(i)->name();
    EXPECT_EQ(ToWire(*core), number) << descriptor->value(i)->name();
  }
}

TYPED_TEST(RequestEnumTest, UnknownNumbersHaveNoCoreValue) {
  EXPECT_FALSE(ToCore(static_cast<TypeParam>(99)).has_value());
  EXPECT_FALSE(ToCore(static_cast<TypeParam>(-1)).has_value());
}

TEST(EnumsTest, UnspecifiedIsTheDefaultOfTheContract) {
  EXPECT_EQ(ToCore(v1::OBJECTIVE_UNSPECIFIED), Objective::kMaxThroughput);
  EXPECT_EQ(ToCore(v1::SPLIT_UNSPECIFIED), Split::kContiguous);
  EXPECT_EQ(ToCore(v1::SCHEDULE_KIND_UNSPECIFIED), ScheduleKind::kSteadyState);
  EXPECT_EQ(ToCore(v1::DEVICE_KIND_UNSPECIFIED), DeviceKind::kAccelerator);
  EXPECT_EQ(ToCore(v1::ALGORITHM_UNSPECIFIED), Algorithm::kAuto);
}

TEST(EnumsTest, ValuesChosenLaterHaveNoCoreValue) {
  EXPECT_EQ(ToCore(v1::WORKLOAD_UNSPECIFIED), std::nullopt);
  EXPECT_EQ(ToCore(v1::MemoryModel::KIND_UNSPECIFIED), std::nullopt);
}

TEST(EnumsTest, AnswersHaveNames) {
  EXPECT_EQ(ToWire(StopReason::kOptimal), v1::STOP_REASON_OPTIMAL);
  EXPECT_EQ(ToWire(StopReason::kExhausted), v1::STOP_REASON_EXHAUSTED);
  EXPECT_EQ(ToWire(BoundScope::kProblem), v1::Bound::SCOPE_PROBLEM);
  EXPECT_EQ(ToWire(BoundScope::kGivenAllocation), v1::Bound::SCOPE_GIVEN_ALLOCATION);
}

}  // namespace
}  // namespace planwright::server
