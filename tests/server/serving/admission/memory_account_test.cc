#include "server/serving/admission/memory_account.h"

#include <gtest/gtest.h>

#include "server/serving/admission/retry_delay.h"

namespace planwright::server {
namespace {

TEST(MemoryAccountTest, CountsWhatIsHeld) {
  MemoryAccount account({.max_bytes = 100, .max_hold = 1000, .holders = "tests"});
  {
    MemoryAccount::Hold hold(account);
    ASSERT_TRUE(hold.Add(30).ok());
    ASSERT_TRUE(hold.Add(20).ok());
    EXPECT_EQ(account.bytes(), 50);
    hold.Clear();
    EXPECT_EQ(account.bytes(), 0);
    ASSERT_TRUE(hold.Add(10).ok());
  }
  EXPECT_EQ(account.bytes(), 0);
}

TEST(MemoryAccountTest, AHoldThatIsAloneIsNeverToldToComeBack) {
  MemoryAccount account({.max_bytes = 100, .max_hold = 1000, .holders = "tests"});
  MemoryAccount::Hold hold(account);
  ASSERT_TRUE(hold.Add(500).ok());
  ASSERT_TRUE(hold.Add(500).ok());
  const absl::Status refused = hold.Add(1);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(RetryDelayOf(refused).has_value());
  EXPECT_EQ(account.bytes(), 1000);
}

TEST(MemoryAccountTest, ALargeHoldLeavesTheShareToTheOthers) {
  MemoryAccount account({.max_bytes = 100, .max_hold = 1000, .holders = "tests"});
  MemoryAccount::Hold large(account);
  ASSERT_TRUE(large.Add(900).ok());
  MemoryAccount::Hold first(account);
  MemoryAccount::Hold second(account);
  EXPECT_TRUE(first.Add(60).ok());
  const absl::Status refused = second.Add(60);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(RetryDelayOf(refused).has_value());
  EXPECT_EQ(account.bytes(), 960);
  EXPECT_TRUE(second.Add(40).ok());
  MemoryAccount::Hold other_large(account);
  EXPECT_FALSE(other_large.Add(900).ok());
  large.Clear();
  EXPECT_TRUE(other_large.Add(900).ok());
}

}  // namespace
}  // namespace planwright::server
