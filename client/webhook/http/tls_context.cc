#include "client/webhook/http/tls_context.h"

#include <openssl/ssl.h>

#include <boost/asio/buffer.hpp>
#include <boost/system/error_code.hpp>

#include "absl/strings/str_cat.h"

namespace planwright::webhook {
namespace {

namespace asio = boost::asio;

absl::Status Refused(const char* flag, const boost::system::error_code& error) {
  return absl::InvalidArgumentError(absl::StrCat(flag, ": ", error.message()));
}

}  // namespace

absl::StatusOr<TlsContext> MakeTlsContext(const std::string& certificate_chain, const std::string& private_key,
                                          const std::string& client_ca) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  // An idle connection keeps no buffers; nobody resumes sessions or negotiates anew.
  SSL_CTX_set_mode(context->native_handle(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context->native_handle(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context->native_handle(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
  boost::system::error_code error;
  context->use_certificate_chain(asio::buffer(certificate_chain), error);
  if (error) return Refused("--tls_cert_file", error);
  context->use_private_key(asio::buffer(private_key), asio::ssl::context::pem, error);
  if (error) return Refused("--tls_key_file", error);
  if (client_ca.empty()) return context;
  context->add_certificate_authority(asio::buffer(client_ca), error);
  if (error) return Refused("--tls_client_ca_file", error);
  context->set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert, error);
  if (error) return Refused("--tls_client_ca_file", error);
  return context;
}

}  // namespace planwright::webhook
