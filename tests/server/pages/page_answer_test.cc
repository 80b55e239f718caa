#include "server/pages/page_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "server/serving/admission/retry_delay.h"

namespace planwright::server {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(PageAnswerTest, RefusalsShowTheirReasonAsText) {
  const PageAnswer answer = Refusal(404, "no <script>alert(\"1\")</script> & co");
  EXPECT_EQ(answer.code, 404);
  EXPECT_THAT(answer.html, HasSubstr("<h1>404 Not Found</h1>"));
  EXPECT_THAT(answer.html, HasSubstr("no &lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; co"));
  EXPECT_THAT(answer.html, Not(HasSubstr("<script")));
  EXPECT_THAT(answer.policy, HasSubstr("default-src 'none'"));
}

TEST(PageAnswerTest, StatusesHaveTheirCodes) {
  EXPECT_EQ(Refusal(absl::InvalidArgumentError("a")).code, 400);
  EXPECT_EQ(Refusal(absl::UnauthenticatedError("a")).code, 403);
  EXPECT_EQ(Refusal(absl::PermissionDeniedError("a")).code, 403);
  EXPECT_EQ(Refusal(absl::NotFoundError("a")).code, 404);
  EXPECT_EQ(Refusal(absl::DataLossError("a")).code, 500);
}

TEST(PageAnswerTest, WhatMayWorkLaterSaysWhen) {
  const PageAnswer full =
      Refusal(WithRetryDelay(absl::ResourceExhaustedError("full"), std::chrono::milliseconds(1500)));
  EXPECT_EQ(full.code, 503);
  EXPECT_EQ(full.retry_after, std::chrono::seconds(2));
  EXPECT_EQ(Refusal(absl::UnavailableError("a")).retry_after, std::chrono::seconds(1));
  EXPECT_FALSE(Refusal(absl::NotFoundError("a")).retry_after.has_value());
}

}  // namespace
}  // namespace planwright::server
