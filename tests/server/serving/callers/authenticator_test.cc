#include "server/serving/callers/authenticator.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/test_certificates.h"

namespace planwright::server {
namespace {

const CertificateName kScheduler{NameKind::kUri, "spiffe://scheduler"};

std::shared_ptr<const AuthConfig> Config() {
  auto config = std::make_shared<AuthConfig>();
  config->tokens = {{Sha256Of("one"), {.tenant = "a", .subject = "first", .role = Role::kPlanner}},
                    {Sha256Of("two"), {.tenant = "b", .subject = "second", .role = Role::kReader}}};
  config->certificates = {
      {{NameKind::kUri, "spiffe://scheduler"}, {.tenant = "c", .subject = "spiffe://scheduler", .role = Role::kAdmin}}};
  return config;
}

absl::StatusOr<Caller> Identify(const Authenticator& authenticator, std::optional<std::string_view> authorization,
                                const std::vector<CertificateName>& names = {}) {
  return authenticator.Identify(
      {.authorization = authorization, .certificate_names = names, .certificates = {}, .stated_tenant = "stated"});
}

TEST(AuthenticatorTest, WithoutConfigurationTheCallerIsWhoItSays) {
  const Authenticator open;
  const absl::StatusOr<Caller> caller = Identify(open, std::nullopt);
  ASSERT_TRUE(caller.ok());
  EXPECT_EQ(caller->tenant, "stated");
  EXPECT_EQ(caller->role, Role::kAdmin);
  EXPECT_EQ(open.Identify({})->tenant, kDefaultTenant);
}

TEST(AuthenticatorTest, ATokenSaysWhoCalls) {
  const Authenticator authenticator({.config = Config(), .revocations = nullptr});
  EXPECT_EQ(Identify(authenticator, "Bearer one")->tenant, "a");
  EXPECT_EQ(Identify(authenticator, "bearer two")->role, Role::kReader);
  for (const char* wrong : {"Bearer three", "Bearer on", "Bearer one ", "Bearer ", "one", ""}) {
    EXPECT_EQ(Identify(authenticator, wrong).status().code(), absl::StatusCode::kUnauthenticated) << wrong;
  }
}

TEST(AuthenticatorTest, ACertificateSaysWhoCallsUnlessThereIsAToken) {
  const Authenticator authenticator({.config = Config(), .revocations = nullptr});
  EXPECT_EQ(Identify(authenticator, std::nullopt, {{NameKind::kDns, "x"}, kScheduler})->tenant, "c");
  EXPECT_EQ(Identify(authenticator, "Bearer one", {kScheduler})->tenant, "a");
  EXPECT_FALSE(Identify(authenticator, "Bearer wrong", {kScheduler}).ok());
  EXPECT_FALSE(Identify(authenticator, std::nullopt, {{NameKind::kDns, "x"}}).ok());
  EXPECT_FALSE(Identify(authenticator, std::nullopt).ok());
}

// A common name is what its owner has made of it.
TEST(AuthenticatorTest, ANameOfAnotherKindIsAnotherName) {
  const Authenticator authenticator({.config = Config(), .revocations = nullptr});
  EXPECT_FALSE(Identify(authenticator, std::nullopt, {{NameKind::kCommonName, "spiffe://scheduler"}}).ok());
  EXPECT_FALSE(Identify(authenticator, std::nullopt, {{NameKind::kDns, "spiffe://scheduler"}}).ok());
}

TEST(AuthenticatorTest, ARevokedCertificateIsNobodysAlsoWithAToken) {
  TestAuthority authority("authority");
  const TestCertificate good = authority.Issue("good");
  const TestCertificate bad = authority.Issue("bad");
  const auto revocations = Revocations::Read(authority.Revoke({bad.serial}), authority.certificate());
  ASSERT_TRUE(revocations.ok());
  const auto identify = [&](const Authenticator& authenticator, std::vector<std::string> certificates) {
    return authenticator.Identify({.authorization = "Bearer one",
                                   .certificate_names = {},
                                   .certificates = certificates,
                                   .stated_tenant = std::nullopt});
  };
  const Authenticator authenticator({.config = Config(), .revocations = *revocations});
  EXPECT_TRUE(identify(authenticator, {good.certificate}).ok());
  EXPECT_EQ(identify(authenticator, {bad.certificate}).status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_FALSE(identify(authenticator, {good.certificate, bad.certificate}).ok());
  const Authenticator open({.config = nullptr, .revocations = *revocations});
  EXPECT_FALSE(identify(open, {bad.certificate}).ok());
}

TEST(AuthenticatorTest, ReplacingTheConfigurationRevokesTokens) {
  Authenticator authenticator({.config = Config(), .revocations = nullptr});
  auto fewer = std::make_shared<AuthConfig>(*Config());
  fewer->tokens.pop_back();
  authenticator.Replace({.config = fewer, .revocations = nullptr});
  EXPECT_TRUE(Identify(authenticator, "Bearer one").ok());
  EXPECT_FALSE(Identify(authenticator, "Bearer two").ok());
}

}  // namespace
}  // namespace planwright::server
