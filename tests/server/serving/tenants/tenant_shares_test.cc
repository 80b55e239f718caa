#include "server/serving/tenants/tenant_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace planwright::server {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;

TenantShares::TimePoint AtSecond(int second) { return TenantShares::TimePoint(seconds(second)); }

// As if the tenant had run something for so long.
void Use(TenantShares& shares, const std::string& tenant, int for_seconds) {
  shares.Start(tenant, AtSecond(0));
  shares.Finish(tenant, AtSecond(0), AtSecond(for_seconds));
}

TEST(TenantSharesTest, AllThatWaitAreToldOfTogetherAsOneAfterTheOther) {
  TenantShares together;
  TenantShares apart;
  for (TenantShares* shares : {&together, &apart}) {
    Use(*shares, "a", 5);
    Use(*shares, "b", 3);
    Use(*shares, "c", 9);
    shares->SetWaiting("b", true, AtSecond(20));
    shares->SetWaiting("gone", true, AtSecond(20));
  }
  together.SetAllWaiting({"a", "b", "c", "new"}, AtSecond(30));
  apart.SetWaiting("gone", false, AtSecond(30));
  for (const char* tenant : {"a", "b", "c", "new"}) apart.SetWaiting(tenant, true, AtSecond(30));
  EXPECT_THAT(together.InTurn(AtSecond(30)), ElementsAre("b", "new", "a", "c"));
  EXPECT_EQ(together.InTurn(AtSecond(30)), apart.InTurn(AtSecond(30)));
}

TEST(TenantSharesTest, RestEarnsNothing) {
  TenantShares shares;
  Use(shares, "a", 5);
  Use(shares, "b", 7);
  // Nobody waits: the first that comes is where it was, the others not before it.
  shares.SetAllWaiting({"a", "b", "new"}, AtSecond(10));
  Use(shares, "a", 1);
  EXPECT_THAT(shares.InTurn(AtSecond(10)), ElementsAre("new", "a", "b"));
}

TEST(TenantSharesTest, ForgetsThoseThatRestWhereThereAreTooMany) {
  TenantShares shares;
  std::vector<std::string> many;
  many.reserve(2 * TenantShares::kMaxTenants);
  for (std::size_t i = 0; i < 2 * TenantShares::kMaxTenants; ++i) many.push_back(absl::StrCat("t", i));
  Use(shares, "t0", 100);
  shares.SetAllWaiting(many, AtSecond(200));
  EXPECT_EQ(shares.InTurn(AtSecond(200)).size(), many.size());
  shares.SetAllWaiting({"other"}, AtSecond(200));
  EXPECT_THAT(shares.InTurn(AtSecond(200)), ElementsAre("other"));
  // As new ones.
  shares.SetAllWaiting({"other", "t0", "t1"}, AtSecond(200));
  EXPECT_THAT(shares.InTurn(AtSecond(200)), ElementsAre("other", "t0", "t1"));
}

}  // namespace
}  // namespace planwright::server
