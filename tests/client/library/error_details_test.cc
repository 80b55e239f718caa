#include "client/library/error_details.h"

#include <gmock/gmock.h>
#include <google/protobuf/any.pb.h>
#include <gtest/gtest.h>

#include <string>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace planwright::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ErrorDetailsTest, ReadsWhatAServerSends) {
  google::rpc::Status wire;
  google::rpc::ErrorInfo info;
  info.set_reason("INVALID_REQUEST");
  (*info.mutable_metadata())["violations"] = "120";
  wire.add_details()->PackFrom(info);
  google::rpc::BadRequest bad_request;
  bad_request.add_field_violations()->set_field("graph.operators[3].name");
  wire.add_details()->PackFrom(bad_request);
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(1);
  retry.mutable_retry_delay()->set_nanos(500'000'000);
  wire.add_details()->PackFrom(retry);
  v1::InfeasibleDetail infeasible;
  infeasible.set_minimum_devices(3);
  wire.add_details()->PackFrom(infeasible);

  const absl::Status status = WithErrorDetails(absl::InvalidArgumentError("bad"), wire.SerializeAsString());
  EXPECT_EQ(status.message(), "bad");
  const ErrorDetails details = ErrorDetailsOf(status);
  EXPECT_EQ(details.reason, "INVALID_REQUEST");
  EXPECT_THAT(details.violations, ElementsAre(FieldViolation{"graph.operators[3].name", ""}));
  EXPECT_EQ(details.violation_count, 120);
  EXPECT_EQ(details.retry_after, absl::Milliseconds(1500));
  ASSERT_TRUE(details.infeasible.has_value());
  EXPECT_EQ(details.infeasible->minimum_devices(), 3);
}

TEST(ErrorDetailsTest, GarbageIsNoDetail) {
  const absl::Status status = WithErrorDetails(absl::InternalError("oops"), "\xff\xff\xff");
  EXPECT_EQ(status, absl::InternalError("oops"));
  const ErrorDetails details = ErrorDetailsOf(status);
  EXPECT_EQ(details.reason, "");
  EXPECT_THAT(details.violations, IsEmpty());
  EXPECT_FALSE(details.infeasible.has_value());
}

TEST(ErrorDetailsTest, ACountThatIsNoNumberIsIgnored) {
  google::rpc::Status wire;
  google::rpc::ErrorInfo info;
  (*info.mutable_metadata())["violations"] = "lots";
  wire.add_details()->PackFrom(info);
  const auto details = ErrorDetailsOf(WithErrorDetails(absl::InvalidArgumentError(""), wire.SerializeAsString()));
  EXPECT_EQ(details.violation_count, 0);
}

TEST(ErrorDetailsTest, ViolationListMakesAReadableStatus) {
  ViolationList violations;
  violations.Add("nodes[1].id", "is missing");
  violations.Add("", "is not a graph");
  const absl::Status status = violations.ToStatus("g.json");
  EXPECT_EQ(status.message(), "g.json is invalid\nnodes[1].id: is missing\nis not a graph");
  EXPECT_THAT(ErrorDetailsOf(status).violations,
              ElementsAre(FieldViolation{"nodes[1].id", "is missing"}, FieldViolation{"", "is not a graph"}));
}

}  // namespace
}  // namespace planwright::client
