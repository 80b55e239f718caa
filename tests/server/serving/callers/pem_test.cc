#include "server/serving/callers/pem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/test_certificates.h"

namespace planwright::server {
namespace {

using testing::HasSubstr;

constexpr char kBroken[] = "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n";

std::string WhyNot(const std::string& file) {
  const auto certificates = ReadCertificates(file);
  return certificates.ok() ? "" : std::string(certificates.status().message());
}

class PemTest : public testing::Test {
 protected:
  TestAuthority one_{"one"};
  TestAuthority two_{"two"};
};

TEST_F(PemTest, ReadsEveryCertificateAndTakesWordsBetweenThemForComments) {
  const std::string file = "Those that we trust\n" + one_.certificate() + "and\r\n\n" + two_.certificate() + "no more";
  const auto certificates = ReadCertificates(file);
  ASSERT_TRUE(certificates.ok()) << certificates.status();
  ASSERT_EQ(certificates->size(), 2U);
  EXPECT_EQ(SubjectOf(*certificates->at(1)), "CN=two");
  EXPECT_EQ(ToPem(*certificates), one_.certificate() + two_.certificate());
}

// OpenSSL's reader and gRPC's stop there and take what they have.
TEST_F(PemTest, WhatCannotBeReadIsAnErrorWhereverItStands) {
  const std::string first = one_.certificate();
  const auto line = std::count(first.begin(), first.end(), '\n') + 1;
  const std::string at = "line " + std::to_string(line) + ": ";
  EXPECT_THAT(WhyNot(one_.certificate() + kBroken + two_.certificate()),
              HasSubstr(at + "certificate 2 cannot be read"));
  EXPECT_THAT(WhyNot(one_.certificate() + "-----BEGIN CERTIFICATE-----\nMIIB\n" + two_.certificate()),
              HasSubstr(at + "the block \"CERTIFICATE\" has no end"));
  EXPECT_THAT(WhyNot(one_.certificate() + "-----END CERTIFICATE-----\n"), HasSubstr(at + "ends a block"));
  EXPECT_THAT(WhyNot(one_.certificate() + "-----BEGIN CERTIFICATE----\n" + two_.certificate()), HasSubstr(at));
  EXPECT_THAT(WhyNot(one_.certificate() + std::string("\x01\n") + two_.certificate()), HasSubstr("no text"));
  EXPECT_THAT(WhyNot(one_.certificate() + std::string("a\0b\n", 4) + two_.certificate()), HasSubstr("no text"));
  EXPECT_THAT(WhyNot(one_.certificate() + "-----BEGIN CERTIFICAT-----\n-----END CERTIFICAT-----\n"),
              HasSubstr("\"CERTIFICAT\", which does not belong here"));
  EXPECT_THAT(WhyNot(""), HasSubstr("must hold a certificate"));
}

TEST_F(PemTest, KeysBesideCertificatesAreSomebodyElsesBusiness) {
  const TestCertificate issued = one_.Issue("a");
  EXPECT_EQ(ReadCertificates(issued.key + issued.certificate)->size(), 1U);
}

TEST_F(PemTest, ReadsRevocationLists) {
  EXPECT_EQ(ReadRevocationLists(one_.Revoke({1}) + two_.Revoke({}))->size(), 2U);
  EXPECT_FALSE(ReadRevocationLists(one_.certificate()).ok());
}

}  // namespace
}  // namespace planwright::server
