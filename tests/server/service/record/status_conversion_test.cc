#include "server/service/record/status_conversion.h"

#include <gtest/gtest.h>

#include "core/base/violations.h"
#include "google/rpc/status.pb.h"

namespace planwright::server {
namespace {

TEST(StatusConversionTest, KeepsCodeAndMessageInBothPlaces) {
  const grpc::Status status = ToGrpcStatus(absl::NotFoundError("no such model"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "no such model");
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), static_cast<int>(grpc::StatusCode::NOT_FOUND));
  EXPECT_EQ(details.message(), status.error_message());
}

TEST(StatusConversionTest, OkIsOk) { EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok()); }

TEST(StatusConversionTest, ErrorsFitIntoATrailer) {
  Violations violations;
  for (int i = 0; i < 100; ++i) violations.Add(std::string(500, 'p'), std::string(500, 'r'));
  const grpc::Status status = ToGrpcStatus(violations.ToStatus());
  // Three bytes for each of the message, should gRPC have to escape it.
  EXPECT_LE(status.error_details().size() + 3 * status.error_message().size(), kMaxTrailerBytes);
}

TEST(CodeLabelTest, IsSpelledAsOtherGrpcMetricsDo) {
  EXPECT_EQ(CodeLabel(absl::StatusCode::kOk), "OK");
  EXPECT_EQ(CodeLabel(absl::StatusCode::kInvalidArgument), "InvalidArgument");
  EXPECT_EQ(CodeLabel(absl::StatusCode::kUnauthenticated), "Unauthenticated");
  EXPECT_EQ(CodeLabel(static_cast<absl::StatusCode>(99)), "Unknown");
}

}  // namespace
}  // namespace planwright::server
