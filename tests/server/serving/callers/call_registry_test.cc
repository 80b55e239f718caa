#include "server/serving/callers/call_registry.h"

#include <gtest/gtest.h>

namespace planwright::server {
namespace {

LiveCall::Origin CallOf(const std::string& tenant) {
  return {.tenant = tenant, .caller = "ci", .method = "CreatePlan", .request_id = "r", .peer = "p"};
}

TEST(CallRegistryTest, ListsTheCallsThatHaveNotEndedTheOldestFirst) {
  CallRegistry registry;
  const auto first = registry.Add(CallOf("a"), {});
  auto second = registry.Add(CallOf("b"), {});
  const auto third = registry.Add(CallOf("a"), {});
  EXPECT_EQ(registry.List("").size(), 3U);
  second.reset();
  const auto calls = registry.List("");
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].call, first->call());
  EXPECT_EQ(calls[1].call, third->call());
  EXPECT_NE(calls[0].id, calls[1].id);
  EXPECT_EQ(registry.List("a").size(), 2U);
  EXPECT_TRUE(registry.List("b").empty());
}

TEST(CallRegistryTest, CountsWhatRunsAndWaitsByTenant) {
  CallRegistry registry;
  const auto first = registry.Add(CallOf("a"), {});
  const auto second = registry.Add(CallOf("a"), {});
  first->call()->SetRunning();
  EXPECT_EQ(registry.Counts().at("a").running, 1);
  EXPECT_EQ(registry.Counts().at("a").waiting, 1);
}

TEST(CallRegistryTest, ACancelledCallIsAskedToStopAndNoOther) {
  CallRegistry registry;
  const std::stop_source stop;
  const std::stop_source other_stop;
  const auto call = registry.Add(CallOf("a"), stop);
  const auto other = registry.Add(CallOf("a"), other_stop);
  const std::string id = registry.List("")[0].id;
  ASSERT_TRUE(registry.Cancel(id).has_value());
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_TRUE(call->call()->is_ended());
  EXPECT_FALSE(other_stop.stop_requested());
  EXPECT_FALSE(registry.Cancel("1").has_value());
  EXPECT_FALSE(registry.Cancel(id + "0").has_value());
}

TEST(CallRegistryTest, ACallMayEndWhileItIsCancelled) {
  CallRegistry registry;
  const std::stop_source stop;
  auto call = registry.Add(CallOf("a"), stop);
  const std::stop_callback on_stop(stop.get_token(), [&call] { call.reset(); });
  ASSERT_TRUE(registry.Cancel(registry.List("")[0].id).has_value());
  EXPECT_TRUE(registry.List("").empty());
}

// The same number of another server is another call.
TEST(CallRegistryTest, IdsOfTwoServersDiffer) {
  CallRegistry one;
  CallRegistry two;
  const auto call = one.Add(CallOf("a"), {});
  const auto same = two.Add(CallOf("a"), {});
  EXPECT_FALSE(two.Cancel(one.List("")[0].id).has_value());
}

}  // namespace
}  // namespace planwright::server
