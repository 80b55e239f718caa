#include "core/base/infeasibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "absl/strings/str_cat.h"

namespace planwright {
namespace {

TEST(InfeasibilityTest, StatusCarriesAndNamesIt) {
  const Infeasibility infeasibility = {
      .shortages = {{"memory", "embedding", 3'000'000'000, 2'000'000'000, "operator \"embedding\" needs 1 GB more"},
                    {"support", "", 0, std::numeric_limits<int64_t>::max(), "no device runs it"}},
      .minimum_devices = 4,
      .unlisted = 3};
  const absl::Status status = InfeasibleError(infeasibility);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "no plan exists: operator \"embedding\" needs 1 GB more; no device runs it; and 3 more");
  EXPECT_EQ(InfeasibilityOf(status), infeasibility);
  EXPECT_FALSE(IsNoPlanFound(status));
}

TEST(InfeasibilityTest, ListsTheFirstAndCountsTheRest) {
  Infeasibility infeasibility;
  for (int i = 0; i < 12; ++i) infeasibility.Add({.resource = "memory", .subject = absl::StrCat(i), .description = ""});
  ASSERT_EQ(infeasibility.shortages.size(), 10U);
  EXPECT_EQ(infeasibility.shortages.back().subject, "9");
  EXPECT_EQ(infeasibility.unlisted, 2);
}

TEST(InfeasibilityTest, HostileNamesStayInTheirField) {
  const absl::Status status = InfeasibleError({.shortages = {{"memory",
                                                              "a\x1f"
                                                              "9\x1e",
                                                              1, 0, "too large"}}});
  ASSERT_TRUE(InfeasibilityOf(status).has_value());
  EXPECT_EQ(InfeasibilityOf(status)->shortages, (std::vector<Shortage>{{"memory", "a?9?", 1, 0, "too large"}}));
}

TEST(InfeasibilityTest, OtherStatusesCarryNone) {
  EXPECT_EQ(InfeasibilityOf(absl::OkStatus()), std::nullopt);
  EXPECT_EQ(InfeasibilityOf(absl::FailedPreconditionError("x")), std::nullopt);
}

TEST(NoPlanFoundTest, IsADeadlineErrorOfItsOwn) {
  const absl::Status status = NoPlanFoundError("allow more time");
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(status.message(), "allow more time");
  EXPECT_TRUE(IsNoPlanFound(status));
  EXPECT_FALSE(IsNoPlanFound(absl::DeadlineExceededError("allow more time")));
  EXPECT_EQ(InfeasibilityOf(status), std::nullopt);
}

TEST(NoPlanFoundTest, CarriesTheLimitThatWasSpent) {
  EXPECT_EQ(SpentLimitOf(NoPlanFoundError("allow more work", SpentLimit::kWork)), SpentLimit::kWork);
  EXPECT_EQ(SpentLimitOf(NoPlanFoundError("allow more time", SpentLimit::kTime)), SpentLimit::kTime);
  EXPECT_EQ(SpentLimitOf(NoPlanFoundError("allow more")), SpentLimit::kNone);
  EXPECT_EQ(SpentLimitOf(absl::DeadlineExceededError("allow more time")), SpentLimit::kNone);
}

TEST(RejectedPlanTest, IsAnInternalErrorOfItsOwn) {
  const absl::Status status = RejectedPlanError("a device holds too much");
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(IsRejectedPlan(status));
  EXPECT_FALSE(IsRejectedPlan(absl::InternalError("a device holds too much")));
  EXPECT_FALSE(IsNoPlanFound(status));
}

}  // namespace
}  // namespace planwright
