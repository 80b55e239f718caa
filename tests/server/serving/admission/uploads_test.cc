#include "server/serving/admission/uploads.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/serving/admission/retry_delay.h"

namespace planwright::server {
namespace {

// A stream, and what it is told.
struct Sender {
  Sender(Uploads& uploads, const char* tenant)
      : stream(uploads, tenant, [this](const absl::Status& why) { told = why; }) {}

  absl::Status told;
  Uploads::Stream stream;
};

std::vector<std::unique_ptr<Sender>> OpenAll(Uploads& uploads, const char* tenant, int count) {
  std::vector<std::unique_ptr<Sender>> senders;
  for (int i = 0; i < count; ++i) {
    senders.push_back(std::make_unique<Sender>(uploads, tenant));
    EXPECT_TRUE(senders.back()->stream.Open().ok());
  }
  return senders;
}

TEST(UploadsTest, BoundsTheStreamsThatAreOpen) {
  Uploads uploads(2, 100);
  std::optional<Sender> first(std::in_place, uploads, "a");
  Sender second(uploads, "a");
  Sender third(uploads, "a");
  EXPECT_TRUE(first->stream.Open().ok());
  EXPECT_TRUE(second.stream.Open().ok());
  const absl::Status refused = third.stream.Open();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(RetryDelayOf(refused).has_value());
  first.reset();
  EXPECT_TRUE(third.stream.Open().ok());
}

TEST(UploadsTest, BoundsWhatTheyHoldTogether) {
  Uploads uploads(10, 100);
  std::optional<Sender> first(std::in_place, uploads, "a");
  Sender second(uploads, "a");
  ASSERT_TRUE(first->stream.Open().ok());
  ASSERT_TRUE(second.stream.Open().ok());
  EXPECT_TRUE(first->stream.Hold(60).ok());
  EXPECT_TRUE(second.stream.Hold(40).ok());
  const absl::Status refused = second.stream.Hold(1);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(RetryDelayOf(refused).has_value());
  first.reset();
  // Alone, it may hold what it needs.
  EXPECT_TRUE(second.stream.Hold(1000).ok());
}

TEST(UploadsTest, TheNewestOfWhoHasMoreThanItsShareGiveWay) {
  Uploads uploads(4, 100);
  const auto of_a = OpenAll(uploads, "a", 4);
  const auto of_b = OpenAll(uploads, "b", 2);
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    EXPECT_EQ(of_a[i]->told.code(), i < 2 ? absl::StatusCode::kOk : absl::StatusCode::kResourceExhausted);
  }
  EXPECT_TRUE(RetryDelayOf(of_a[3]->told).has_value());
  // Now both have their share.
  Sender more(uploads, "b");
  EXPECT_FALSE(more.stream.Open().ok());
  Sender again(uploads, "a");
  EXPECT_FALSE(again.stream.Open().ok());
}

TEST(UploadsTest, BytesAreSharedAsStreamsAre) {
  Uploads uploads(10, 100);
  const auto of_a = OpenAll(uploads, "a", 2);
  ASSERT_TRUE(of_a[0]->stream.Hold(40).ok());
  ASSERT_TRUE(of_a[1]->stream.Hold(60).ok());
  const auto of_b = OpenAll(uploads, "b", 1);
  EXPECT_FALSE(of_b[0]->stream.Hold(51).ok());
  EXPECT_TRUE(of_a[1]->told.ok());
  EXPECT_TRUE(of_b[0]->stream.Hold(50).ok());
  EXPECT_TRUE(of_a[0]->told.ok());
  EXPECT_FALSE(of_a[1]->told.ok());
}

}  // namespace
}  // namespace planwright::server
