#include "server/serving/tenants/tenant_overrides.h"

#include <gtest/gtest.h>

#include <optional>

#include "absl/strings/str_cat.h"

namespace planwright::server {
namespace {

LimitChange Of(std::optional<int> LimitChange::*field, int value) {
  LimitChange change;
  change.*field = value;
  return change;
}

LimitChange WeightOf(double weight) {
  LimitChange change;
  change.weight = weight;
  return change;
}

class TenantOverridesTest : public testing::Test {
 protected:
  TenantTable applied_;
  TenantOverrides overrides_{[this](const TenantTable& table) { applied_ = table; }};
};

TEST_F(TenantOverridesTest, ChangesWhatIsSetAndKeepsTheRest) {
  overrides_.Configure({.named = {{"a", {.weight = 2, .max_running = 4}}}, .others = {}});
  EXPECT_EQ(applied_.named.at("a").max_running, 4);
  ASSERT_TRUE(overrides_.Set("a", Of(&LimitChange::max_running, 1)).ok());
  ASSERT_TRUE(overrides_.Set("a", Of(&LimitChange::max_waiting, 3)).ok());
  EXPECT_EQ(applied_.named.at("a").weight, 2);
  EXPECT_EQ(applied_.named.at("a").max_running, 1);
  EXPECT_EQ(applied_.named.at("a").max_waiting, 3);
}

TEST_F(TenantOverridesTest, WhatIsSetOutlivesANewConfiguration) {
  ASSERT_TRUE(overrides_.Set("a", Of(&LimitChange::max_running, 1)).ok());
  overrides_.Configure({.named = {{"a", {.weight = 3, .max_running = 9}}}, .others = {}});
  EXPECT_EQ(applied_.named.at("a").max_running, 1);
  EXPECT_EQ(applied_.named.at("a").weight, 3);
  EXPECT_TRUE(overrides_.Reset("a"));
  EXPECT_EQ(applied_.named.at("a").max_running, 9);
  EXPECT_FALSE(overrides_.Reset("a"));
  EXPECT_TRUE(overrides_.state().changes.empty());
}

TEST_F(TenantOverridesTest, WhoIsNotNamedKeepsTheLimitsOfTheOthers) {
  overrides_.Configure({.named = {}, .others = {.max_running = 5, .max_waiting = 6}});
  ASSERT_TRUE(overrides_.Set("a", Of(&LimitChange::max_running, 1)).ok());
  EXPECT_EQ(applied_.Of("a").max_running, 1);
  EXPECT_EQ(applied_.Of("a").max_waiting, 6);
  EXPECT_EQ(applied_.Of("b").max_running, 5);
}

TEST_F(TenantOverridesTest, OfSoManyTenantsAndNoMore) {
  for (std::size_t i = 0; i < TenantOverrides::kMost; ++i) {
    ASSERT_TRUE(overrides_.Set(absl::StrCat("t", i), WeightOf(2)).ok());
  }
  EXPECT_EQ(overrides_.Set("one more", WeightOf(2)).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(overrides_.Set("t0", WeightOf(3)).ok());
  EXPECT_FALSE(applied_.named.contains("one more"));
}

}  // namespace
}  // namespace planwright::server
