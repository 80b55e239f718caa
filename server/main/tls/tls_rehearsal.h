// Whether TLS works with an identity, before it is given to gRPC, which tells nobody that it has refused one.
#ifndef PLANWRIGHT_SERVER_MAIN_TLS_TLS_REHEARSAL_H_
#define PLANWRIGHT_SERVER_MAIN_TLS_TLS_REHEARSAL_H_

#include <string>

#include "absl/status/status.h"

namespace planwright::server {

// Loads the identity into OpenSSL as gRPC 1.51 does and shakes hands in memory with a client of this process, who
// checks no names. All in PEM form; `client_ca` may be empty. About a millisecond. Errors: INVALID_ARGUMENT, with what
// OpenSSL says.
absl::Status RehearseHandshake(const std::string& certificate_chain, const std::string& private_key,
                               const std::string& client_ca);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_TLS_TLS_REHEARSAL_H_
