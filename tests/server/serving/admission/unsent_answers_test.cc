#include "server/serving/admission/unsent_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "server/serving/admission/retry_delay.h"

namespace planwright::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kKibibyte = 1 << 10;

// An account with a clock of its own, which notes the calls that it ends.
class UnsentAnswersTest : public testing::Test {
 protected:
  UnsentAnswers::GiveUp Note(const std::string& name) {
    return [this, name](const absl::Status& why) {
      ended_.push_back(name);
      why_ = why;
    };
  }

  UnsentAnswers::Hold Take(const std::string& tenant, const std::string& name, int64_t bytes) {
    absl::StatusOr<UnsentAnswers::Hold> hold = account_.Take(tenant, bytes, Note(name));
    EXPECT_TRUE(hold.ok()) << hold.status();
    return hold.ok() ? *std::move(hold) : nullptr;
  }

  std::atomic<int64_t> now_ms_{0};
  std::vector<std::string> ended_;
  absl::Status why_;
  // Its own thread finds nothing overdue: this clock stands still unless a test moves it.
  UnsentAnswers account_{{.max_bytes = 1000 * kKibibyte, .send_timeout = minutes(1), .now = [this] {
                            return UnsentAnswers::Clock::time_point(milliseconds(now_ms_));
                          }}};
};

TEST_F(UnsentAnswersTest, CountsAnswersUntilTheyAreSent) {
  UnsentAnswers::Hold hold = Take("a", "1", 100 * kKibibyte);
  EXPECT_EQ(account_.bytes(), 100 * kKibibyte + UnsentAnswers::kBytesPerAnswer);
  hold.reset();
  EXPECT_EQ(account_.bytes(), 0);
}

TEST_F(UnsentAnswersTest, ALoneAnswerMayHaveAnySize) {
  const UnsentAnswers::Hold hold = Take("a", "1", 5000 * kKibibyte);
  const auto refused = account_.Take("b", 100 * kKibibyte, Note("2"));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(RetryDelayOf(refused.status()).has_value());
  EXPECT_THAT(ended_, IsEmpty());
}

TEST_F(UnsentAnswersTest, SmallAnswersAreNeverRefused) {
  const UnsentAnswers::Hold hold = Take("a", "1", 5000 * kKibibyte);
  const UnsentAnswers::Hold small = Take("b", "2", UnsentAnswers::kSmallAnswer);
  EXPECT_NE(small, nullptr);
}

TEST_F(UnsentAnswersTest, SlowReadersMakeRoomFirstThoseOfTheTenantThatHoldsMost) {
  const UnsentAnswers::Hold other = Take("b", "other", 200 * kKibibyte);
  const UnsentAnswers::Hold first = Take("a", "first", 300 * kKibibyte);
  now_ms_ += 10;
  const UnsentAnswers::Hold second = Take("a", "second", 300 * kKibibyte);
  EXPECT_FALSE(account_.Take("c", 300 * kKibibyte, Note("early")).ok());
  EXPECT_THAT(ended_, IsEmpty());
  now_ms_ += 1 + std::chrono::milliseconds(UnsentAnswers::kGrace).count();
  const UnsentAnswers::Hold late = Take("c", "late", 300 * kKibibyte);
  EXPECT_THAT(ended_, ElementsAre("first"));
  EXPECT_EQ(why_.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(why_.message()), HasSubstr("read answers as they come"));
  EXPECT_EQ(account_.bytes(), 800 * kKibibyte + 3 * UnsentAnswers::kBytesPerAnswer);
}

TEST_F(UnsentAnswersTest, NobodyLosesAnAnswerForOneThatDoesNotFitAnyway) {
  const UnsentAnswers::Hold slow = Take("a", "slow", 300 * kKibibyte);
  now_ms_ += milliseconds(UnsentAnswers::kGrace).count();
  const UnsentAnswers::Hold quick = Take("a", "quick", 600 * kKibibyte);
  EXPECT_FALSE(account_.Take("b", 900 * kKibibyte, Note("large")).ok());
  EXPECT_THAT(ended_, IsEmpty());
}

TEST_F(UnsentAnswersTest, AnAnswerThatIsNotTakenInTimeEndsItsCallOnce) {
  const UnsentAnswers::Hold hold = Take("a", "1", 100);
  now_ms_ += milliseconds(minutes(1)).count() - 1;
  account_.EndOverdue();
  EXPECT_THAT(ended_, IsEmpty());
  now_ms_ += 1;
  account_.EndOverdue();
  account_.EndOverdue();
  EXPECT_THAT(ended_, ElementsAre("1"));
  EXPECT_THAT(std::string(why_.message()), HasSubstr("--send_timeout"));
  EXPECT_EQ(account_.bytes(), 0);
}

TEST_F(UnsentAnswersTest, AReaderThatGoesOnHasItsTimeAnew) {
  const UnsentAnswers::Hold hold = Take("a", "1", 100);
  for (int i = 0; i < 10; ++i) {
    now_ms_ += milliseconds(seconds(59)).count();
    account_.EndOverdue();
    account_.Progress(hold);
  }
  EXPECT_THAT(ended_, IsEmpty());
}

TEST_F(UnsentAnswersTest, LargeAnswersHaveMoreTime) {
  const UnsentAnswers::Hold hold = Take("a", "1", 30 * 1024 * kKibibyte);
  now_ms_ += milliseconds(seconds(89)).count();
  account_.EndOverdue();
  EXPECT_THAT(ended_, IsEmpty());
  now_ms_ += milliseconds(seconds(1)).count();
  account_.EndOverdue();
  EXPECT_THAT(ended_, ElementsAre("1"));
}

TEST(UnsentAnswersThreadTest, EndsOverdueCallsByItself) {
  std::atomic<bool> ended{false};
  UnsentAnswers account({.max_bytes = 1000, .send_timeout = milliseconds(1)});
  const auto hold = account.Take("a", 10, [&ended](const absl::Status& /*why*/) {
    ended = true;
    ended.notify_all();
  });
  ended.wait(false);
  EXPECT_EQ(account.bytes(), 0);
}

}  // namespace
}  // namespace planwright::server
