// Whether TLS can begin with what the caller named: gRPC says no more than that no connection came about.
#ifndef PLANWRIGHT_CLIENT_LIBRARY_TLS_CHECK_H_
#define PLANWRIGHT_CLIENT_LIBRARY_TLS_CHECK_H_

#include "absl/status/status.h"
#include "client/library/server_connection.h"

namespace planwright::client {

// INVALID_ARGUMENT, with the flag of the program: a text that is no certificate or key in PEM form, a certificate
// without key or the reverse, or a key of another certificate.
absl::Status CheckTls(const ServerConnection& connection);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_LIBRARY_TLS_CHECK_H_
