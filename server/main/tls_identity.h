// The certificate that the server shows, and whose certificates it takes.
#ifndef PLANWRIGHT_SERVER_MAIN_TLS_IDENTITY_H_
#define PLANWRIGHT_SERVER_MAIN_TLS_IDENTITY_H_

#include <string>

#include "absl/status/statusor.h"

namespace planwright::server {

// Names of files in PEM form. All empty: no TLS.
struct TlsFiles {
  std::string certificate_chain;
  std::string private_key;
  // Empty: clients need no certificate.
  std::string client_ca;

  bool empty() const { return certificate_chain.empty() && private_key.empty() && client_ca.empty(); }
};

// What is in them.
struct TlsIdentity {
  std::string certificate_chain;
  std::string private_key;
  std::string client_ca;
};

// REQUIRES: !files.empty(). Errors: INVALID_ARGUMENT, with every file that is missing or wrong by the name of its flag;
// also where the key is not that of the certificate.
absl::StatusOr<TlsIdentity> ReadTlsIdentity(const TlsFiles& files);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_TLS_IDENTITY_H_
