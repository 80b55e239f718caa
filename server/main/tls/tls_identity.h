// The certificate that the server shows, and whose certificates it takes.
#ifndef PLANWRIGHT_SERVER_MAIN_TLS_TLS_IDENTITY_H_
#define PLANWRIGHT_SERVER_MAIN_TLS_TLS_IDENTITY_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/serving/callers/revocations.h"

namespace planwright::server {

// Names of files in PEM form. All empty: no TLS.
struct TlsFiles {
  std::string certificate_chain;
  std::string private_key;
  // Empty: clients need no certificate.
  std::string client_ca;
  // Empty: no certificate of a client has been revoked.
  std::string client_crl;

  bool empty() const {
    return certificate_chain.empty() && private_key.empty() && client_ca.empty() && client_crl.empty();
  }
};

// Until when something in a file counts.
struct Expiry {
  std::string file;
  // "certificate CN=server", "revocation list".
  std::string what;
  std::chrono::system_clock::time_point time;
};

// What is in them, in PEM form: every certificate of each file, and nothing else.
struct TlsIdentity {
  std::string certificate_chain;
  std::string private_key;
  std::string client_ca;
  // nullptr: there are no lists.
  std::shared_ptr<const Revocations> revocations;
  // What expires first in each file with certificates.
  std::vector<Expiry> expiries;
};

// REQUIRES: !files.empty(). Errors: INVALID_ARGUMENT, with every file that is missing or wrong by the name of its flag:
// a block that cannot be read, wherever it stands; a certificate of the server's that is not valid now, or another
// one's key; authorities none of which is valid now; and an identity with which OpenSSL shakes no hands.
absl::StatusOr<TlsIdentity> ReadTlsIdentity(const TlsFiles& files);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_TLS_TLS_IDENTITY_H_
