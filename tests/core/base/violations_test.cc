#include "core/base/violations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace planwright {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ViolationsTest, NoneIsOk) {
  EXPECT_TRUE(Violations().empty());
  EXPECT_TRUE(Violations().ToStatus().ok());
}

TEST(ViolationsTest, StatusCarriesAndNamesThem) {
  Violations violations;
  violations.Add("graph.operators[0].name", "must not be empty");
  violations.Add("options.relative_gap", "must be in [0, 1), is 2");
  const absl::Status status = violations.ToStatus();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "graph.operators[0].name: must not be empty\noptions.relative_gap: must be in [0, 1), is 2");
  EXPECT_EQ(ViolationsOf(status), violations.listed());
}

TEST(ViolationsTest, ListsAHundredAndCountsTheRest) {
  Violations violations;
  for (int i = 0; i < 107; ++i) violations.Add("path" + std::to_string(i), "rule");
  EXPECT_EQ(violations.listed().size(), Violations::kMaxListed);
  EXPECT_EQ(violations.unlisted_count(), 7U);
  const absl::Status status = violations.ToStatus();
  EXPECT_THAT(std::string(status.message()), HasSubstr("path99: rule\n... and 7 more"));
  EXPECT_EQ(ViolationsOf(status), violations.listed());
  EXPECT_EQ(UnlistedViolationsOf(status), 7U);
}

TEST(ViolationsTest, HostileNamesStayInTheirRecord) {
  Violations violations;
  violations.Add("graph.operators[0].name",
                 "must be unique, is \"a\x1e\x1f"
                 "b\"");
  const std::vector<Violation> carried = ViolationsOf(violations.ToStatus());
  ASSERT_EQ(carried.size(), 1U);
  EXPECT_EQ(carried[0].rule, "must be unique, is \"a??b\"");
}

TEST(ViolationsTest, OtherStatusesCarryNone) {
  EXPECT_THAT(ViolationsOf(absl::OkStatus()), IsEmpty());
  EXPECT_EQ(UnlistedViolationsOf(absl::InvalidArgumentError("x")), 0U);
  EXPECT_THAT(ViolationsOf(absl::InvalidArgumentError("x")), IsEmpty());
}

}  // namespace
}  // namespace planwright
