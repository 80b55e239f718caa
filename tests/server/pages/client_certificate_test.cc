#include "server/pages/client_certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "server/serving/callers/pem.h"

namespace planwright::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using KeyPointer = std::unique_ptr<EVP_PKEY, OpensslFree<&EVP_PKEY_free>>;
using ExtensionPointer = std::unique_ptr<X509_EXTENSION, OpensslFree<&X509_EXTENSION_free>>;

void AddCommonName(X509& certificate, const std::string& name) {
  X509_NAME_add_entry_by_NID(X509_get_subject_name(&certificate), NID_commonName, MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.data()), static_cast<int>(name.size()), -1, 0);
}

// A certificate in DER form that its own key has signed. `alternative`: as openssl writes subjectAltName.
std::string Der(const std::vector<std::string>& common_names, const std::string& alternative) {
  const KeyPointer key(EVP_EC_gen("P-256"));
  const X509Pointer certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 1000);
  for (const std::string& name : common_names) AddCommonName(*certificate, name);
  if (!alternative.empty()) {
    const ExtensionPointer extension(X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, alternative.c_str()));
    X509_add_ext(certificate.get(), extension.get(), -1);
  }
  X509_set_pubkey(certificate.get(), key.get());
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(certificate.get(), &bytes);
  std::string der(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return der;
}

TEST(ClientCertificateTest, NamesAreOfTheirKind) {
  EXPECT_THAT(
      NamesOf(
          Der({"Some Body", "other"}, "URI:spiffe://cluster/a,DNS:A.example,email:a@example.org,IP:10.0.0.1,IP:::1")),
      ElementsAre(CertificateName{NameKind::kUri, "spiffe://cluster/a"}, CertificateName{NameKind::kDns, "a.example"},
                  CertificateName{NameKind::kEmail, "a@example.org"}, CertificateName{NameKind::kIp, "10.0.0.1"},
                  CertificateName{NameKind::kIp, "::1"}, CertificateName{NameKind::kCommonName, "Some Body"}));
}

TEST(ClientCertificateTest, CertificatesWithoutNamesAreOfNobody) {
  EXPECT_THAT(NamesOf(Der({}, "")), IsEmpty());
  EXPECT_THAT(NamesOf("no certificate"), IsEmpty());
  EXPECT_THAT(NamesOf(""), IsEmpty());
}

// "reader.example\0.evil" must not be taken for "reader.example".
TEST(ClientCertificateTest, NamesDoNotEndAtAZeroByte) {
  const std::string name("reader\0evil", 11);
  EXPECT_THAT(NamesOf(Der({name}, "")), IsEmpty());
}

}  // namespace
}  // namespace planwright::server
