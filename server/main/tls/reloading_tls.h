// TLS whose certificate can be changed while the server runs.
#ifndef PLANWRIGHT_SERVER_MAIN_TLS_RELOADING_TLS_H_
#define PLANWRIGHT_SERVER_MAIN_TLS_RELOADING_TLS_H_

#include <grpc/grpc_security.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <mutex>
#include <string>

#include "server/main/tls/tls_identity.h"

namespace planwright::server {

// Server credentials that ask for the current identity at each handshake: connections that are open keep the one that
// they began with. gRPC's own C++ credentials either cannot change (SslServerCredentials) or watch files and drop a
// working identity for a malformed one (FileWatcherCertificateProvider); its C API asks a callback. TLS 1.2 and later.
// Thread-safe.
class ReloadingTlsCredentials final : public grpc::ServerCredentials {
 public:
  // With a client_ca, clients must show a certificate that it has signed, then and after every Replace.
  explicit ReloadingTlsCredentials(TlsIdentity identity);
  ~ReloadingTlsCredentials() override;

  // Holds for later handshakes. REQUIRES: what ReadTlsIdentity returns, with a client_ca if and only if the first one
  // had one.
  void Replace(TlsIdentity identity);

  // Does nothing: callers are identified call by call.
  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>& /*processor*/) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override;
  // gRPC does not say whether it has taken an identity: each is offered more than once, so that one that it could not
  // take at a bad moment, such as one without memory, is not the last word.
  static constexpr int kOffers = 3;
  static grpc_ssl_certificate_config_reload_status Fetch(void* self, grpc_ssl_server_certificate_config** config);

  std::mutex mutex_;
  // Guarded by mutex_.
  TlsIdentity identity_;
  // Handshakes that the identity is still to be offered to.
  int offers_ = kOffers;
  grpc_server_credentials* credentials_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_TLS_RELOADING_TLS_H_
