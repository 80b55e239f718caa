#include "tests/support/test_certificates.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/pem.h>

#include <stdexcept>

namespace planwright {
namespace {

constexpr int64_t kDaySeconds = int64_t{24} * 60 * 60;

// What `write`, one of OpenSSL's writers of PEM, makes of something.
template <typename Write>
std::string PemOf(Write write) {
  BIO* memory = BIO_new(BIO_s_mem());
  write(memory);
  const char* data = nullptr;
  const int64_t size = BIO_get_mem_data(memory, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(memory);
  return text;
}

X509* MakeCertificate(const std::string& common_name, int64_t serial, TestDates dates, EVP_PKEY* key) {
  X509* certificate = X509_new();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), dates.begin * kDaySeconds);
  X509_gmtime_adj(X509_getm_notAfter(certificate), dates.end * kDaySeconds);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1, 0);
  X509_set_pubkey(certificate, key);
  return certificate;
}

}  // namespace

TestAuthority::TestAuthority(const std::string& common_name, TestDates dates)
    : key_(EVP_EC_gen("P-256")), certificate_(MakeCertificate(common_name, last_serial_, dates, key_)) {
  X509_set_issuer_name(certificate_, X509_get_subject_name(certificate_));
  if (X509_sign(certificate_, key_, EVP_sha256()) == 0) throw std::runtime_error("cannot sign an authority");
}

TestAuthority::~TestAuthority() {
  X509_free(certificate_);
  EVP_PKEY_free(key_);
}

std::string TestAuthority::certificate() const {
  return PemOf([this](BIO* to) { PEM_write_bio_X509(to, certificate_); });
}

TestCertificate TestAuthority::Issue(const std::string& common_name, TestDates dates) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = MakeCertificate(common_name, ++last_serial_, dates, key);
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate_));
  if (X509_sign(certificate, key_, EVP_sha256()) == 0) throw std::runtime_error("cannot sign a certificate");
  TestCertificate issued;
  issued.certificate = PemOf([&](BIO* to) { PEM_write_bio_X509(to, certificate); });
  issued.key = PemOf([&](BIO* to) { PEM_write_bio_PrivateKey(to, key, nullptr, nullptr, 0, nullptr, nullptr); });
  issued.serial = last_serial_;
  X509_free(certificate);
  EVP_PKEY_free(key);
  return issued;
}

std::string TestAuthority::Revoke(const std::vector<int64_t>& serials, int next_update) const {
  X509_CRL* list = X509_CRL_new();
  ASN1_TIME* time = X509_gmtime_adj(nullptr, -10 * kDaySeconds);
  X509_CRL_set_version(list, X509_CRL_VERSION_2);
  X509_CRL_set_issuer_name(list, X509_get_subject_name(certificate_));
  X509_CRL_set1_lastUpdate(list, time);
  for (const int64_t serial : serials) {
    X509_REVOKED* entry = X509_REVOKED_new();
    ASN1_INTEGER* number = ASN1_INTEGER_new();
    ASN1_INTEGER_set(number, serial);
    X509_REVOKED_set_serialNumber(entry, number);
    X509_REVOKED_set_revocationDate(entry, time);
    // Takes the entry over.
    X509_CRL_add0_revoked(list, entry);
    ASN1_INTEGER_free(number);
  }
  X509_gmtime_adj(time, next_update * kDaySeconds);
  X509_CRL_set1_nextUpdate(list, time);
  X509_CRL_sort(list);
  if (X509_CRL_sign(list, key_, EVP_sha256()) == 0) throw std::runtime_error("cannot sign a revocation list");
  std::string text = PemOf([&](BIO* to) { PEM_write_bio_X509_CRL(to, list); });
  ASN1_TIME_free(time);
  X509_CRL_free(list);
  return text;
}

}  // namespace planwright
