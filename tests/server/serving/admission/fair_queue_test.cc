#include "server/serving/admission/fair_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/serving/admission/retry_delay.h"

namespace planwright::server {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

FairQueue::TimePoint At(int ms) { return FairQueue::TimePoint(milliseconds(1'000'000 + ms)); }

// A job that is known by its bytes.
QueuedJob Numbered(const std::string& tenant, int number, Priority priority = Priority::kInteractive) {
  return {.run = nullptr, .bytes = number, .tenant = tenant, .priority = priority};
}

// The tenants of the next jobs, each of which runs for its time alone.
std::vector<std::string> Serve(FairQueue& queue, int jobs, const std::map<std::string, int>& times_ms, int start = 0) {
  std::vector<std::string> order;
  int now = start;
  for (int i = 0; i < jobs; ++i) {
    const std::optional<QueuedJob> job = queue.Pop(At(now));
    if (!job.has_value()) break;
    order.emplace_back(job->tenant);
    const int end = now + times_ms.at(job->tenant);
    queue.Finish(job->tenant, At(now), At(end));
    now = end;
  }
  return order;
}

TEST(FairQueueTest, JobsOfOneTenantLeaveInTheirOrder) {
  FairQueue queue;
  for (int i = 1; i <= 3; ++i) queue.Push(Numbered("a", i), At(0));
  EXPECT_EQ(queue.waiting(), 3U);
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(queue.Pop(At(0))->bytes, i);
  EXPECT_FALSE(queue.Pop(At(0)).has_value());
}

TEST(FairQueueTest, TenantsTakeTurnsHoweverManyTheyBring) {
  FairQueue queue;
  for (int i = 0; i < 100; ++i) queue.Push(Numbered("many", i), At(0));
  for (int i = 0; i < 3; ++i) queue.Push(Numbered("one", i), At(0));
  EXPECT_THAT(Serve(queue, 6, {{"many", 10}, {"one", 10}}), ElementsAre("many", "one", "many", "one", "many", "one"));
}

TEST(FairQueueTest, SharesAreOfTimeNotOfJobs) {
  FairQueue queue;
  for (int i = 0; i < 10; ++i) queue.Push(Numbered("long", i), At(0));
  for (int i = 0; i < 10; ++i) queue.Push(Numbered("short", i), At(0));
  EXPECT_THAT(Serve(queue, 6, {{"long", 40}, {"short", 10}}),
              ElementsAre("long", "short", "short", "short", "short", "long"));
}

TEST(FairQueueTest, AHeavierTenantHasMore) {
  FairQueue queue;
  queue.SetTenants({.named = {{"heavy", {.weight = 3}}}, .others = {}});
  for (int i = 0; i < 20; ++i) queue.Push(Numbered("heavy", i), At(0));
  for (int i = 0; i < 20; ++i) queue.Push(Numbered("light", i), At(0));
  const std::vector<std::string> order = Serve(queue, 12, {{"heavy", 10}, {"light", 10}});
  EXPECT_EQ(std::count(order.begin(), order.end(), "heavy"), 9);
}

TEST(FairQueueTest, RestEarnsNothing) {
  FairQueue queue;
  for (int i = 0; i < 20; ++i) queue.Push(Numbered("busy", i), At(0));
  Serve(queue, 10, {{"busy", 100}});
  for (int i = 0; i < 20; ++i) queue.Push(Numbered("rested", i), At(1000));
  const std::vector<std::string> order = Serve(queue, 4, {{"busy", 100}, {"rested", 100}}, 1000);
  EXPECT_EQ(std::count(order.begin(), order.end(), "busy"), 2);
}

TEST(FairQueueTest, WhatRunsCounts) {
  FairQueue queue;
  for (int i = 0; i < 4; ++i) queue.Push(Numbered("a", i), At(0));
  for (int i = 0; i < 4; ++i) queue.Push(Numbered("b", i), At(0));
  EXPECT_EQ(queue.Pop(At(0))->tenant, "a");
  // A search of a has been running for a second: b has two turns.
  EXPECT_EQ(queue.Pop(At(1000))->tenant, "b");
  EXPECT_EQ(queue.Pop(At(1001))->tenant, "b");
}

TEST(FairQueueTest, NoTenantRunsMoreThanItsLimit) {
  FairQueue queue;
  queue.SetTenants({.named = {{"a", {.max_running = 1}}}, .others = {}});
  queue.Push(Numbered("a", 1), At(0));
  queue.Push(Numbered("a", 2), At(0));
  EXPECT_TRUE(queue.Pop(At(0)).has_value());
  EXPECT_FALSE(queue.Pop(At(1)).has_value());
  queue.Finish("a", At(0), At(2));
  EXPECT_TRUE(queue.Pop(At(2)).has_value());
  queue.Push(Numbered("a", 3), At(2));
  EXPECT_TRUE(queue.Pop(At(3), TenantShares::Who::kAll).has_value());
}

TEST(FairQueueTest, BackgroundJobsHaveEveryFourthTurn) {
  FairQueue queue;
  for (int i = 1; i <= 6; ++i) queue.Push(Numbered("a", i), At(0));
  for (int i = 11; i <= 12; ++i) queue.Push(Numbered("a", i, Priority::kBackground), At(0));
  std::vector<int64_t> order;
  while (const std::optional<QueuedJob> job = queue.Pop(At(0))) order.push_back(job->bytes);
  EXPECT_THAT(order, ElementsAre(1, 2, 3, 11, 4, 5, 6, 12));
}

TEST(FairQueueTest, ATenantThatWaitsTooMuchIsRefused) {
  FairQueue queue;
  queue.SetTenants({.named = {{"a", {.max_running = 1, .max_waiting = 1}}}, .others = {}});
  ASSERT_TRUE(queue.Admit("a", At(0)).ok());
  queue.Push(Numbered("a", 1), At(0));
  EXPECT_EQ(queue.Admit("a", At(0)).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(queue.Admit("b", At(0)).ok());
  queue.Pop(At(0));
  EXPECT_TRUE(queue.Admit("a", At(0)).ok());
}

TEST(FairQueueTest, ATenantThatSendsTooOftenIsToldWhenToComeBack) {
  FairQueue queue;
  queue.SetTenants({.named = {{"a", {.requests_per_second = 2, .burst = 3}}}, .others = {}});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.Admit("a", At(0)).ok());
  const absl::Status refused = queue.Admit("a", At(0));
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(RetryDelayOf(refused), milliseconds(500));
  EXPECT_FALSE(queue.Admit("a", At(400)).ok());
  EXPECT_TRUE(queue.Admit("a", At(500)).ok());
  // A long rest earns no more than the burst.
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.Admit("a", At(100'000)).ok());
  EXPECT_FALSE(queue.Admit("a", At(100'000)).ok());
}

TEST(FairQueueTest, TakesOutWhatIsWanted) {
  FairQueue queue;
  for (int i = 1; i <= 4; ++i) queue.Push(Numbered(i % 2 == 0 ? "a" : "b", i), At(0));
  const std::vector<QueuedJob> taken = queue.TakeIf([](const QueuedJob& job) { return job.bytes >= 3; });
  EXPECT_EQ(taken.size(), 2U);
  EXPECT_EQ(queue.waiting(), 2U);
}

TEST(FairQueueTest, KnowsHowManyAreAhead) {
  FairQueue queue;
  for (int i = 0; i < 10; ++i) queue.Push(Numbered("many", i), At(0));
  EXPECT_EQ(queue.Ahead("many"), 10U);
  EXPECT_EQ(queue.Ahead("new"), 1U);
}

TEST(FairQueueTest, TakesTheNewestOfTheTenantWithTheLargestExcess) {
  FairQueue queue;
  for (int i = 1; i <= 2; ++i) queue.Push(Numbered("a", i), At(0));
  for (int i = 11; i <= 13; ++i) queue.Push(Numbered("b", i), At(0));
  queue.Push(Numbered("b", 20, Priority::kBackground), At(0));
  queue.Push(Numbered("b", 14), At(0));
  const auto excess = [](const std::string& tenant) { return tenant == "a" ? 1.0 : 1.5; };
  std::vector<int64_t> order;
  while (const std::optional<QueuedJob> job = queue.TakeNewest(excess)) order.push_back(job->bytes);
  EXPECT_THAT(order, ElementsAre(20, 14, 13, 12, 11));
  EXPECT_EQ(queue.waiting(), 2U);
}

TEST(FairQueueTest, IdleTenantsGoBeforeThoseOfWhichSomethingRuns) {
  FairQueue queue;
  for (int i = 0; i < 2; ++i) queue.Push(Numbered("a", i), At(0));
  ASSERT_TRUE(queue.Pop(At(0)).has_value());
  EXPECT_FALSE(queue.Pop(At(0), TenantShares::Who::kIdle).has_value());
  queue.Push(Numbered("b", 0), At(0));
  EXPECT_EQ(queue.Pop(At(0), TenantShares::Who::kIdle)->tenant, "b");
}

TEST(FairQueueTest, ATokenThatWasNotUsedIsGivenBack) {
  FairQueue queue;
  queue.SetTenants({.named = {}, .others = {.requests_per_second = 0.001}});
  ASSERT_TRUE(queue.Admit("a", At(0)).ok());
  queue.GiveBack("a");
  EXPECT_TRUE(queue.Admit("a", At(0)).ok());
  EXPECT_FALSE(queue.Admit("a", At(0)).ok());
}

// Callers may call themselves what they like: names are not kept for ever, but whoever used up its rate is remembered.
TEST(FairQueueTest, ManyNamesDoNotBuyAHigherRate) {
  FairQueue queue;
  queue.SetTenants({.named = {{"a", {.requests_per_second = 0.001}}}, .others = {}});
  ASSERT_TRUE(queue.Admit("a", At(0)).ok());
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(queue.Admit("name-" + std::to_string(i), At(0)).ok());
  EXPECT_FALSE(queue.Admit("a", At(0)).ok());
}

}  // namespace
}  // namespace planwright::server
