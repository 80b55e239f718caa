#include "core/base/status_macros.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace planwright {
namespace {

absl::StatusOr<std::unique_ptr<int>> Half(int value) {
  if (value % 2 != 0) return absl::InvalidArgumentError("odd");
  return std::make_unique<int>(value / 2);
}

absl::Status CheckEven(int value) {
  RETURN_IF_ERROR(Half(value).status());
  return absl::OkStatus();
}

absl::StatusOr<int> Quarter(int value) {
  ASSIGN_OR_RETURN(const std::unique_ptr<int> half, Half(value));
  ASSIGN_OR_RETURN(const std::unique_ptr<int> quarter, Half(*half));
  return *quarter;
}

TEST(StatusMacrosTest, PassValuesOn) {
  EXPECT_TRUE(CheckEven(2).ok());
  EXPECT_EQ(*Quarter(12), 3);
}

TEST(StatusMacrosTest, ReturnTheFirstError) {
  EXPECT_EQ(CheckEven(3), absl::InvalidArgumentError("odd"));
  EXPECT_EQ(Quarter(6).status(), absl::InvalidArgumentError("odd"));
}

}  // namespace
}  // namespace planwright
