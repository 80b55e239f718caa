#include "server/serving/callers/revocations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/test_certificates.h"

namespace planwright::server {
namespace {

using testing::HasSubstr;

class RevocationsTest : public testing::Test {
 protected:
  TestAuthority authority_{"authority"};
  TestAuthority other_{"other"};
  TestCertificate good_ = authority_.Issue("good");
  TestCertificate bad_ = authority_.Issue("bad");
};

TEST_F(RevocationsTest, KnowWhoIsOnAList) {
  const auto revocations = Revocations::Read(other_.Revoke({}) + authority_.Revoke({bad_.serial}),
                                             authority_.certificate() + other_.certificate());
  ASSERT_TRUE(revocations.ok()) << revocations.status();
  // The second answers are those that were kept.
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE((*revocations)->IsRevoked(good_.certificate));
    EXPECT_TRUE((*revocations)->IsRevoked(bad_.certificate));
  }
  EXPECT_TRUE((*revocations)->IsRevoked(good_.certificate + bad_.certificate));
}

TEST_F(RevocationsTest, ANumberCountsForItsAuthorityOnly) {
  const auto revocations =
      Revocations::Read(other_.Revoke({good_.serial}), authority_.certificate() + other_.certificate());
  ASSERT_TRUE(revocations.ok()) << revocations.status();
  EXPECT_FALSE((*revocations)->IsRevoked(good_.certificate));
}

TEST_F(RevocationsTest, WhatCannotBeReadIsNotTrusted) {
  const auto revocations = Revocations::Read(authority_.Revoke({}), authority_.certificate());
  EXPECT_TRUE((*revocations)->IsRevoked("nonsense"));
}

TEST_F(RevocationsTest, AListThatIsOutOfDateStillCounts) {
  const auto revocations =
      Revocations::Read(authority_.Revoke({bad_.serial}, /*next_update=*/-1), authority_.certificate());
  ASSERT_TRUE(revocations.ok()) << revocations.status();
  EXPECT_TRUE((*revocations)->IsRevoked(bad_.certificate));
  EXPECT_LT((*revocations)->next_update(), std::chrono::system_clock::now());
}

TEST_F(RevocationsTest, ListsOfStrangersAndAuthoritiesOnThemAreMistakes) {
  const TestAuthority namesake("authority");
  EXPECT_THAT(std::string(Revocations::Read(namesake.Revoke({}), authority_.certificate()).status().message()),
              HasSubstr("revocation list 1 is signed by none"));
  constexpr long kOwnSerial = 1;
  EXPECT_THAT(
      std::string(Revocations::Read(authority_.Revoke({kOwnSerial}), authority_.certificate()).status().message()),
      HasSubstr("CN=authority"));
}

}  // namespace
}  // namespace planwright::server
