#include "server/service/call_messages.h"

#include <gmock/gmock.h>
#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>

#include "planwright/v1/planning_service.pb.h"

namespace planwright::server {
namespace {

TEST(CallMessagesTest, ReadsWhatItWrites) {
  v1::StreamPlanRequest request;
  request.set_graph_reference("zoo:g");
  request.set_include_incumbent_plans(true);
  grpc::ByteBuffer bytes;
  ASSERT_TRUE(WriteMessage(request, bytes).ok());
  v1::StreamPlanRequest read;
  ASSERT_TRUE(ReadMessage(bytes, ModelLimits{}, read).ok());
  EXPECT_EQ(read.graph_reference(), "zoo:g");
  EXPECT_TRUE(read.include_incumbent_plans());
  // Reading does not consume the bytes.
  EXPECT_TRUE(ReadMessage(bytes, ModelLimits{}, read).ok());
}

TEST(CallMessagesTest, BytesThatAreNoMessageAreInvalidArguments) {
  const grpc::Slice garbage("\xff\xff\xff");
  v1::StreamPlanRequest request;
  const absl::Status status = ReadMessage(grpc::ByteBuffer(&garbage, 1), ModelLimits{}, request);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("planwright.v1.StreamPlanRequest"));
}

// A field 1 (graph) of `count` empty operators, two bytes each.
grpc::ByteBuffer GraphOfEmptyOperators(int count) {
  v1::StreamPlanRequest request;
  for (int i = 0; i < count; ++i) request.mutable_graph()->add_operators();
  grpc::ByteBuffer bytes;
  EXPECT_TRUE(WriteMessage(request, bytes).ok());
  return bytes;
}

TEST(CallMessagesTest, MessagesThatUnpackToMoreThanTheLimitsAllowAreRefusedUnread) {
  ModelLimits limits;
  limits.max_operators = 1000;
  limits.max_tensors = 0;
  v1::StreamPlanRequest request;
  EXPECT_TRUE(ReadMessage(GraphOfEmptyOperators(1000), limits, request).ok());
  const absl::Status status = ReadMessage(GraphOfEmptyOperators(1'000'000), limits, request);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("--max_operators"));
  EXPECT_TRUE(ReadMessage(GraphOfEmptyOperators(1'000'000), ModelLimits{}, request).ok());
}

}  // namespace
}  // namespace planwright::server
