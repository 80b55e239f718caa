// Who is at the other end of a TLS session of GnuTLS, which libmicrohttpd speaks.
#ifndef PLANWRIGHT_SERVER_PAGES_CLIENT_CERTIFICATE_H_
#define PLANWRIGHT_SERVER_PAGES_CLIENT_CERTIFICATE_H_

#include <gnutls/gnutls.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/serving/callers/authenticator.h"

namespace planwright::server {

// A verified certificate, as Authenticator takes it.
struct ClientCertificate {
  // The names in the certificate itself.
  std::vector<CertificateName> names;
  // It and those that the client has sent with it, in PEM form.
  std::vector<std::string> certificates;
};

// What the client has shown. Errors: UNAUTHENTICATED, no certificate, or one that none of the session's authorities
// has signed for clients, or that is not valid now.
absl::StatusOr<ClientCertificate> VerifiedCertificate(gnutls_session_t session);

// The names in a certificate in DER form; none where it is none. Of several common names the first counts.
std::vector<CertificateName> NamesOf(std::string_view der);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_PAGES_CLIENT_CERTIFICATE_H_
