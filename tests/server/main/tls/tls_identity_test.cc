#include "server/main/tls/tls_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "server/serving/callers/pem.h"
#include "tests/support/test_certificates.h"

namespace planwright::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class TlsIdentityTest : public testing::Test {
 protected:
  TlsIdentityTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "planwright_identity_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    Own(server_);
    Write("ca", authority_.certificate());
  }
  ~TlsIdentityTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  void Own(const TestCertificate& certificate) const {
    Write("cert", certificate.certificate);
    Write("key", certificate.key);
  }
  TlsFiles Files() const {
    return {.certificate_chain = folder_ / "cert",
            .private_key = folder_ / "key",
            .client_ca = folder_ / "ca",
            .client_crl = ""};
  }
  std::string WhyNot() const {
    const auto identity = ReadTlsIdentity(Files());
    return identity.ok() ? "" : std::string(identity.status().message());
  }

  std::filesystem::path folder_;
  TestAuthority authority_{"authority"};
  TestAuthority other_{"other"};
  TestCertificate server_ = authority_.Issue("server", {.begin = -1, .end = 7});
};

TEST_F(TlsIdentityTest, HasEveryCertificateOfEachFileAndTellsWhatExpiresFirst) {
  const TestAuthority expired("expired", {.begin = -9, .end = -3});
  Write("ca", "ours\n" + authority_.certificate() + expired.certificate() + other_.certificate());
  const auto identity = ReadTlsIdentity(Files());
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(identity->client_ca, authority_.certificate() + expired.certificate() + other_.certificate());
  ASSERT_EQ(identity->expiries.size(), 2U);
  EXPECT_EQ(identity->expiries[0].what, "certificate CN=server");
  EXPECT_GT(identity->expiries[0].time, std::chrono::system_clock::now() + std::chrono::hours(6 * 24));
  EXPECT_EQ(identity->expiries[1].file, Files().client_ca);
  EXPECT_EQ(identity->expiries[1].what, "certificate CN=expired");
  EXPECT_LT(identity->expiries[1].time, std::chrono::system_clock::now());
}

TEST_F(TlsIdentityTest, AFileOfAuthoritiesThatIsBrokenBehindItsFirstIsRefused) {
  Write("ca", other_.certificate() + "-----BEGIN CERTIFICATE-----\nnonsense\n" + authority_.certificate());
  EXPECT_THAT(WhyNot(), AllOf(HasSubstr("--tls_client_ca_file"), HasSubstr(Files().client_ca + ": line ")));
}

TEST_F(TlsIdentityTest, AServerCertificateThatIsNotValidNowIsRefused) {
  Own(authority_.Issue("server", {.begin = -3, .end = -2}));
  EXPECT_THAT(WhyNot(), AllOf(HasSubstr("--tls_cert_file"), HasSubstr("CN=server"), HasSubstr("has expired")));
  Own(authority_.Issue("server", {.begin = 2, .end = 3}));
  EXPECT_THAT(WhyNot(), HasSubstr("is not valid before"));
}

TEST_F(TlsIdentityTest, SoIsAnyCertificateBehindIt) {
  const TestAuthority expired("between", {.begin = -3, .end = -2});
  Write("cert", server_.certificate + expired.certificate());
  EXPECT_THAT(WhyNot(), HasSubstr("certificate 2 (CN=between) has expired"));
}

TEST_F(TlsIdentityTest, AuthoritiesThatHaveAllExpiredAreRefused) {
  const TestAuthority expired("old", {.begin = -3, .end = -2});
  Write("ca", expired.certificate());
  EXPECT_THAT(WhyNot(), HasSubstr("--tls_client_ca_file: no authority is valid now"));
}

TEST_F(TlsIdentityTest, ChecksTheKey) {
  Write("key", authority_.Issue("another").key);
  EXPECT_THAT(WhyNot(), HasSubstr("is not the key"));
  Write("key", "nonsense");
  EXPECT_THAT(WhyNot(), HasSubstr("--tls_key_file: must hold a private key"));
}

TEST_F(TlsIdentityTest, RevocationListsNeedTheirAuthority) {
  TlsFiles files = Files();
  files.client_crl = Write("crl", authority_.Revoke({5}, /*next_update=*/1));
  const auto identity = ReadTlsIdentity(files);
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_NE(identity->revocations, nullptr);
  EXPECT_EQ(identity->expiries.back().what, "revocation list");
  Write("crl", other_.Revoke({5}));
  EXPECT_THAT(std::string(ReadTlsIdentity(files).status().message()), HasSubstr("--tls_client_crl_file"));
  files.client_ca = "";
  EXPECT_THAT(std::string(ReadTlsIdentity(files).status().message()), HasSubstr("--tls_client_ca_file: must be set"));
}

}  // namespace
}  // namespace planwright::server
