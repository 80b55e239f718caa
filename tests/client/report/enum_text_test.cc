#include "client/report/enum_text.h"

#include <gtest/gtest.h>

#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {
namespace {

TEST(EnumTextTest, NamesAreThoseOfFlags) {
  EXPECT_EQ(EnumText(v1::ScheduleKind_Name(v1::SCHEDULE_KIND_ONE_F_ONE_B), "SCHEDULE_KIND_"), "one_f_one_b");
}

TEST(EnumTextTest, ValuesOfNewerServersAreUnknown) {
  EXPECT_EQ(EnumText(v1::ScheduleKind_Name(static_cast<v1::ScheduleKind>(99)), "SCHEDULE_KIND_"), "unknown");
}

}  // namespace
}  // namespace planwright::client
