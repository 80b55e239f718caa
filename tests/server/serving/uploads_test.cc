#include "server/serving/uploads.h"

#include <gtest/gtest.h>

#include <optional>

#include "server/serving/retry_delay.h"

namespace planwright::server {
namespace {

TEST(UploadsTest, BoundsTheStreamsThatAreOpen) {
  Uploads uploads(2, 100);
  std::optional<Uploads::Stream> first(std::in_place, uploads);
  Uploads::Stream second(uploads);
  Uploads::Stream third(uploads);
  EXPECT_TRUE(first->Open().ok());
  EXPECT_TRUE(second.Open().ok());
  const absl::Status refused = third.Open();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(RetryDelayOf(refused).has_value());
  first.reset();
  EXPECT_TRUE(third.Open().ok());
}

TEST(UploadsTest, BoundsWhatTheyHoldTogether) {
  Uploads uploads(10, 100);
  std::optional<Uploads::Stream> first(std::in_place, uploads);
  Uploads::Stream second(uploads);
  EXPECT_TRUE(first->Hold(60).ok());
  EXPECT_TRUE(second.Hold(40).ok());
  const absl::Status refused = second.Hold(1);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(RetryDelayOf(refused).has_value());
  first.reset();
  // Alone, it may hold what it needs.
  EXPECT_TRUE(second.Hold(1000).ok());
}

}  // namespace
}  // namespace planwright::server
