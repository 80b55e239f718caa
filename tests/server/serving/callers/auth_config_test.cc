#include "server/serving/callers/auth_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/violations.h"

namespace planwright::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// SHA-256 of "secret".
constexpr char kDigest[] = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

std::vector<std::string> PathsOf(const absl::Status& status) {
  std::vector<std::string> paths;
  for (const Violation& violation : ViolationsOf(status)) paths.push_back(violation.path);
  return paths;
}

TEST(AuthConfigTest, ReadsEverything) {
  const auto config = ParseAuthConfig(R"json({
    "tokens": [{"name": "ci", "sha256": ")json" +
                                      std::string(kDigest) + R"json(", "tenant": "team-a", "role": "planner"}],
    "certificates": [{"uri": "spiffe://cluster/scheduler", "role": "admin"}],
    "tenants": [{"name": "team-a", "weight": 2, "max_running": 3, "max_waiting": 4, "requests_per_second": 5,
                 "burst": 6}],
    "other_tenants": {"max_waiting": 8}
  })json");
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_EQ(config->tokens.size(), 1U);
  EXPECT_EQ(config->tokens[0].digest, Sha256Of("secret"));
  EXPECT_EQ(config->tokens[0].caller.subject, "ci");
  EXPECT_EQ(config->tokens[0].caller.tenant, "team-a");
  EXPECT_EQ(config->tokens[0].caller.role, Role::kPlanner);
  ASSERT_EQ(config->certificates.size(), 1U);
  EXPECT_EQ(config->certificates[0].name, (CertificateName{NameKind::kUri, "spiffe://cluster/scheduler"}));
  EXPECT_EQ(config->certificates[0].caller.subject, "spiffe://cluster/scheduler");
  EXPECT_EQ(config->certificates[0].caller.tenant, kDefaultTenant);
  EXPECT_EQ(config->certificates[0].caller.role, Role::kAdmin);
  const TenantLimits expected{.weight = 2, .max_running = 3, .max_waiting = 4, .requests_per_second = 5, .burst = 6};
  EXPECT_EQ(config->tenants.Of("team-a"), expected);
  EXPECT_EQ(config->tenants.Of("team-b").max_waiting, 8);
}

TEST(AuthConfigTest, SaysEverythingThatIsWrong) {
  const absl::Status status = ParseAuthConfig(R"json({
    "tokens": [{"name": "", "sha256": "12", "role": "god"}, 7],
    "certificates": [{"dns": "a", "role": "admin", "tenant": "a b"}],
    "tenants": [{"name": "t", "weight": 0, "max_running": -1}],
    "other_tenants": {"name": "all", "burst": 0},
    "user": []
  })json")
                                  .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(PathsOf(status),
              testing::UnorderedElementsAre("user", "tokens[0].name", "tokens[0].role", "tokens[0].sha256", "tokens[1]",
                                            "tokens[1].name", "tokens[1].role", "tokens[1].sha256",
                                            "certificates[0].tenant", "tenants[0].weight", "tenants[0].max_running",
                                            "other_tenants.name", "other_tenants.burst"));
}

std::string Certificate(const std::string& name) {
  return "{\"certificates\": [{" + name + ", \"role\": \"reader\"}]}";
}

TEST(AuthConfigTest, ACertificateIsKnownByOneNameOfAKind) {
  const auto name = [](const std::string& text) { return ParseAuthConfig(Certificate(text))->certificates[0].name; };
  EXPECT_EQ(name(R"("dns": "Host.Example")"), (CertificateName{NameKind::kDns, "host.example"}));
  EXPECT_EQ(name(R"("ip": "10.0.0.1")"), (CertificateName{NameKind::kIp, "10.0.0.1"}));
  EXPECT_EQ(name(R"("email": "me@example")"), (CertificateName{NameKind::kEmail, "me@example"}));
  EXPECT_EQ(name(R"("common_name": "spiffe://a/b")"), (CertificateName{NameKind::kCommonName, "spiffe://a/b"}));
  EXPECT_THAT(PathsOf(ParseAuthConfig(Certificate(R"("dns": "a", "uri": "b:c")")).status()),
              ElementsAre("certificates[0]"));
  EXPECT_THAT(PathsOf(ParseAuthConfig(Certificate(R"("tenant": "a")")).status()), ElementsAre("certificates[0]"));
  EXPECT_THAT(PathsOf(ParseAuthConfig(Certificate(R"("ip": "10.0.0")")).status()), ElementsAre("certificates[0].ip"));
  EXPECT_THAT(PathsOf(ParseAuthConfig(Certificate(R"("uri": 7)")).status()), ElementsAre("certificates[0].uri"));
}

TEST(AuthConfigTest, ASubjectIsTheAlternativeNameThatItLooksLikeAndNeverACommonName) {
  const auto name = [](const std::string& text) { return ParseAuthConfig(Certificate(text))->certificates[0].name; };
  EXPECT_EQ(name(R"("subject": "spiffe://a/b")"), (CertificateName{NameKind::kUri, "spiffe://a/b"}));
  EXPECT_EQ(name(R"("subject": "scheduler")"), (CertificateName{NameKind::kDns, "scheduler"}));
  EXPECT_THAT(PathsOf(ParseAuthConfig(Certificate(R"("subject": "Two words")")).status()),
              ElementsAre("certificates[0].subject"));
}

TEST(AuthConfigTest, TheSameTwiceIsAMistake) {
  const std::string token = std::string(R"json({"name": "a", "role": "admin", "sha256": ")json") + kDigest + "\"}";
  EXPECT_THAT(PathsOf(ParseAuthConfig("{\"tokens\": [" + token + "," + token + "]}").status()),
              ElementsAre("tokens[1].sha256"));
}

TEST(AuthConfigTest, AnEmptyTokenIsAMistake) {
  constexpr char kEmpty[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  const absl::Status status =
      ParseAuthConfig(std::string(R"json({"tokens": [{"name": "a", "role": "admin", "sha256": ")json") + kEmpty +
                      "\"}]}")
          .status();
  EXPECT_THAT(PathsOf(status), ElementsAre("tokens[0].sha256"));
}

TEST(AuthConfigTest, AFileThatLetsNobodyInIsAMistake) {
  EXPECT_THAT(PathsOf(ParseAuthConfig("{}").status()), ElementsAre("tokens"));
}

TEST(AuthConfigTest, MessagesHoldNoDigests) {
  const absl::Status status =
      ParseAuthConfig(R"json({"tokens": [{"name": "a", "role": "x", "sha256": "deadbeef"}]})json").status();
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("deadbeef")));
  EXPECT_THAT(std::string(ParseAuthConfig("{secret").status().message()), Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace planwright::server
