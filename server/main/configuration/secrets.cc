#include "server/main/configuration/secrets.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/main/tls/text_file.h"

namespace planwright::server {
namespace {

absl::StatusOr<AuthConfig> ReadAuthConfig(const std::string& file) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(file));
  return ParseAuthConfig(text);
}

}  // namespace

absl::StatusOr<Secrets> ReadSecrets(const SecretFiles& files) {
  Secrets secrets;
  if (!files.tls.empty()) {
    ASSIGN_OR_RETURN(secrets.tls, ReadTlsIdentity(files.tls));
  }
  if (!files.auth_config.empty()) {
    absl::StatusOr<AuthConfig> auth = ReadAuthConfig(files.auth_config);
    if (!auth.ok()) return absl::InvalidArgumentError(absl::StrCat("--auth_config: ", auth.status().message()));
    secrets.auth = std::make_shared<const AuthConfig>(*std::move(auth));
  }
  return secrets;
}

}  // namespace planwright::server
