#include "server/serving/admission/retry_delay.h"

#include <gtest/gtest.h>

namespace planwright::server {
namespace {

TEST(RetryDelayTest, TravelsInsideTheStatus) {
  const absl::Status status = WithRetryDelay(absl::UnavailableError("later"), std::chrono::milliseconds(250));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(RetryDelayOf(status), std::chrono::milliseconds(250));
}

TEST(RetryDelayTest, OtherStatusesHaveNone) {
  EXPECT_EQ(RetryDelayOf(absl::UnavailableError("later")), std::nullopt);
  EXPECT_EQ(RetryDelayOf(absl::OkStatus()), std::nullopt);
}

}  // namespace
}  // namespace planwright::server
