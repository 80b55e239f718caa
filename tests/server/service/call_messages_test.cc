#include "server/service/call_messages.h"

#include <gmock/gmock.h>
#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

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
  ASSERT_TRUE(ReadMessage(bytes, read).ok());
  EXPECT_EQ(read.graph_reference(), "zoo:g");
  EXPECT_TRUE(read.include_incumbent_plans());
  // Reading does not consume the bytes.
  EXPECT_TRUE(ReadMessage(bytes, read).ok());
}

TEST(CallMessagesTest, BytesThatAreNoMessageAreInvalidArguments) {
  const grpc::Slice garbage("\xff\xff\xff");
  v1::StreamPlanRequest request;
  const absl::Status status = ReadMessage(grpc::ByteBuffer(&garbage, 1), request);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("planwright.v1.StreamPlanRequest"));
}

TEST(CallMessagesTest, ExceptionsBecomeStatuses) {
  EXPECT_TRUE(WithoutExceptions([] { return absl::OkStatus(); }).ok());
  EXPECT_EQ(WithoutExceptions([] { return absl::NotFoundError("x"); }), absl::NotFoundError("x"));
  EXPECT_EQ(WithoutExceptions([]() -> absl::Status { throw std::bad_alloc(); }).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(WithoutExceptions([]() -> absl::Status { throw std::runtime_error("why"); }), absl::InternalError("why"));
}

}  // namespace
}  // namespace planwright::server
