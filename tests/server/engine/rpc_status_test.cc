#include "server/engine/rpc_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/infeasibility.h"
#include "core/base/violations.h"
#include "google/rpc/error_details.pb.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/serving/admission/retry_delay.h"

namespace planwright::server {
namespace {

// The details of one type: at most one may be there.
template <typename Detail>
std::optional<Detail> DetailOf(const google::rpc::Status& status) {
  std::optional<Detail> found;
  for (const auto& any : status.details()) {
    Detail detail;
    if (!any.UnpackTo(&detail)) continue;
    EXPECT_FALSE(found.has_value()) << "two of " << detail.GetTypeName();
    found = detail;
  }
  return found;
}

std::string ReasonOf(const absl::Status& status) {
  const auto info = DetailOf<google::rpc::ErrorInfo>(ToRpcStatus(status));
  if (!info.has_value()) return "";
  EXPECT_EQ(info->domain(), "planwright");
  return info->reason();
}

Violations ManyViolations(int count) {
  Violations violations;
  for (int i = 0; i < count; ++i) violations.Add(absl::StrCat("graph.operators[", i, "].name"), "must be new");
  return violations;
}

TEST(RpcStatusTest, EveryErrorHasAReason) {
  EXPECT_EQ(ReasonOf(absl::InvalidArgumentError("x")), "INVALID_REQUEST");
  EXPECT_EQ(ReasonOf(absl::NotFoundError("x")), "NOT_FOUND");
  EXPECT_EQ(ReasonOf(InfeasibleError({.shortages = {{"memory", "", 0, 0, "x"}}})), "INFEASIBLE");
  EXPECT_EQ(ReasonOf(NoPlanFoundError("x")), "NO_PLAN_FOUND");
  EXPECT_EQ(ReasonOf(absl::DeadlineExceededError("x")), "DEADLINE_EXCEEDED");
  EXPECT_EQ(ReasonOf(absl::ResourceExhaustedError("x")), "LIMIT_EXCEEDED");
  EXPECT_EQ(ReasonOf(WithRetryDelay(absl::ResourceExhaustedError("x"), std::chrono::seconds(1))), "SERVER_FULL");
  EXPECT_EQ(ReasonOf(WithRetryDelay(absl::UnavailableError("x"), std::chrono::seconds(1))), "SHUTTING_DOWN");
  EXPECT_EQ(ReasonOf(absl::InternalError("x")), "INTERNAL");
  EXPECT_EQ(ReasonOf(absl::CancelledError("x")), "CANCELLED");
}

std::string LimitOf(SpentLimit spent) {
  const auto info = DetailOf<google::rpc::ErrorInfo>(ToRpcStatus(NoPlanFoundError("x", spent)));
  const auto limit = info->metadata().find("limit");
  return limit == info->metadata().end() ? "" : limit->second;
}

TEST(RpcStatusTest, NamesTheLimitThatWasSpent) {
  EXPECT_EQ(LimitOf(SpentLimit::kNone), "");
  EXPECT_EQ(LimitOf(SpentLimit::kTime), "time_limit");
  EXPECT_EQ(LimitOf(SpentLimit::kWork), "work_limit");
}

TEST(RpcStatusTest, OkHasNoDetails) { EXPECT_EQ(ToRpcStatus(absl::OkStatus()).details_size(), 0); }

TEST(RpcStatusTest, ListsEveryViolation) {
  const google::rpc::Status status = ToRpcStatus(ManyViolations(3).ToStatus());
  const auto bad_request = DetailOf<google::rpc::BadRequest>(status);
  ASSERT_TRUE(bad_request.has_value());
  ASSERT_EQ(bad_request->field_violations_size(), 3);
  EXPECT_EQ(bad_request->field_violations(2).field(), "graph.operators[2].name");
  EXPECT_EQ(bad_request->field_violations(2).description(), "must be new");
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(status)->metadata().at("violations"), "3");
}

TEST(RpcStatusTest, SaysHowManyViolationsItDoesNotList) {
  const google::rpc::Status status = ToRpcStatus(ManyViolations(150).ToStatus());
  EXPECT_EQ(DetailOf<google::rpc::BadRequest>(status)->field_violations_size(), 100);
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(status)->metadata().at("violations"), "150");
  EXPECT_THAT(status.message(), testing::HasSubstr("and 50 more"));
}

TEST(RpcStatusTest, FitsIntoTheSpaceThereIs) {
  constexpr std::size_t kSpace = 7600;
  Violations violations;
  for (int i = 0; i < 150; ++i) violations.Add(absl::StrCat("graph.operators[", i, "].name"), std::string(300, 'x'));
  const google::rpc::Status status = ToRpcStatus(violations.ToStatus(), kSpace);
  EXPECT_LE(status.ByteSizeLong() + 3 * status.message().size(), kSpace);
  EXPECT_GT(DetailOf<google::rpc::BadRequest>(status)->field_violations_size(), 10);
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(status)->metadata().at("violations"), "150");
}

TEST(RpcStatusTest, DoesNotCutCharacters) {
  std::string umlauts;
  for (int i = 0; i < 1000; ++i) umlauts += "\xC3\xA4";
  const google::rpc::Status status = ToRpcStatus(absl::InternalError(umlauts), 1001);
  // 125 bytes fit, of which the last would be half of a character.
  EXPECT_EQ(status.message(), umlauts.substr(0, 124) + "...");
}

TEST(RpcStatusTest, CarriesTheProofOfInfeasibility) {
  const auto detail = DetailOf<v1::InfeasibleDetail>(ToRpcStatus(
      InfeasibleError({.shortages = {{"memory", "embedding", 200, 100, "too large"}}, .minimum_devices = 3})));
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->minimum_devices(), 3);
  EXPECT_EQ(detail->reasons(0).resource(), "memory");
  EXPECT_EQ(detail->reasons(0).subject(), "embedding");
  EXPECT_EQ(detail->reasons(0).needed_bytes(), 200);
  EXPECT_EQ(detail->reasons(0).available_bytes(), 100);
  EXPECT_EQ(detail->reasons(0).description(), "too large");
}

TEST(RpcStatusTest, CountsReasonsThatAreNotListed) {
  const Infeasibility infeasibility = {.shortages = {{"memory", "a", 2, 1, "too large"}}, .unlisted = 41};
  const google::rpc::Status status = ToRpcStatus(InfeasibleError(infeasibility));
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(status)->metadata().at("reasons"), "42");
}

TEST(RpcStatusTest, CarriesTheRetryDelay) {
  const auto retry = DetailOf<google::rpc::RetryInfo>(
      ToRpcStatus(WithRetryDelay(absl::ResourceExhaustedError("full"), std::chrono::milliseconds(1500))));
  ASSERT_TRUE(retry.has_value());
  EXPECT_EQ(retry->retry_delay().seconds(), 1);
  EXPECT_EQ(retry->retry_delay().nanos(), 500'000'000);
}

}  // namespace
}  // namespace planwright::server
