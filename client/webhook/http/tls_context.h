// What TLS needs, from texts in PEM form.
#ifndef PLANWRIGHT_CLIENT_WEBHOOK_HTTP_TLS_CONTEXT_H_
#define PLANWRIGHT_CLIENT_WEBHOOK_HTTP_TLS_CONTEXT_H_

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace planwright::webhook {

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

// For servers, TLS 1.2 and newer. `client_ca`: clients must show a certificate that one of these signed; empty: they
// need none. INVALID_ARGUMENT: OpenSSL does not take a text.
absl::StatusOr<TlsContext> MakeTlsContext(const std::string& certificate_chain, const std::string& private_key,
                                          const std::string& client_ca);

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_CLIENT_WEBHOOK_HTTP_TLS_CONTEXT_H_
