#include "server/service/call/call_messages.h"

#include <gmock/gmock.h>
#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>

#include "planwright/v1/planning_service.pb.h"
#include "server/serving/admission/retry_delay.h"

namespace planwright::server {
namespace {

// A server with room for everything.
MemoryAccount& Room() {
  static MemoryAccount room(
      {.max_bytes = int64_t{1} << 30, .max_hold = int64_t{1} << 40, .holders = "requests that are read"});
  return room;
}

absl::Status Read(const grpc::ByteBuffer& bytes, const ModelLimits& limits, google::protobuf::Message& message) {
  MemoryAccount::Hold hold(Room());
  return ReadMessage(bytes, limits, hold, message);
}

TEST(CallMessagesTest, ReadsWhatItWrites) {
  v1::StreamPlanRequest request;
  request.set_graph_reference("zoo:g");
  request.set_include_incumbent_plans(true);
  grpc::ByteBuffer bytes;
  ASSERT_TRUE(WriteMessage(request, bytes).ok());
  v1::StreamPlanRequest read;
  ASSERT_TRUE(Read(bytes, ModelLimits{}, read).ok());
  EXPECT_EQ(read.graph_reference(), "zoo:g");
  EXPECT_TRUE(read.include_incumbent_plans());
  // Reading does not consume the bytes.
  EXPECT_TRUE(Read(bytes, ModelLimits{}, read).ok());
}

TEST(CallMessagesTest, BytesThatAreNoMessageAreInvalidArguments) {
  const grpc::Slice garbage("\xff\xff\xff");
  v1::StreamPlanRequest request;
  const absl::Status status = Read(grpc::ByteBuffer(&garbage, 1), ModelLimits{}, request);
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
  EXPECT_TRUE(Read(GraphOfEmptyOperators(1000), limits, request).ok());
  const absl::Status status = Read(GraphOfEmptyOperators(1'000'000), limits, request);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("--max_operators"));
  EXPECT_TRUE(Read(GraphOfEmptyOperators(1'000'000), ModelLimits{}, request).ok());
}

TEST(CallMessagesTest, MessagesHoldWhatTheyUnpackTo) {
  MemoryAccount room({.max_bytes = 1000, .max_hold = 1 << 20, .holders = "requests that are read"});
  v1::StreamPlanRequest request;
  {
    MemoryAccount::Hold hold(room);
    ASSERT_TRUE(ReadMessage(GraphOfEmptyOperators(100), ModelLimits{}, hold, request).ok());
    EXPECT_GT(room.bytes(), 100 * 100);
    MemoryAccount::Hold other(room);
    const absl::Status refused = ReadMessage(GraphOfEmptyOperators(10), ModelLimits{}, other, request);
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_TRUE(RetryDelayOf(refused).has_value());
    MemoryAccount::Hold large(room);
    EXPECT_FALSE(RetryDelayOf(ReadMessage(GraphOfEmptyOperators(100'000), ModelLimits{}, large, request)).has_value());
  }
  EXPECT_EQ(room.bytes(), 0);
}

TEST(CallMessagesTest, DropsTheBytesOfARequest) {
  const grpc::ByteBuffer bytes = GraphOfEmptyOperators(10);
  DropBytes(bytes);
  EXPECT_EQ(bytes.Length(), 0u);
}

}  // namespace
}  // namespace planwright::server
