#include "server/main/tls/tls_rehearsal.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/serving/callers/pem.h"

namespace planwright::server {
namespace {

using KeyPointer = std::unique_ptr<EVP_PKEY, OpensslFree<&EVP_PKEY_free>>;
using ContextPointer = std::unique_ptr<SSL_CTX, OpensslFree<&SSL_CTX_free>>;
using SslPointer = std::unique_ptr<SSL, OpensslFree<&SSL_free>>;

// What gRPC lets TLS 1.2 choose from; those of TLS 1.3 are OpenSSL's own.
constexpr char kCiphers[] =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-RSA-AES256-GCM-SHA384";

absl::Status Refused(const char* step) {
  return absl::InvalidArgumentError(absl::StrCat("OpenSSL refuses to ", step, " it: ", TakeOpensslError(),
                                                 "; take a certificate and key that TLS 1.2 or 1.3 can use"));
}

absl::Status LoadChain(const std::string& pem, SSL_CTX* context) {
  ASSIGN_OR_RETURN(std::vector<X509Pointer> chain, ReadCertificates(pem));
  if (SSL_CTX_use_certificate(context, chain.front().get()) != 1) return Refused("show");
  for (std::size_t i = 1; i < chain.size(); ++i) {
    // Takes it over.
    if (SSL_CTX_add_extra_chain_cert(context, chain[i].get()) != 1) return Refused("show");
    static_cast<void>(chain[i].release());
  }
  return absl::OkStatus();
}

absl::Status LoadKey(const std::string& pem, SSL_CTX* context) {
  const BioPointer reader(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const KeyPointer key(PEM_read_bio_PrivateKey(reader.get(), nullptr, nullptr, nullptr));
  if (key == nullptr || SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return Refused("sign with");
  }
  return absl::OkStatus();
}

absl::Status LoadAuthorities(const std::string& pem, SSL_CTX* context) {
  ASSIGN_OR_RETURN(const std::vector<X509Pointer> authorities, ReadCertificates(pem));
  for (const X509Pointer& authority : authorities) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get()) != 1 ||
        SSL_CTX_add_client_CA(context, authority.get()) != 1) {
      return Refused("trust");
    }
  }
  return absl::OkStatus();
}

// Both sides in turn, each reading what the other has written.
absl::Status ShakeHands(SSL_CTX* server_context) {
  const ContextPointer client_context(SSL_CTX_new(TLS_client_method()));
  const SslPointer server(SSL_new(server_context));
  const SslPointer client(SSL_new(client_context.get()));
  BIO* server_end = nullptr;
  BIO* client_end = nullptr;
  // 0: as much as OpenSSL finds right.
  if (BIO_new_bio_pair(&server_end, 0, &client_end, 0) != 1) return Refused("use");
  // Takes the ends over.
  SSL_set_bio(server.get(), server_end, server_end);
  SSL_set_bio(client.get(), client_end, client_end);
  SSL_set_accept_state(server.get());
  SSL_set_connect_state(client.get());
  // Each step moves up to 17 kB; a chain of a hundred certificates is done by then.
  constexpr int kMaxSteps = 100;
  for (int i = 0; i < kMaxSteps; ++i) {
    bool is_done = true;
    for (SSL* side : {client.get(), server.get()}) {
      const int result = SSL_do_handshake(side);
      if (result == 1) continue;
      const int error = SSL_get_error(side, result);
      if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return Refused("shake hands with");
      is_done = false;
    }
    if (is_done) return absl::OkStatus();
  }
  return Refused("shake hands with");
}

}  // namespace

absl::Status RehearseHandshake(const std::string& certificate_chain, const std::string& private_key,
                               const std::string& client_ca) {
  const ContextPointer context(SSL_CTX_new(TLS_server_method()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  if (SSL_CTX_set_cipher_list(context.get(), kCiphers) != 1) return Refused("use");
  RETURN_IF_ERROR(LoadChain(certificate_chain, context.get()));
  RETURN_IF_ERROR(LoadKey(private_key, context.get()));
  if (!client_ca.empty()) RETURN_IF_ERROR(LoadAuthorities(client_ca, context.get()));
  return ShakeHands(context.get());
}

}  // namespace planwright::server
