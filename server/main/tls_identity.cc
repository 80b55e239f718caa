#include "server/main/tls_identity.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

#include "core/base/violations.h"
#include "server/main/text_file.h"

namespace planwright::server {
namespace {

template <typename Object, void (*kFree)(Object*)>
struct Freer {
  void operator()(Object* object) const { kFree(object); }
};
using Certificate = std::unique_ptr<X509, Freer<X509, &X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY, &EVP_PKEY_free>>;
using Bio = std::unique_ptr<BIO, Freer<BIO, &BIO_free_all>>;

Bio Reader(const std::string& text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

// Never asks for a password.
int NoPassword(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*data*/) { return 0; }

// The first certificate; nullptr: there is none.
Certificate ReadCertificate(const std::string& text) {
  return Certificate(PEM_read_bio_X509(Reader(text).get(), nullptr, &NoPassword, nullptr));
}

Key ReadKey(const std::string& text) {
  return Key(PEM_read_bio_PrivateKey(Reader(text).get(), nullptr, &NoPassword, nullptr));
}

// The text of the file of a flag; empty, with a violation, where it cannot be read.
std::string ReadFileOf(const char* flag, const std::string& file, Violations& violations) {
  const absl::StatusOr<std::string> text = ReadTextFile(file);
  if (!text.ok()) violations.Add(flag, std::string(text.status().message()));
  return text.value_or("");
}

}  // namespace

absl::StatusOr<TlsIdentity> ReadTlsIdentity(const TlsFiles& files) {
  Violations violations;
  if (files.certificate_chain.empty()) violations.Add("--tls_cert_file", "must be set where TLS is used");
  if (files.private_key.empty()) violations.Add("--tls_key_file", "must be set where TLS is used");
  if (!violations.empty()) return violations.ToStatus();
  TlsIdentity identity;
  identity.certificate_chain = ReadFileOf("--tls_cert_file", files.certificate_chain, violations);
  identity.private_key = ReadFileOf("--tls_key_file", files.private_key, violations);
  if (!files.client_ca.empty()) identity.client_ca = ReadFileOf("--tls_client_ca_file", files.client_ca, violations);
  if (!violations.empty()) return violations.ToStatus();

  const Certificate certificate = ReadCertificate(identity.certificate_chain);
  const Key key = ReadKey(identity.private_key);
  if (certificate == nullptr) violations.Add("--tls_cert_file", "must hold a certificate in PEM form");
  if (key == nullptr) violations.Add("--tls_key_file", "must hold a private key in PEM form, without a password");
  if (certificate != nullptr && key != nullptr && X509_check_private_key(certificate.get(), key.get()) != 1) {
    violations.Add("--tls_key_file", "is not the key of the certificate in --tls_cert_file");
  }
  if (!files.client_ca.empty() && ReadCertificate(identity.client_ca) == nullptr) {
    violations.Add("--tls_client_ca_file", "must hold certificates in PEM form");
  }
  if (!violations.empty()) return violations.ToStatus();
  return identity;
}

}  // namespace planwright::server
