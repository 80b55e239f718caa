#include "server/serving/authenticator.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace planwright::server {
namespace {

std::shared_ptr<const AuthConfig> Config() {
  auto config = std::make_shared<AuthConfig>();
  config->tokens = {{Sha256Of("one"), {.tenant = "a", .subject = "first", .role = Role::kPlanner}},
                    {Sha256Of("two"), {.tenant = "b", .subject = "second", .role = Role::kReader}}};
  config->certificates = {{"scheduler", {.tenant = "c", .subject = "scheduler", .role = Role::kAdmin}}};
  return config;
}

absl::StatusOr<Caller> Identify(const Authenticator& authenticator, std::optional<std::string_view> authorization,
                                const std::vector<std::string>& names = {}) {
  return authenticator.Identify(
      {.authorization = authorization, .certificate_names = names, .stated_tenant = "stated"});
}

TEST(AuthenticatorTest, WithoutConfigurationTheCallerIsWhoItSays) {
  const Authenticator open(nullptr);
  const absl::StatusOr<Caller> caller = Identify(open, std::nullopt);
  ASSERT_TRUE(caller.ok());
  EXPECT_EQ(caller->tenant, "stated");
  EXPECT_EQ(caller->role, Role::kAdmin);
  EXPECT_EQ(open.Identify({})->tenant, kDefaultTenant);
}

TEST(AuthenticatorTest, ATokenSaysWhoCalls) {
  const Authenticator authenticator(Config());
  EXPECT_EQ(Identify(authenticator, "Bearer one")->tenant, "a");
  EXPECT_EQ(Identify(authenticator, "bearer two")->role, Role::kReader);
  for (const char* wrong : {"Bearer three", "Bearer on", "Bearer one ", "Bearer ", "one", ""}) {
    EXPECT_EQ(Identify(authenticator, wrong).status().code(), absl::StatusCode::kUnauthenticated) << wrong;
  }
}

TEST(AuthenticatorTest, ACertificateSaysWhoCallsUnlessThereIsAToken) {
  const Authenticator authenticator(Config());
  EXPECT_EQ(Identify(authenticator, std::nullopt, {"x", "scheduler"})->tenant, "c");
  EXPECT_EQ(Identify(authenticator, "Bearer one", {"scheduler"})->tenant, "a");
  EXPECT_FALSE(Identify(authenticator, "Bearer wrong", {"scheduler"}).ok());
  EXPECT_FALSE(Identify(authenticator, std::nullopt, {"x"}).ok());
  EXPECT_FALSE(Identify(authenticator, std::nullopt).ok());
}

TEST(AuthenticatorTest, ReplacingTheConfigurationRevokesTokens) {
  Authenticator authenticator(Config());
  auto fewer = std::make_shared<AuthConfig>(*Config());
  fewer->tokens.pop_back();
  authenticator.Replace(fewer);
  EXPECT_TRUE(Identify(authenticator, "Bearer one").ok());
  EXPECT_FALSE(Identify(authenticator, "Bearer two").ok());
}

}  // namespace
}  // namespace planwright::server
