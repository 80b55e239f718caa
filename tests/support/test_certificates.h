// Authorities, certificates and revocation lists that tests make for themselves, without files or programs.
#ifndef PLANWRIGHT_TESTS_SUPPORT_TEST_CERTIFICATES_H_
#define PLANWRIGHT_TESTS_SUPPORT_TEST_CERTIFICATES_H_

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace planwright {

// A certificate with its key, both in PEM form.
struct TestCertificate {
  std::string certificate;
  std::string key;
  int64_t serial = 0;
};

// Days from now; negative: before now.
struct TestDates {
  int begin = -1;
  int end = 2;
};

// Signs with a key on the curve P-256.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& common_name, TestDates dates = {});
  ~TestAuthority();
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;

  std::string certificate() const;
  TestCertificate Issue(const std::string& common_name, TestDates dates = {});
  // A list in PEM form that is up to date until `next_update` days from now.
  std::string Revoke(const std::vector<int64_t>& serials, int next_update = 2) const;

 private:
  // First: that of the authority itself.
  int64_t last_serial_ = 1;
  EVP_PKEY* key_;
  X509* certificate_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_SUPPORT_TEST_CERTIFICATES_H_
