#include "server/service/record/rpc_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace planwright::server {
namespace {

using testing::HasSubstr;

class RpcRecordTest : public testing::Test {
 protected:
  std::string log_text_;
  Logger log_{LogFormat::kText, [this](const std::string& line) { log_text_ += line; }};
  Metrics metrics_{"1"};
};

TEST_F(RpcRecordTest, CountsAndLogsOneCall) {
  {
    RpcRecord record({"s", "CreatePlan"}, "id-1", "ipv4:1.2.3.4:5", metrics_, log_);
    EXPECT_THAT(metrics_.Text(), HasSubstr("grpc_server_started_total"));
    record.SetStatus(absl::InvalidArgumentError("first line\nsecond line"));
  }
  EXPECT_THAT(metrics_.Text(), HasSubstr(R"(grpc_code="InvalidArgument")"));
  EXPECT_THAT(log_text_, HasSubstr("rpc request_id=id-1 method=CreatePlan code=InvalidArgument"));
  EXPECT_THAT(log_text_, HasSubstr("error=\"first line\""));
}

TEST_F(RpcRecordTest, ACallThatNobodyAnsweredIsAnError) {
  { const RpcRecord record({"s", "CreatePlan"}, "id-1", "peer", metrics_, log_); }
  EXPECT_THAT(log_text_, HasSubstr("ERROR rpc"));
  EXPECT_THAT(metrics_.Text(), HasSubstr(R"(grpc_code="Internal")"));
}

}  // namespace
}  // namespace planwright::server
