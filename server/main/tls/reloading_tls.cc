#include "server/main/tls/reloading_tls.h"

#include <grpc/grpc.h>

#include <utility>

namespace planwright::server {

ReloadingTlsCredentials::ReloadingTlsCredentials(TlsIdentity identity) : identity_(std::move(identity)) {
  const grpc_ssl_client_certificate_request_type request =
      identity_.client_ca.empty() ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                  : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
  // Takes the options over.
  credentials_ = grpc_ssl_server_credentials_create_with_options(
      grpc_ssl_server_credentials_create_options_using_config_fetcher(request, &Fetch, this));
}

ReloadingTlsCredentials::~ReloadingTlsCredentials() { grpc_server_credentials_release(credentials_); }

void ReloadingTlsCredentials::Replace(TlsIdentity identity) {
  const std::lock_guard lock(mutex_);
  identity_ = std::move(identity);
  offers_ = kOffers;
}

int ReloadingTlsCredentials::AddPortToServer(const std::string& address, grpc_server* server) {
  return grpc_server_add_http2_port(server, address.c_str(), credentials_);
}

grpc_ssl_certificate_config_reload_status ReloadingTlsCredentials::Fetch(void* self,
                                                                         grpc_ssl_server_certificate_config** config) {
  auto& credentials = *static_cast<ReloadingTlsCredentials*>(self);
  const std::lock_guard lock(credentials.mutex_);
  if (credentials.offers_ == 0) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
  const TlsIdentity& identity = credentials.identity_;
  const grpc_ssl_pem_key_cert_pair pair{identity.private_key.c_str(), identity.certificate_chain.c_str()};
  // gRPC 1.51 wants authorities here even where clients are not asked for certificates; then these judge nobody.
  const std::string& authorities = identity.client_ca.empty() ? identity.certificate_chain : identity.client_ca;
  *config = grpc_ssl_server_certificate_config_create(authorities.c_str(), &pair, 1);
  --credentials.offers_;
  return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
}

}  // namespace planwright::server
