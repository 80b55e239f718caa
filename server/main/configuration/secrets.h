// What the server needs to know whom it talks to, read from files that may change while it runs.
#ifndef PLANWRIGHT_SERVER_MAIN_CONFIGURATION_SECRETS_H_
#define PLANWRIGHT_SERVER_MAIN_CONFIGURATION_SECRETS_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/main/tls/tls_identity.h"
#include "server/serving/callers/auth_config.h"

namespace planwright::server {

struct SecretFiles {
  TlsFiles tls;
  // Empty: everybody may do everything.
  std::string auth_config;
};

struct Secrets {
  // nullopt: no TLS.
  std::optional<TlsIdentity> tls;
  // nullptr: nobody is asked who they are.
  std::shared_ptr<const AuthConfig> auth;
};

// Errors: INVALID_ARGUMENT, with all that is wrong, by flag.
absl::StatusOr<Secrets> ReadSecrets(const SecretFiles& files);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_CONFIGURATION_SECRETS_H_
