#include "client/library/tls_check.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace planwright::client {
namespace {

using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Bio = std::unique_ptr<BIO, decltype(&BIO_free_all)>;

// Never asks for a password.
int NoPassword(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*data*/) { return 0; }

// What `read`, one of OpenSSL's readers of PEM, finds first; nullptr: nothing.
template <typename Reader>
auto* ReadPem(Reader* read, const std::string& text) {
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free_all);
  return read(bio.get(), nullptr, &NoPassword, nullptr);
}

Certificate ReadCertificate(const std::string& text) { return {ReadPem(&PEM_read_bio_X509, text), &X509_free}; }

}  // namespace

absl::Status CheckTls(const ServerConnection& connection) {
  if (!connection.ca_certificates.empty() && ReadCertificate(connection.ca_certificates) == nullptr) {
    return absl::InvalidArgumentError("--tls_ca_file: must hold certificates in PEM form");
  }
  if (connection.certificate_chain.empty() && connection.private_key.empty()) return absl::OkStatus();
  if (connection.private_key.empty()) return absl::InvalidArgumentError("--tls_cert_file: needs --tls_key_file too");
  if (connection.certificate_chain.empty()) {
    return absl::InvalidArgumentError("--tls_key_file: needs --tls_cert_file too");
  }
  const Certificate certificate = ReadCertificate(connection.certificate_chain);
  const Key key(ReadPem(&PEM_read_bio_PrivateKey, connection.private_key), &EVP_PKEY_free);
  if (certificate == nullptr) return absl::InvalidArgumentError("--tls_cert_file: must hold a certificate in PEM form");
  if (key == nullptr) {
    return absl::InvalidArgumentError("--tls_key_file: must hold a private key in PEM form, without a password");
  }
  if (X509_check_private_key(certificate.get(), key.get()) == 1) return absl::OkStatus();
  return absl::InvalidArgumentError("--tls_key_file: is not the key of the certificate in --tls_cert_file");
}

}  // namespace planwright::client
